"""Krippendorff's alpha with any distance between values: the sums that sets and spans share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evaluation.agreement.bootstrap import DEFAULT_REPLICATES, add_interval, draw_counts
from evaluation.agreement.counts import pairs_within
from evaluation.agreement.krippendorff import ALL_SAME, NO_PAIR
from evaluation.agreement.percent import SINGLE
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.interval import SIGNED
from evaluation.core.ratings_table import Floats, Ints

#: Distances of the values ``i`` and ``j`` (codes of one shape, or shapes that broadcast) from each other, from 0 to 1.
Distance = Callable[[Ints, Ints], Floats]
#: Rows of the table of all values by all values that are made at once.
_ROWS = 256
#: With more different values than this there is no interval: every resample would need their whole table.
MOST_VALUES = 4_000
#: With more than this alpha isn't computed: 20,000 values have 200 million pairs, of which each takes some nanoseconds.
MOST_COMPARED = 20_000


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How many raters gave unit u the value k, in order of u: ``unit``, ``value`` and ``count`` have one entry per cell that isn't 0.

    ``weight`` of shape (units,) says how often a unit counts (the characters of a stretch of text), ``cluster`` of shape (units,) what
    is resampled, ``values`` how many values there are.
    """

    unit: Ints
    value: Ints
    count: Ints
    weight: Ints
    cluster: Ints
    values: int

    @cached_property
    def sizes(self) -> Ints:
        """Shape (units,): ratings of each unit."""
        return np.bincount(self.unit, weights=self.count, minlength=self.weight.size).astype(np.int64)

    @cached_property
    def pairable(self) -> Ints:
        """Shape (values,): how often each value was given to a unit with two ratings or more."""
        return np.bincount(self.value, weights=self._given, minlength=self.values).astype(np.int64)

    @cached_property
    def _given(self) -> Ints:
        kept = self.sizes[self.unit] >= 2
        return np.where(kept, self.count * self.weight[self.unit], 0)

    def by_cluster(self) -> tuple[Any, Ints, int]:
        """Shape (clusters, values), sparse: ``pairable`` of each cluster that has any; each unit's place among those (-1: none)."""
        from scipy.sparse import csr_array

        rated = self.sizes >= 2
        names, place = np.unique(self.cluster[rated], return_inverse=True)
        of_unit = np.full(self.weight.size, -1, dtype=np.int64)
        of_unit[rated] = place
        kept = of_unit[self.unit] >= 0
        cells = self._given[kept].astype(np.float64), (of_unit[self.unit[kept]], self.value[kept])
        return csr_array(cells, shape=(names.size, self.values)), of_unit, names.size

    def differences(self, distance: Distance) -> Floats:
        """Shape (units,): ``sum_kl n_uk n_ul d(k, l) / (m_u - 1)``, times the unit's weight; 0 of units with one rating."""
        cells = np.bincount(self.unit, minlength=self.weight.size)
        start = np.concatenate(([0], np.cumsum(cells))).astype(np.int64)
        total = np.zeros(self.weight.size)
        for i, j in pairs_within(start):  # different values of one unit only
            parts = self.count[i] * self.count[j] * distance(self.value[i], self.value[j])
            total += np.bincount(self.unit[i], weights=parts, minlength=total.size)
        return np.divide(
            2.0 * total * self.weight, self.sizes - 1, out=np.zeros(total.size), where=self.sizes >= 2
        )


