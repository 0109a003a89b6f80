"""Krippendorff's alpha at four levels of measurement, with any missing data: the ``krippendorff`` package's value.

What follows it are the sums behind alpha, which resamples and very large tables need.
"""

from __future__ import annotations

from typing import get_args

import krippendorff
import numpy as np

from annotator.hit_types.base import Level
from evaluation.agreement.counts import UnitCounts, count_units, pairs_within, sum_over_sizes
from evaluation.agreement.percent import SINGLE
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.ratings_table import Floats, Ints, Ratings

NO_PAIR = "no unit has two ratings"
ALL_SAME = "all raters gave the same label"
#: The largest table of units x labels x labels that the ``krippendorff`` package is given; it makes several. A million ratings
#: of 333,333 units by three labels (3,000,000 cells) take it 0.35 s and 65 MB, the sums below 0.02 s and no table.
PACKAGE_CELLS = 250_000


def krippendorff_alpha(ratings: Ratings, *, level: Level | None = None) -> Estimate:
    """Agreement beyond chance of any number of raters, with any missing data.

    ``alpha = 1 - Do / De``, where Do is the mean difference within units and De that between all pairable
    ratings: with n_uk raters who gave unit u the label k, m_u ratings of u and n_k of label k (units with
    m_u >= 2 only), n in all::

        Do = (1/n) sum_u 1/(m_u - 1) sum_kl n_uk n_ul d(k, l)^2
        De = 1/(n (n - 1)) sum_kl n_k n_l d(k, l)^2

    and d(k, l)^2 is [k != l] (nominal); (sum of n_g from k to l - (n_k + n_l)/2)^2, g in the declared order
    (ordinal); (k - l)^2 (interval); ((k - l)/(k + l))^2, 0 for two zeros (ratio). 1 is perfect agreement,
    0 chance, below 0 systematic disagreement.

    ``level`` defaults to the table's own. Numbers come from ``Ratings.numbers``. ``n`` is the number of pairable
    ratings; ratings alone on their unit are left out and counted. Undefined where no unit has two ratings and
    where all pairable ratings are the same (De = 0). ``ValueError`` where a label has no number (interval, ratio)
    or is negative (ratio). Krippendorff (2011), "Computing Krippendorff's alpha-reliability".

    The value is the ``krippendorff`` package's, from the counts n_uk; of tables with more than ``PACKAGE_CELLS`` it's computed
    from the sums that the bootstrap draws, to 1e-12 the same.

    >>> table = Ratings.from_rows([("a", "u", "yes"), ("b", "u", "yes"), ("a", "v", "no"), ("b", "v", "yes")])
    >>> krippendorff_alpha(table).value  # Do = 2/4, De = 2*1*3/(4*3)
    0.0
    """
    level = level or ratings.level
    counts = count_units(ratings)
    scale = scale_of(ratings, level, counts.per_label_pairable)
    single = int((counts.sizes == 1).sum())
    left_out = {SINGLE: single} if single else {}
    n = int(counts.per_label_pairable.sum())
    if not n:
        return undefined(NO_PAIR, left_out=left_out)
    if not _differ(counts.per_label_pairable, level, scale):
        return undefined(ALL_SAME, n=n, left_out=left_out)
    fits = counts.sizes.size * counts.labels**2 <= PACKAGE_CELLS
    value = _of_package(counts, level, scale) if fits else _of_sums(counts, level, scale)
    return Estimate(value, n=n, left_out=left_out)


def _of_package(counts: UnitCounts, level: Level, scale: Floats) -> float:
    table = np.zeros((counts.sizes.size, counts.labels), dtype=np.int64)
    table[counts.unit, counts.label] = counts.count
    domain = np.arange(counts.labels) if level in ("nominal", "ordinal") else scale
    return float(krippendorff.alpha(value_counts=table, value_domain=domain, level_of_measurement=level))


def _of_sums(counts: UnitCounts, level: Level, scale: Floats) -> float:
    by_size = sum_over_sizes(counts.sizes, unit_differences(counts, level, scale))
    observed = float((by_size[2:] / np.arange(1, by_size.size - 1)).sum())
    n = int(counts.per_label_pairable.sum())
    return 1.0 - (n - 1) * observed / float(expected_difference(counts.per_label_pairable, level, scale))


