"""How much a statistic would change with other raters: the jackknife over raters, without the noise of single ratings.

Intervals are for the raters at hand and other instances. To speak of *new raters* of the same kind, the variance between
raters is added. What the statistic is without each rater shows that variance and, on top of it, the noise of the ratings
themselves, which the variance over instances counts already; adding the two (Owen's pigeonhole bootstrap does the
same) makes intervals too wide. So the noise is subtracted: each rater's deviation has a variance over
instances too, and that is the part of its square that other instances alone would bring.

    V = V_instances + max(0, (R - 1) / R sum_r (D_r^2 - Var_instances(D_r))),   D_r = theta_-r - mean of them

It is the two-way variance "raters + instances - both" of Cameron, Gelbach and Miller (2011), equation 2.3, for
statistics of pairs of ratings. Owen (2007), "The pigeonhole bootstrap", section 4; Arvesen (1969) for U-statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from evaluation.agreement.counts import cluster_codes
from evaluation.core.estimand import NEW_RATERS as NEW_RATERS
from evaluation.core.estimand import THESE_RATERS as THESE_RATERS
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Floats, Ints, Ratings

Name = TypeVar("Name", bound=str)

#: With fewer raters there is nothing to generalise from.
LEAST_RATERS = 5
#: More raters than this are left out in this many groups.
MOST_GROUPS = 60
#: More clusters than this are left out in this many groups: enough to estimate a variance.
MOST_CLUSTER_GROUPS = 200


@dataclass(frozen=True)
class RaterVariance:
    """How much a statistic varies over ``raters``; ``nan`` where they are too few to estimate that.

    ``raw`` is the jackknife's variance, ``noise`` the part of it that other instances alone would bring.
    """

    raw: float
    noise: float
    raters: int

    @property
    def known(self) -> bool:
        return not np.isnan(self.raw)

    @property
    def none(self) -> str:
        """Why there is no interval for new raters."""
        return f"none: {self.raters} raters are too few to generalise to new ones"

    def added_to(self, variance: float, degrees_of_freedom: float) -> tuple[float, float]:
        """Variance and degrees of freedom for new raters, from those over instances.

        Degrees of freedom are Satterthwaite's of the sum, but no more than those over instances and no fewer than two
        thirds of those over raters: where the noise is most of it, too few are found.

        >>> RaterVariance(raw=3.0, noise=1.0, raters=11).added_to(2.0, 99)
        (4.0, 17)
        """
        total = variance + max(0.0, self.raw - self.noise)
        spread = self.raw**2 / (self.raters - 1) + variance**2 / degrees_of_freedom
        degrees = int(total**2 / spread) if spread else degrees_of_freedom
        return total, min(max(degrees, -(-2 * (self.raters - 1) // 3)), degrees_of_freedom)


def rater_groups(raters: int) -> Ints:
    """Shape (raters,): which group each rater is left out with."""
    return np.arange(raters, dtype=np.int64) % min(raters, MOST_GROUPS)


def cluster_groups(ratings: Ratings) -> Ints:
    """Shape (units,): which of at most 200 groups of clusters each unit is left out with; -1 where nobody rated it."""
    codes, clusters = cluster_codes(ratings)
    return np.where(codes >= 0, codes % max(min(clusters, MOST_CLUSTER_GROUPS), 1), -1).astype(np.int64)


def leave_groups_out(sums: Floats, statistic: Callable[[Floats], Floats]) -> tuple[float, Floats]:
    """A statistic of totals, and its values without each of the G groups whose sums have shape (G, D).

    >>> value, without = leave_groups_out(np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 2.0]]), lambda t: t[:, 0] / t[:, 1])
    >>> value, without.round(2).tolist()
    (0.5, [0.33, 0.67, 0.5])
    """
    total = sums.sum(axis=0)
    return float(statistic(total[None])[0]), statistic(total - sums)


def variance_over_raters(
    ratings: Ratings,
    statistics: Callable[[Ratings, Ints], tuple[Mapping[Name, float], Mapping[Name, Floats]]],
) -> dict[Name, RaterVariance]:
    """Variance over raters of each of the statistics of a table.

    ``statistics`` is called with the table without some raters and with each unit's group of clusters, and gives values and,
    for each, values of shape (G,) without each of those groups. They are the same groups throughout, so that what a
    group does to the statistic can be compared between tables.

    >>> table = Ratings.from_rows([(f"r{n}", "u", "yes" if n % 2 else "no") for n in range(6)])
    >>> share = lambda part, group: ({"share": float(part.value.mean())}, {"share": np.zeros(2)})
    >>> round(variance_over_raters(table, share)["share"].raw, 2)
    0.05
    """
    rated = np.flatnonzero(np.bincount(ratings.rater, minlength=len(ratings.raters)))
    clusters = cluster_groups(ratings)
    if rated.size < LEAST_RATERS:
        return {name: _too_few(rated.size) for name in statistics(ratings, clusters)[0]}
    group = np.full(len(ratings.raters), -1, dtype=np.int64)
    group[rated] = rater_groups(rated.size)
    leaves = range(int(group.max()) + 1)
    found = [statistics(ratings.where(group[ratings.rater] != left), clusters) for left in leaves]
    return {
        name: rater_variance(
            np.array([values[name] for values, _ in found]),
            jackknife_deviations(np.stack([without[name] for _, without in found])),
            rated.size,
        )
        for name in found[0][0]
    }


def variance_over_pairs(
    kappa: Floats, weight: Floats, a: Ints, b: Ints, raters: int, deviations: Callable[[Floats], Floats]
) -> RaterVariance:
    """The same for an average of pairs' kappas, whose pairs are (a, b): each rater's pairs are left out together.

    ``deviations`` gives, for averages with weights of shape (G, pairs), the deviations of shape (G, C) whose squares add
    up to each average's variance over C instances.
    """
    used = np.unique(np.concatenate((a[weight > 0], b[weight > 0])))
    if used.size < LEAST_RATERS:
        return _too_few(used.size)
    group = np.full(raters, -1, dtype=np.int64)
    group[used] = rater_groups(used.size)
    size = int(group.max()) + 1
    leaves = np.arange(size)[:, None]
    left = np.where((group[a] == leaves) | (group[b] == leaves), 0.0, weight)
    total = left.sum(axis=1)
    left = left[total > 1e-12 * weight.sum()]
    left /= left.sum(axis=1, keepdims=True)
    return rater_variance(left @ kappa, deviations(left), used.size)


def is_for_new_raters(estimate: Estimate) -> bool:
    """Whether an estimate's interval is for other raters too."""
    return NEW_RATERS in estimate.interval


