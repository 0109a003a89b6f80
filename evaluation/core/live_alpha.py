"""Agreement so far, for the live page, without numpy so that the web process stays small. Reports compute the same
statistic with bootstrap intervals in a background job; this is a quick estimate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from annotator.hit_types.base import Variable
from evaluation.core.interval import LEAST_CLUSTERS, SIGNED, interval_within

Z95 = 1.959964
#: Ratings of one unit: label -> how many raters gave it.
Counts = Counter[str]


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha with a 95 % interval; ``value`` is nan where it is not defined, and ``reason`` says why."""

    value: float
    low: float = math.nan
    high: float = math.nan
    units: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Point:
    """Agreement after the first ``ratings`` ratings, the last of them given ``at``."""

    at: datetime
    ratings: int
    alpha: Alpha


def alpha(units: Iterable[Counts], variable: Variable) -> Alpha:
    """Krippendorff's alpha over units' counts, with a jackknife interval over units.

    ``1 - (n - 1) sum_u S_u / (m_u - 1) / S``, where ``S_u = sum_kl n_uk n_ul d(k, l)^2`` and ``S`` is the same of all
    pairable ratings, n in all (see ``agreement.krippendorff``). The interval uses the standard error
    ``sqrt((U - 1)/U sum (alpha_-u - mean)^2)`` over the U units with two ratings or more, on Fisher's scale, so that it
    stays between -1 and 1 (see ``evaluation.core.interval``; none with fewer than 8 units); ordinal positions are always
    those of all units. Supports nominal, ordinal and interval levels. Undefined at the ratio level (the report has it),
    if no unit has two ratings, and if all ratings are the same.

    >>> raters_agree, they_do_not = Counter(yes=2), Counter(yes=1, no=1)
    >>> alpha([raters_agree, they_do_not], Variable("v", "V")).value
    0.0
    """
    pairable = [counts for counts in units if counts.total() > 1]
    if not pairable:
        return Alpha(math.nan, reason="no unit has two ratings yet")
    totals: Counts = Counter()
    for counts in pairable:
        totals.update(counts)
    place = _places(totals, variable)
    if place is None:
        return Alpha(
            math.nan, units=len(pairable), reason="this level isn't supported here; the report has it"
        )
    whole = _spread(totals, place)
    if not whole:
        return Alpha(math.nan, units=len(pairable), reason="all ratings are the same so far")
    shares = [_spread(counts, place) / (counts.total() - 1) for counts in pairable]
    inside, n = math.fsum(shares), totals.total()
    value = 1 - (n - 1) * inside / whole
    left = []
    for counts, share in zip(pairable, shares, strict=True):
        others = _spread(totals - counts, place)
        if not others:
            return Alpha(value, units=len(pairable), reason="one unit alone decides it: no interval")
        left.append(1 - (n - counts.total() - 1) * (inside - share) / others)
    mean = math.fsum(left) / len(left)
    error = math.sqrt((len(left) - 1) / len(left) * math.fsum((one - mean) ** 2 for one in left))
    if value >= 1 or not error:
        return Alpha(value, units=len(pairable), reason="the units do not vary: no interval")
    if len(pairable) < LEAST_CLUSTERS:
        reason = f"fewer than {LEAST_CLUSTERS} units have two ratings: no interval"
        return Alpha(value, units=len(pairable), reason=reason)
    low, high = interval_within(value, Z95 * error, bounds=SIGNED)
    return Alpha(value, low, high, len(pairable))


def _places(totals: Counts, variable: Variable) -> Mapping[str, float] | None:
    """Each label's position on the variable's scale; empty at nominal level, None for levels that aren't supported
    here."""
    if variable.level == "nominal":
        return {}
    if variable.level == "ordinal" and set(totals) <= set(variable.labels):
        places, below = {}, 0.0
        for label in variable.labels:
            places[label] = below + totals[label] / 2
            below += totals[label]
        return places
    if variable.level == "interval":
        return {label: float(label) for label in totals}
    return None


def _spread(counts: Mapping[str, int], place: Mapping[str, float]) -> float:
    """``sum_kl n_k n_l d(k, l)^2``."""
    if not place:
        n = sum(counts.values())
        return float(n * n - sum(k * k for k in counts.values()))
    n = sum(counts.values())
    first = math.fsum(k * place[label] for label, k in counts.items())
    second = math.fsum(k * place[label] ** 2 for label, k in counts.items())
    return max(0.0, 2 * (n * second - first * first))


def agreement_over_time(
    ratings: Sequence[tuple[Hashable, str, datetime]], variable: Variable, *, points: int = 8
) -> list[Point]:
    """Alpha after each of ``points`` equal parts of the ratings: (unit, label, when), in the order given.

    There are fewer parts if there are few ratings, and none if there are no ratings.

    >>> when = datetime(2026, 1, 1)
    >>> [p.ratings for p in agreement_over_time([("u", "yes", when), ("u", "no", when)], Variable("v", "V"))]
    [2]
    """
    if not ratings:
        return []
    parts = max(1, min(points, len(ratings) // 10))
    ends = [round(len(ratings) * part / parts) for part in range(1, parts + 1)]
    units: dict[Hashable, Counts] = {}
    found, start = [], 0
    for end in ends:
        for unit, label, _ in ratings[start:end]:
            units.setdefault(unit, Counter())[label] += 1
        start = end
        found.append(Point(ratings[end - 1][2], end, alpha(units.values(), variable)))
    return found