def scale_of(ratings: Ratings, level: Level, per_label: Ints) -> Floats:
    """Shape (labels,): the position of each label on the level's scale (unused at nominal level).

    Ordinal differences are differences of midranks, so that (with those positions) ordinal is interval. Interval
    positions are counted from the label nearest to the mean: squares then lose nothing to a large offset, and whole
    numbers stay whole.
    """
    if level not in get_args(Level):
        raise ValueError(f"level: expected nominal, ordinal, interval or ratio, got {level!r}")
    if level == "nominal":
        return np.zeros(len(ratings.labels))
    if level == "ordinal":
        return midranks(per_label)
    numbers = ratings.numbers
    if level == "ratio":
        if (numbers < 0).any():
            raise ValueError("labels: a ratio scale has no number below 0")
        return numbers
    if not per_label.any():
        return numbers
    used = numbers[per_label > 0]
    return numbers - used[np.argmin(np.abs(used - np.average(numbers, weights=per_label)))]


def _differ(per_label: Ints, level: Level, scale: Floats) -> bool:
    """Whether two pairable ratings differ: labels such as "1" and "1.0" differ in name only."""
    used = np.flatnonzero(per_label)
    return used.size > 1 and (level == "nominal" or bool((scale[used] != scale[used[0]]).any()))


def midranks(per_label: Ints | Floats) -> Floats:
    """Position of each label among all ratings, from below and above alike: ``(2 rank_k - n) / 2``.

    Works on the last axis, so that a bootstrap's replicates can be ranked at once.
    """
    before = np.cumsum(per_label, axis=-1) - per_label / 2
    return before - np.sum(per_label, axis=-1, keepdims=True) / 2


def unit_differences(counts: UnitCounts, level: Level, scale: Floats) -> Floats:
    """Shape (units,): ``sum_kl n_uk n_ul d(k, l)^2`` of each unit."""
    units = counts.sizes.size
    if level == "nominal":
        return (counts.sizes * (counts.sizes - 1) - counts.matching).astype(np.float64)
    if level == "ratio":
        return _ratio_differences(counts, scale)
    x = scale[counts.label]
    first = np.bincount(counts.unit, weights=counts.count * x, minlength=units)
    second = np.bincount(counts.unit, weights=counts.count * x * x, minlength=units)
    return 2.0 * (counts.sizes * second - first * first)


def _ratio_differences(counts: UnitCounts, scale: Floats) -> Floats:
    """By pairs of a unit's labels, since ratio differences do not come apart into sums."""
    units = counts.sizes.size
    per_unit = np.bincount(counts.unit, minlength=units)
    start = np.concatenate(([0], np.cumsum(per_unit))).astype(np.int64)
    total = np.zeros(units)
    for i, j in pairs_within(start):
        weight = (
            counts.count[i]
            * counts.count[j]
            * ratio_difference(scale[counts.label[i]], scale[counts.label[j]])
        )
        total += np.bincount(counts.unit[i], weights=weight, minlength=units)
    return 2.0 * total


def ratio_difference(x: Floats, y: Floats) -> Floats:
    """``((x - y) / (x + y))^2``, and 0 for two zeros."""
    both = x + y
    return np.divide(x - y, both, out=np.zeros(np.broadcast(x, y).shape), where=both != 0) ** 2


def expected_difference(per_label: Ints | Floats, level: Level, scale: Floats) -> Floats:
    """``sum_kl n_k n_l d(k, l)^2`` over the last axis: of shape () for one table, (B,) for B replicates."""
    n_k = np.asarray(per_label, dtype=np.float64)
    n = n_k.sum(axis=-1)
    if level == "nominal":
        return n * n - (n_k * n_k).sum(axis=-1)
    if level == "ratio":
        total = np.zeros(n_k.shape[:-1])
        for first in range(0, scale.size, 256):  # rows of the label x label table, a few at a time
            part = slice(first, first + 256)
            total += (n_k[..., part] * (n_k @ ratio_difference(scale[:, None], scale[None, part]))).sum(
                axis=-1
            )
        return total
    first_moment = (n_k * scale).sum(axis=-1)
    return 2.0 * (n * (n_k * scale * scale).sum(axis=-1) - first_moment * first_moment)
