"""Percent agreement and label prevalences, which are needed to interpret every chance-corrected figure."""

from __future__ import annotations

import numpy as np

from evaluation.agreement.counts import UnitCounts, count_units, sum_over_sizes
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.ratings_table import Ratings

SINGLE = "units with a single rating"
UNRATED = "units that nobody rated"


def percent_agreement(ratings: Ratings | UnitCounts) -> Estimate:
    """Share of pairs of raters who gave a unit the same label, averaged over the units.

    ``Pa = mean over units with m_u >= 2 of [ sum_k n_uk (n_uk - 1) / (m_u (m_u - 1)) ]``, from 0 to 1; n_uk raters
    gave unit u the label k. Units with one rating or none are left out and counted; ``n`` is the number of
    units in the mean. Undefined where no unit has two ratings. This is the observed agreement in Fleiss (1971)
    and in Gwet (2008). Labels are compared for equality at every level of measurement.

    >>> table = Ratings.from_rows([("a", "u", "yes"), ("b", "u", "yes"), ("c", "u", "no")])
    >>> round(percent_agreement(table).value, 4)  # one of three pairs
    0.3333
    """
    counts = ratings if isinstance(ratings, UnitCounts) else count_units(ratings)
    rated = counts.sizes >= 2
    left_out = left_out_units(counts)
    n = int(rated.sum())
    if not n:
        return undefined("no unit has two ratings", left_out=left_out)
    return Estimate(_mean_matching(counts) / n, n=n, left_out=left_out)


def left_out_units(counts: UnitCounts) -> dict[str, int]:
    """Units that hold no pair of ratings, by reason."""
    found = {SINGLE: int((counts.sizes == 1).sum()), UNRATED: int((counts.sizes == 0).sum())}
    return {reason: count for reason, count in found.items() if count}


def _mean_matching(counts: UnitCounts) -> float:
    by_size = sum_over_sizes(counts.sizes, counts.matching)
    m = np.arange(by_size.size)
    return float((by_size[2:] / (m[2:] * (m[2:] - 1))).sum())


def prevalences(ratings: Ratings) -> dict[str, float]:
    """Share of all ratings that gave each label; ``nan`` where there are no ratings.

    >>> prevalences(Ratings.from_rows([("a", "u", "yes"), ("b", "u", "no"), ("a", "v", "yes"), ("b", "v", "yes")]))
    {'no': 0.25, 'yes': 0.75}
    """
    given = np.bincount(ratings.value, minlength=len(ratings.labels))
    total = len(ratings)
    return {
        label: (int(count) / total if total else float("nan"))
        for label, count in zip(ratings.labels, given, strict=True)
    }