def distance_alpha(
    counts: ValueCounts,
    distance: Distance | None,
    *,
    against: float | None = None,
    rng: np.random.Generator | None = None,
    replicates: int = DEFAULT_REPLICATES,
    word: str = "units",
    single: str = SINGLE,
) -> Estimate:
    """Krippendorff's alpha for values of which only the distances are known, with any missing data.

    ``alpha = 1 - (n - 1) sum_u w_u / (m_u - 1) sum_kl n_uk n_ul d(k, l) / sum_kl n_k n_l d(k, l)``, over units with m_u >= 2 ratings,
    as :func:`krippendorff_alpha` has it. d is a distance, not a squared difference: Krippendorff (2011), section 3, for any metric
    difference. Without a ``distance`` it is 1 between any two different values, and the sum below is ``n^2 - sum_k n_k^2``: time is
    linear in the ratings. With one, it is quadratic in the number of different values (in blocks, so memory isn't). Where several
    distances are computed at once, ``against`` gives this one's sum below (see :func:`sums_against`).

    Undefined where no unit has two ratings, where all pairable values are the same, and with a distance and more than ``MOST_COMPARED``
    different values. ``n`` is the number of pairable ratings; ``left_out`` counts those of units with a single one, in the words of
    ``single``. With ``rng`` there is the cluster bootstrap's interval (:func:`bootstrap`), but with a distance not with more than
    ``MOST_VALUES`` different values.

    >>> two = np.array([0, 0]), np.array([0, 1]), np.array([1, 1])  # one unit, values 0 and 1, once each
    >>> counts = ValueCounts(*two, weight=np.array([1]), cluster=np.array([0]), values=2)
    >>> distance_alpha(counts, lambda i, j: (i != j).astype(float)).value  # Do = 1; De = 2 * 1 * 1 / (2 * 1)
    0.0
    """
    alone = int(counts.weight[counts.sizes == 1].sum())
    left_out = {single: alone} if alone else {}
    given = counts.pairable.astype(np.float64)
    used = np.flatnonzero(given)
    n = int(given.sum())
    if not n:
        return undefined(NO_PAIR, left_out=left_out)
    if distance is not None and used.size > MOST_COMPARED:
        return undefined(too_many(used.size), n=n, left_out=left_out)
    if distance is None:
        expected = float(n) ** 2 - float(given @ given)
    elif against is not None:
        expected = against
    else:
        (expected,) = sums_against(given, lambda i, j: (distance(i, j),))
    if not expected:
        return undefined(ALL_SAME, n=n, left_out=left_out)
    each = counts.differences(distance or _unequal)
    point = Estimate(1.0 - (n - 1) * float(each.sum()) / expected, n=n, left_out=left_out)
    if rng is None or not replicates:
        return point
    if distance is not None and used.size > MOST_VALUES:
        why = f"none: more than {MOST_VALUES:,} different values"
        return Estimate(point.value, n=n, left_out=left_out, interval=why)
    table, of_unit, clusters = counts.by_cluster()
    observed = np.bincount(of_unit[of_unit >= 0], weights=each[of_unit >= 0], minlength=clusters)
    between = None if distance is None else distance(used[:, None], used[None, :])
    found = [
        _replicates((table[:, used].T @ drawn.T).T, drawn @ observed, between)
        for drawn in draw_counts(clusters, replicates, rng)
    ]
    return add_interval(
        point, np.concatenate(found), clusters=clusters, word=word, bounds=SIGNED, biased=True
    )


def too_many(values: int) -> str:
    """Why a distance between more than ``MOST_COMPARED`` values isn't computed."""
    return f"{values:,} different values; the distances of at most {MOST_COMPARED:,} are computed"


def sums_against(given: Floats, distances: Callable[[Ints, Ints], Sequence[Floats]]) -> list[float]:
    """``sum_kl n_k n_l d(k, l)`` of each of some distances that are made together, with n of shape (values,).

    Only the blocks on and above the diagonal are made, some rows at a time: distances are symmetric, and 0 of a value from itself.

    >>> sums_against(np.array([2.0, 1.0]), lambda i, j: [(i != j).astype(float)])
    [4.0]
    """
    used = np.flatnonzero(given)
    weight = given[used]
    totals: list[float] = []
    for first in range(0, used.size, _ROWS):
        rows = slice(first, first + _ROWS)
        parts = distances(used[rows, None], used[None, first:])
        # Pairs within the block are in it in both orders, the others in one.
        twice = np.where(np.arange(used.size - first) < weight[rows].size, 1.0, 2.0) * weight[first:]
        sums = [float(weight[rows] @ (part @ twice)) for part in parts]
        totals = [total + one for total, one in zip(totals or [0.0] * len(sums), sums, strict=True)]
    return totals


def _unequal(i: Ints, j: Ints) -> Floats:
    return (i != j).astype(np.float64)


def _replicates(given: Floats, observed: Floats, between: Floats | None) -> Floats:
    if between is None:
        expected = given.sum(axis=1) ** 2 - (given**2).sum(axis=1)
    else:
        expected = ((given @ between) * given).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1.0 - (given.sum(axis=1) - 1) * observed / expected, np.nan)