def for_these_raters(estimate: Estimate) -> Estimate:
    """The estimate; its interval, if any, is marked as being for these raters only."""
    if not estimate.interval or estimate.interval.startswith("none"):
        return estimate
    return replace(estimate, interval=f"{estimate.interval}, {THESE_RATERS}")


def jackknife_deviations(without: Floats) -> Floats:
    """Deviations of shape (R, G) whose squares add up to each row's jackknife variance over G groups left out.

    >>> jackknife_deviations(np.array([[1.0, 2.0]])).round(3).tolist()
    [[-0.354, 0.354]]
    """
    groups = without.shape[1]
    if groups < 2:
        return np.zeros_like(without)
    centred = without - without.mean(axis=1, keepdims=True)
    return np.asarray(((groups - 1) / groups) ** 0.5 * centred, dtype=np.float64)


def _too_few(raters: int) -> RaterVariance:
    return RaterVariance(float("nan"), float("nan"), int(raters))


def rater_variance(values: Floats, deviations: Floats, raters: int) -> RaterVariance:
    """The variance over ``raters`` from a statistic without each of their G groups, shape (G,), and each one's deviations over instances,
    shape (G, C), of ``jackknife_deviations``. A value that is nan is left out.

    >>> rater_variance(np.array([0.0, 1.0]), np.zeros((2, 3)), 2).raw
    0.25
    """
    known = ~np.isnan(values)
    values, deviations = values[known], np.nan_to_num(deviations[known])
    groups = values.size
    if groups < 2:
        return _too_few(raters)
    raw = float((groups - 1) / groups * ((values - values.mean()) ** 2).sum())
    noise = float((groups - 1) / groups * ((deviations - deviations.mean(axis=0)) ** 2).sum())
    return RaterVariance(raw, noise, raters)
