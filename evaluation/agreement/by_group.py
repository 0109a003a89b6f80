"""Agreement, means and accuracy of parts of a ratings table: by an attribute of its ratings, such as a kind or an age group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from evaluation.agreement.accuracy import accuracy
from evaluation.agreement.aggregate import Rule, aggregate
from evaluation.agreement.cohen import DEFAULT_MIN_OVERLAP
from evaluation.agreement.summary import summarize
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Codes, Ints, Ratings

#: The statistics of a group that are means and medians.
AVERAGES = ("mean", "median", "mean_rank", "median_rank")
NO_GROUP = "(blank)"
#: A column with more different values is cut at its quartiles where they are numbers, else refused.
MOST_GROUPS = 50
#: Numbers with more different values than this are cut at their quartiles.
MOST_NUMBERS = 12


@dataclass(frozen=True, eq=False)
class RatingGroup:
    """One part: how many ratings, units and raters it has, and its statistics by name."""

    name: str
    ratings: int
    units: int
    raters: int
    statistics: dict[str, Estimate]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        sizes = {"ratings": self.ratings, "units": self.units, "raters": self.raters}
        return sizes | {name: found.to_dict() for name, found in self.statistics.items()}


def by_group(
    ratings: Ratings,
    names: Sequence[str],
    codes: Codes,
    *,
    gold: Codes | None = None,
    unanswered: tuple[Ints, Ints, Codes] | None = None,
    ties_wrong: bool = False,
    rule: str | Rule | None = None,
    min_overlap: int = DEFAULT_MIN_OVERLAP,
    rng: np.random.Generator | None = None,
    replicates: int = 0,
    new_raters: bool = False,
    named: bool = True,
) -> list[RatingGroup]:
    """Statistics of each group: ``codes`` of shape (N,) say which of ``names`` a rating belongs to, -1 to none.

    Percent agreement, alpha, AC1, the mean kappa over pairs, above nominal level mean and median, and with ``gold`` (see
    :func:`evaluation.agreement.accuracy.accuracy`) the accuracy of ratings and, with a ``rule``, of one label for each unit.
    ``new_raters`` and ``named`` are those of :func:`evaluation.agreement.summary.summarize`; accuracies are always of these
    raters. ``unanswered`` are the rater, unit and group of ratings that were not given and count as wrong, ``ties_wrong`` is that of
    accuracy. A group has only its
    own ratings: where raters are grouped, agreement is among the raters of the group.

    >>> rows = [("a", "u", "yes"), ("b", "u", "yes"), ("a", "v", "yes"), ("b", "v", "no")]
    >>> found = by_group(Ratings.from_rows(rows), ["easy", "hard"], np.array([0, 0, 1, 1], dtype=np.int32))
    >>> [(group.name, group.statistics["percent_agreement"].value) for group in found]
    [('easy', 1.0), ('hard', 0.0)]
    """
    if codes.shape != ratings.rater.shape:
        raise ValueError(f"codes: expected shape {ratings.rater.shape}, got {codes.shape}")
    found = []
    for code in [*range(len(names)), -1]:
        part = ratings.where(codes == code)
        if not len(part) and (unanswered is None or not (unanswered[2] == code).any()):
            continue
        everybody = part
        part = part.only_raters([ratings.raters[r] for r in np.unique(part.rater)])
        whole = summarize(
            part.only_rated_units(),
            min_overlap=min_overlap,
            replicates=replicates,
            rng=rng,
            new_raters=new_raters,
            named=named,
        )
        everyone = whole.everyone
        statistics = {
            "percent_agreement": everyone.percent_agreement,
            "krippendorff_alpha": everyone.krippendorff_alpha,
            "gwet_ac1": everyone.gwet_ac1,
            "cohen_kappa_mean": whole.kappa["nominal"].mean["all"],
        }
        if "quadratic" in whole.kappa:
            statistics["cohen_kappa_quadratic_mean"] = whole.kappa["quadratic"].mean["all"]
        statistics |= {name: everyone.further[name] for name in AVERAGES if name in everyone.further}
        if gold is not None:
            labels = aggregate(part, rule) if rule is not None else None
            missing = None
            if unanswered is not None:
                rater, unit, group = unanswered
                missing = rater[group == code], unit[group == code]
            right = accuracy(
                everybody,
                gold,
                labels=labels,
                unanswered=missing,
                ties_wrong=ties_wrong,
                rng=rng,
                replicates=replicates,
            )
            statistics["accuracy"] = right.ratings
            if right.labels is not None:
                statistics["accuracy_of_labels"] = right.labels
        sizes = (len(part), int((part.grouped.sizes > 0).sum()), len(part.raters))
        found.append(RatingGroup(names[code] if code >= 0 else NO_GROUP, *sizes, statistics))
    return found


def grouped_values(names: Sequence[str], codes: Codes) -> tuple[list[str], Codes]:
    """Groups in order: numbers by size, cut at their quartiles where there are more than 12; text by name.

    ``ValueError`` for text with more than 50 different values.

    >>> grouped_values(["10", "9"], np.array([0, 1, -1], dtype=np.int32))
    (['9', '10'], array([ 1,  0, -1], dtype=int32))
    """
    try:
        numbers = np.array([float(name) for name in names], dtype=np.float64)
        numeric = bool(np.isfinite(numbers).all())
    except ValueError:
        numbers, numeric = np.zeros(0), False
    if numeric and len(names) > MOST_NUMBERS:
        given = numbers[codes[codes >= 0]]
        edges = np.unique(np.quantile(given, [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf"))
        part = np.clip(np.searchsorted(edges, numbers, side="left") - 1, 0, max(edges.size - 2, 0))
        titles = [
            f"{low:g} to {high:g}" if not number else f"above {low:g} to {high:g}"
            for number, (low, high) in enumerate(pairwise(edges.tolist()))
        ] or [f"{edges[0]:g}"]
        return titles, np.where(codes >= 0, part[codes], -1).astype(np.int32)
    if len(names) > MOST_GROUPS:
        raise ValueError(
            f"{len(names):,} different values; expected at most {MOST_GROUPS}, or numbers, which are cut at their quartiles"
        )
    order = sorted(range(len(names)), key=(lambda n: numbers[n]) if numeric else names.__getitem__)
    place = np.empty(len(names) + 1, dtype=np.int32)
    place[order] = np.arange(len(names), dtype=np.int32)
    place[-1] = -1
    return [names[n] for n in order], place[codes]
