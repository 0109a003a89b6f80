"""Gwet's AC1, which stays meaningful if nearly all labels are the same, and AC2 for ordered labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from evaluation.agreement.bootstrap import Statistic, bootstrap
from evaluation.agreement.counts import UnitCounts, cluster_codes, count_units, pairs_within
from evaluation.agreement.krippendorff import NO_PAIR
from evaluation.agreement.new_raters import RaterVariance, leave_groups_out
from evaluation.agreement.percent import left_out_units, percent_agreement
from evaluation.core.estimate import NAN, Estimate, undefined
from evaluation.core.interval import LEAST_CLUSTERS, Bounds
from evaluation.core.ratings_table import Floats, Ints, Ratings

#: With more labels than this AC2's table of weights is not made.
MOST_LABELS = 500
#: With fewer clusters than this there is no interval of quadratic weights: a rare disagreement between the farthest labels
#: decides, and whether a study of 20 units by two raters has one is chance. Its intervals covered 88 %.
LEAST_QUADRATIC = 40
#: With more different numbers than this they aren't a scale with a known set of labels, which AC1 and AC2 depend on.
MOST_POINTS = 21
#: Cells (cluster, label) of the largest table that is summed up for an interval.
MOST_CELLS = 20_000_000


def open_ended(ratings: Ratings) -> str:
    """Why AC1 and AC2 have no interval: which numbers could have been given is unknown. Empty if there can be one.

    Both depend on the number of labels that could be given, AC2 also on the farthest two. In a larger study there would be more
    numbers, and another value: in simulated studies intervals of AC1 covered 82 %, those of AC2 0 %.

    >>> open_ended(Ratings.from_rows([("a", str(u), f"{u / 10}") for u in range(22)], level="interval"))
    'none: it depends on which numbers could be given, and 22 different ones are no known scale'
    """
    if ratings.level not in ("interval", "ratio") or len(ratings.labels) <= MOST_POINTS:
        return ""
    found = f"{len(ratings.labels):,} different ones"
    return f"none: it depends on which numbers could be given, and {found} are no known scale"


def gwet_ac1(ratings: Ratings | UnitCounts) -> Estimate:
    """Agreement beyond chance of any number of raters, chance being what hard units give.

    ``AC1 = (Pa - Pe) / (1 - Pe)``, ``Pe = 1/(K - 1) sum_k pi_k (1 - pi_k)``: Pa the percent agreement over units with two
    ratings or more, ``pi_k`` the mean over all rated units of the share n_uk / m_u that gave label k, K the number
    of labels that *could* be given (``len(ratings.labels)``, used or not). Nominal at every level of measurement.
    Gwet's q is the number of categories of the rating scheme, which R's irrCAC takes as ``categ.labels``; where no scheme is
    declared, it is at least the labels that were given and those that are correct: a correct label could have been given.

    ``n`` is the number of units with two ratings or more; the others are counted (those with one rating still
    count in pi_k). Undefined where no unit has two ratings and where there are fewer than two labels. Unlike
    kappa it is defined, and 1, where all raters gave the same of several labels. Gwet (2008), equations 5 and 9.

    >>> rows = [("a", "u", "yes"), ("b", "u", "yes"), ("a", "v", "no"), ("b", "v", "yes")]
    >>> round(gwet_ac1(Ratings.from_rows(rows)).value, 4)  # Pa = 1/2, Pe = 2 * 3/4 * 1/4
    0.2
    """
    counts = ratings if isinstance(ratings, UnitCounts) else count_units(ratings)
    observed = percent_agreement(counts)
    if not observed.defined:
        return undefined(NO_PAIR, left_out=observed.left_out)
    if counts.labels < 2:
        return undefined("there is only one label to give", n=observed.n, left_out=observed.left_out)
    shares = mean_shares(counts)
    expected = float((shares * (1 - shares)).sum() / (counts.labels - 1))
    value = (observed.value - expected) / (1 - expected)
    return Estimate(value, n=observed.n, left_out=left_out_units(counts))


def gwet_ac2(ratings: Ratings, *, weights: Literal["linear", "quadratic"] = "quadratic") -> Estimate:
    """AC1 with partial credit for near misses, for labels that are ordered or numbers.

    ``AC2 = (Pa - Pe) / (1 - Pe)`` with the weights of agreement ``w_kl = 1 - |x_k - x_l| / d`` (linear) or
    ``1 - (x_k - x_l)^2 / d^2`` (quadratic), x the labels' numbers and d the distance of the farthest two::

        Pa = mean over units with m_u >= 2 of sum_k n_uk (sum_l w_kl n_ul - 1) / (m_u (m_u - 1))
        Pe = sum_kl w_kl / (K (K - 1)) * sum_k pi_k (1 - pi_k)

    ``n``, what is left out, pi_k and the undefined cases are :func:`gwet_ac1`'s; with weights 0 and 1 it is AC1.
    Gwet (2014), chapter 4.

    >>> rows = [("a", "u", "1"), ("b", "u", "2"), ("a", "v", "3"), ("b", "v", "3")]
    >>> round(gwet_ac2(Ratings.from_rows(rows, level="interval"), weights="linear").value, 4)  # Pa .75, Pe .5208
    0.4783
    """
    counts = count_units(ratings)
    observed = percent_agreement(counts)
    if not observed.defined:
        return undefined(NO_PAIR, left_out=observed.left_out)
    x = ratings.numbers
    farthest = float(np.ptp(x)) if x.size else 0.0
    if not farthest:
        return undefined("there is only one label to give", n=observed.n, left_out=observed.left_out)
    if x.size > MOST_LABELS:
        reason = f"there are more than {MOST_LABELS} labels"
        return undefined(reason, n=observed.n, left_out=observed.left_out)
    # Partial credit of a pair is 1 less its distance, and distances add up over a unit's moments or pairs.
    lost = _distance_within(counts, x / farthest, weights)
    m = counts.sizes.astype(np.float64)
    kept = counts.sizes >= 2
    agreed = float((1.0 - lost[kept] / (m[kept] * (m[kept] - 1))).mean())
    weight = _weights_of(x, farthest, weights)
    shares = mean_shares(counts)
    by_chance = float(weight.sum() / (x.size * (x.size - 1)) * (shares * (1 - shares)).sum())
    if by_chance >= 1:
        return undefined("chance alone gives full agreement", n=observed.n, left_out=observed.left_out)
    return Estimate((agreed - by_chance) / (1 - by_chance), n=observed.n, left_out=left_out_units(counts))


def add_ac2_interval(
    estimate: Estimate,
    ratings: Ratings,
    *,
    weights: Literal["linear", "quadratic"],
    rng: np.random.Generator,
    replicates: int,
    new_raters: RaterVariance | None = None,
) -> Estimate:
    """AC2 with its 95 % interval from resampled clusters; none where there are too many labels to sum them up."""
    codes, clusters = cluster_codes(ratings)
    if not estimate.defined:
        return estimate
    if replicates and (why := open_ended(ratings)):
        return replace(estimate, interval=why)
    if clusters * len(ratings.labels) > MOST_CELLS:
        return replace(estimate, interval="none: too many labels")
    sums, statistic = _ac2_sums(ratings, codes, clusters, weights)
    informative, word = int((sums[:, 0] > 0).sum()), "units" if ratings.clusters is None else "instances"
    if weights == "quadratic" and LEAST_CLUSTERS <= informative < LEAST_QUADRATIC:
        why = (
            f"none: with quadratic weights at least {LEAST_QUADRATIC} {word} are needed, found {informative}"
        )
        return replace(estimate, interval=why)
    return bootstrap(
        estimate, sums, statistic, rng=rng, replicates=replicates, word=word,
        bounds=_ac2_bounds(ratings.numbers, weights), new_raters=new_raters, informative=informative,
    )  # fmt: skip


def ac2_without_groups(
    ratings: Ratings, group: Ints, weights: Literal["linear", "quadratic"]
) -> tuple[float, Floats]:
    """AC2, and its values without each group of clusters, for :func:`evaluation.agreement.new_raters.variance_over_raters`.

    ``group`` of shape (units,) holds each unit's group, -1 for none. ``nan`` where AC2 isn't defined.
    """
    groups = int(group.max(initial=-1)) + 1
    if not gwet_ac2(ratings, weights=weights).defined:
        return NAN, np.full(groups, NAN)
    rated = np.where(ratings.grouped.sizes > 0, group, -1)
    return leave_groups_out(*_ac2_sums(ratings, rated, groups, weights))


def _ac2_bounds(x: Floats, weights: str) -> Bounds:
    """Chance agreement is greatest if all labels are equally frequent; AC2 is least if nobody agrees then."""
    chance = float(_weights_of(x, float(np.ptp(x)), weights).sum()) / x.size**2
    return (-chance / (1 - chance), 1.0)


def _ac2_sums(ratings: Ratings, codes: Ints, clusters: int, weights: str) -> tuple[Floats, Statistic]:
    """The sums behind AC2 by cluster, shape (C, D), and AC2 as a function of their totals."""
    counts = count_units(ratings)
    labels = counts.labels
    x = ratings.numbers
    farthest = float(np.ptp(x))
    lost, m = _distance_within(counts, x / farthest, weights), counts.sizes.astype(np.float64)
    pairable, rated = counts.sizes >= 2, counts.sizes > 0
    agreed = np.where(pairable, 1.0 - lost / np.maximum(m * (m - 1), 1.0), 0.0)
    columns = [pairable.astype(np.float64), agreed, rated.astype(np.float64)]
    kept = codes >= 0
    sums = [np.bincount(codes[kept], weights=column[kept], minlength=clusters) for column in columns]
    inside = codes[counts.unit] >= 0
    cell = (codes[counts.unit] * labels + counts.label)[inside]
    share = (counts.count / m[counts.unit])[inside]
    shares = np.bincount(cell, weights=share, minlength=clusters * labels).reshape(clusters, labels)
    by_chance = _weights_of(x, farthest, weights).sum() / (x.size * (x.size - 1))

    def statistic(totals: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            pi = totals[:, 3:] / totals[:, 2:3]
            pa, pe = totals[:, 1] / totals[:, 0], by_chance * (pi * (1 - pi)).sum(axis=1)
            return np.asarray(np.where(pe < 1, (pa - pe) / (1 - pe), np.nan), dtype=np.float64)

    return np.concatenate([np.stack(sums, axis=1), shares], axis=1), statistic


def _weights_of(x: Floats, farthest: float, weights: str) -> Floats:
    """Shape (labels, labels): the partial credit of each two labels."""
    weight = 1.0 - np.abs(x[:, None] - x[None, :]) / farthest
    return np.asarray(1.0 - (1.0 - weight) ** 2 if weights == "quadratic" else weight, dtype=np.float64)


def _distance_within(counts: UnitCounts, x: Floats, weights: str) -> Floats:
    """Shape (units,): sum over ordered pairs of a unit's ratings of their distance."""
    units = counts.sizes.size
    if weights == "quadratic":
        at = x[counts.label]
        first = np.bincount(counts.unit, weights=counts.count * at, minlength=units)
        second = np.bincount(counts.unit, weights=counts.count * at * at, minlength=units)
        return np.asarray(2.0 * (counts.sizes * second - first * first), dtype=np.float64)
    start = np.concatenate(([0], np.cumsum(np.bincount(counts.unit, minlength=units)))).astype(np.int64)
    total = np.zeros(units)
    for i, j in pairs_within(start):
        distance = counts.count[i] * counts.count[j] * np.abs(x[counts.label[i]] - x[counts.label[j]])
        total += np.bincount(counts.unit[i], weights=distance, minlength=units)
    return 2.0 * total


def mean_shares(counts: UnitCounts) -> Floats:
    """Shape (labels,): ``pi_k``, each rated unit counting once however many raters it has."""
    largest = int(counts.sizes.max(initial=0))
    width = max(counts.labels, 1)
    by_size = np.bincount(  # whole numbers by size and label first, one division a size after
        counts.sizes[counts.unit] * width + counts.label,
        weights=counts.count,
        minlength=(largest + 1) * width,
    ).reshape(largest + 1, width)
    rated = np.count_nonzero(counts.sizes)
    return (by_size[1:] / np.arange(1, largest + 1)[:, None]).sum(axis=0) / rated
