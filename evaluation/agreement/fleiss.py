"""Fleiss' kappa, where every unit has the same number of raters."""

from __future__ import annotations

import numpy as np

from evaluation.agreement.counts import UnitCounts, count_units
from evaluation.agreement.gwet import mean_shares
from evaluation.agreement.krippendorff import ALL_SAME, NO_PAIR
from evaluation.agreement.percent import SINGLE, UNRATED, percent_agreement
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.ratings_table import Ratings


def fleiss_kappa(ratings: Ratings | UnitCounts, *, unequal: bool = False) -> Estimate:
    """Agreement beyond chance of m raters per unit, not the same m people on every unit.

    ``kappa = (Pa - Pe) / (1 - Pe)`` with Pa the percent agreement and ``Pe = sum_k p_k^2``, p_k the share of all ratings
    that gave label k. From -1 / (m - 1) to 1. Nominal at every level of measurement.

    With ``unequal``, units may have different numbers of raters: Pa is then the mean over the units with two ratings or
    more, and p_k the mean over all rated units of the share n_uk / m_u, as R's irrCAC has it; units with one rating count in
    p_k only, and are counted as left out.

    ``n`` is the number of units. Units that nobody rated are left out and counted. Undefined where units have
    different numbers of ratings (leaving some out would choose among them: use Krippendorff's alpha), where
    units have a single rating, and where all ratings are the same. Fleiss (1971), equations 3 to 7; Gwet (2014), chapter 2.

    >>> rows = [("a", "u", "yes"), ("b", "u", "yes"), ("a", "v", "no"), ("b", "v", "yes")]
    >>> round(fleiss_kappa(Ratings.from_rows(rows)).value, 4)  # Pa = 1/2, Pe = 10/16
    -0.3333
    """
    counts = ratings if isinstance(ratings, UnitCounts) else count_units(ratings)
    rated = counts.sizes[counts.sizes > 0]
    unrated = counts.sizes.size - rated.size
    left_out = {UNRATED: unrated} if unrated else {}
    if not rated.size:
        return undefined(NO_PAIR, left_out=left_out)
    low, high = int(rated.min()), int(rated.max())
    if unequal and high > 1:
        return _unequal(counts)
    if low != high:
        reason = f"units have different numbers of ratings, from {low} to {high}"
        return undefined(reason, n=rated.size, left_out=left_out)
    if high < 2:
        return undefined(NO_PAIR, n=rated.size, left_out=left_out | {SINGLE: rated.size})
    per_label = counts.per_label.astype(np.float64)
    total = per_label.sum()
    if np.count_nonzero(per_label) < 2:
        return undefined(ALL_SAME, n=rated.size, left_out=left_out)
    expected = float((per_label * per_label).sum() / (total * total))
    observed = percent_agreement(counts).value
    return Estimate((observed - expected) / (1 - expected), n=rated.size, left_out=left_out)


def _unequal(counts: UnitCounts) -> Estimate:
    observed = percent_agreement(counts)
    if np.count_nonzero(counts.per_label) < 2:
        return undefined(ALL_SAME, n=observed.n, left_out=observed.left_out)
    shares = mean_shares(counts)
    expected = float((shares * shares).sum())
    value = (observed.value - expected) / (1 - expected)
    return Estimate(value, n=observed.n, left_out=observed.left_out)
