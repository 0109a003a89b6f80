"""How much a statistic would change with other raters: the jackknife over raters.

Intervals are for the raters at hand and other instances. To speak of *new raters* of the same kind, the variance between
raters is added: the statistic without each rater (without each of a few dozen groups, where raters are many). The sum
of the two variances counts the noise of single ratings twice and is therefore a little too large, as Owen's pigeonhole
bootstrap is. Owen (2007), "The pigeonhole bootstrap", section 4; Arvesen (1969) for U-statistics of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from evaluation.core.ratings_table import Floats, Ints, Ratings

#: With fewer raters there is nothing to generalise from.
LEAST_RATERS = 5
#: More raters than this are left out in so many groups.
MOST_GROUPS = 60


def rater_groups(raters: int) -> Ints:
    """Shape (raters,): which group each rater is left out with."""
    return np.arange(raters, dtype=np.int64) % min(raters, MOST_GROUPS)


def variance_over_raters(
    ratings: Ratings, statistics: Callable[[Ratings], Mapping[str, float]]
) -> dict[str, float]:
    """Jackknife variance over raters of each of the statistics of a table; ``nan`` with fewer than ``LEAST_RATERS``.

    >>> table = Ratings.from_rows([(f"r{n}", "u", "yes" if n % 2 else "no") for n in range(6)])
    >>> found = variance_over_raters(table, lambda part: {"share": float(part.value.mean())})
    >>> round(found["share"], 2)
    0.05
    """
    rated = np.flatnonzero(np.bincount(ratings.rater, minlength=len(ratings.raters)))
    if rated.size < LEAST_RATERS:
        return dict.fromkeys(statistics(ratings), float("nan"))
    group = np.full(len(ratings.raters), -1, dtype=np.int64)
    group[rated] = rater_groups(rated.size)
    found = [statistics(ratings.where(group[ratings.rater] != left)) for left in range(int(group.max()) + 1)]
    return {name: jackknife_variance(np.array([one[name] for one in found])) for name in found[0]}


def variance_over_pairs(kappa: Floats, weight: Floats, a: Ints, b: Ints, raters: int) -> float:
    """The same for an average of pairs' kappas, whose pairs are (a, b): each rater's pairs are left out together."""
    used = np.unique(np.concatenate((a[weight > 0], b[weight > 0])))
    if used.size < LEAST_RATERS:
        return float("nan")
    group = np.full(raters, -1, dtype=np.int64)
    group[used] = rater_groups(used.size)
    size = int(group.max()) + 1
    first, second = group[a], group[b]
    total, sums = float(weight.sum()), float((weight * kappa).sum())
    gone, gone_sums = np.zeros(size), np.zeros(size)
    both = first == second
    for codes, values in ((first, weight), (second, np.where(both, 0.0, weight))):
        kept = codes >= 0
        gone += np.bincount(codes[kept], weights=values[kept], minlength=size)
        gone_sums += np.bincount(codes[kept], weights=(values * kappa)[kept], minlength=size)
    left = total - gone
    with np.errstate(invalid="ignore", divide="ignore"):
        return jackknife_variance(np.where(left > 1e-12 * total, (sums - gone_sums) / left, np.nan))


def jackknife_variance(values: Floats) -> float:
    """``(G - 1) / G sum (theta_g - mean)^2`` over the defined values; ``nan`` with fewer than two."""
    known = values[~np.isnan(values)]
    if known.size < 2:
        return float("nan")
    return float((known.size - 1) / known.size * ((known - known.mean()) ** 2).sum())
