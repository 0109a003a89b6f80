"""Label counts for the statistics: by unit, and by pair of raters.

Both tables are made once, in time linear in the ratings (and in the pairs of ratings of one unit). No matrix of raters
by units is ever made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluation.core.ratings_table import Codes, Floats, Grouped, Ints, Ratings

#: Above this many cells a table is counted by sorting, not as a dense array.
DENSE_CELLS = 4_000_000
#: Units counted at once.
BLOCK_UNITS = 200_000
#: Pairs of ratings taken at once: bounds the memory, whatever the number of ratings.
BLOCK_PAIRS = 200_000


@dataclass(frozen=True, eq=False)
class UnitCounts:
    """How many raters gave unit u the label k: the cells of that table that are not 0, in order of (u, k).

    ``unit``, ``label`` and ``count`` have one entry per cell. ``sizes`` of shape (units,) holds m_u, the number
    of ratings of each unit (0 for a unit that nobody rated); ``labels`` is the number of labels that could
    be given, whether or not anyone gave them.
    """

    unit: Ints
    label: Ints
    count: Ints
    sizes: Ints
    labels: int

    @cached_property
    def per_label(self) -> Ints:
        """Shape (labels,): how often each label was given."""
        return whole_sums(self.label, self.count, self.labels)

    @cached_property
    def per_label_pairable(self) -> Ints:
        """Shape (labels,): how often each label was given to units with at least two ratings."""
        kept = self.sizes[self.unit] >= 2
        return whole_sums(self.label[kept], self.count[kept], self.labels)

    @cached_property
    def matching(self) -> Ints:
        """Shape (units,): ordered pairs of two raters who gave the unit the same label."""
        return whole_sums(self.unit, self.count * (self.count - 1), self.sizes.size)


def count_units(ratings: Ratings) -> UnitCounts:
    """Count the labels of each unit.

    >>> counts = count_units(Ratings.from_rows([("a", "u", "yes"), ("b", "u", "yes"), ("c", "u", "no")]))
    >>> counts.label.tolist(), counts.count.tolist(), counts.sizes.tolist()
    ([0, 1], [1, 2], [3])
    """
    labels = max(len(ratings.labels), 1)
    grouped = ratings.grouped
    if len(ratings.units) * labels <= max(DENSE_CELLS, 4 * len(ratings)):
        cells, count = _cells_by_units(grouped, labels)
    else:
        key = grouped.unit.astype(np.int64)
        key *= labels
        key += grouped.value
        key.sort()
        cells, count = run_lengths(key)
    unit, label = np.divmod(cells, labels)
    return UnitCounts(unit, label, count, grouped.sizes, len(ratings.labels))


def _cells_by_units(grouped: Grouped, labels: int) -> tuple[Ints, Ints]:
    """The cells that aren't 0 and their counts, some units at a time: no array of 8 bytes for each rating."""
    cells, counts = [], []
    units = grouped.sizes.size
    for first in range(0, units, BLOCK_UNITS):
        last = min(first + BLOCK_UNITS, units)
        rows = slice(grouped.start[first], grouped.start[last])
        key = np.repeat(np.arange(last - first), grouped.sizes[first:last])
        key *= labels
        key += grouped.value[rows]
        table = np.bincount(key, minlength=(last - first) * labels)
        found = np.flatnonzero(table)
        counts.append(table[found])
        cells.append(found + first * labels)
    if not cells:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate(cells), np.concatenate(counts)


def cluster_codes(ratings: Ratings) -> tuple[Ints, int]:
    """Shape (units,): the cluster of each unit, counted over those that hold a rating (-1 for others); and how many."""
    rated = ratings.grouped.sizes > 0
    raw = np.arange(len(ratings.units)) if ratings.clusters is None else ratings.clusters
    present = np.zeros(int(raw.max(initial=-1)) + 1, dtype=bool)
    present[raw[rated]] = True
    codes = np.where(rated, (np.cumsum(present) - 1)[raw] if raw.size else raw, -1)
    return codes.astype(np.int64), int(present.sum())


def varied_clusters(ratings: Ratings, codes: Ints | None = None) -> tuple[int, str]:
    """How many clusters have a rating with another label than the most frequent one, and that label ('' without ratings).

    Units with one rating don't count. ``codes`` of shape (units,) are the clusters of :func:`cluster_codes`.

    >>> rows = [("a", "u", "no"), ("b", "u", "yes"), ("a", "v", "no"), ("b", "v", "no"), ("a", "w", "yes")]
    >>> varied_clusters(Ratings.from_rows(rows))
    (1, 'no')
    """
    codes = cluster_codes(ratings)[0] if codes is None else codes
    grouped = ratings.grouped
    pairable = (grouped.sizes >= 2)[grouped.unit]
    given = np.bincount(grouped.value[pairable], minlength=1)
    if not given.sum():
        return 0, ""
    label = int(given.argmax())
    other = pairable & (grouped.value != label)
    return int(np.unique(codes[grouped.unit[other]]).size), ratings.labels[label]


def pairs_within(start: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Every two positions i < j of one slice ``start[u]:start[u + 1]``, in blocks of about ``BLOCK_PAIRS``.

    With ``grouped.start`` these are all pairs of ratings of one unit; i's rater then has the smaller code.

    >>> [(i.tolist(), j.tolist()) for i, j in pairs_within(np.array([0, 3, 5]))]
    [([0, 1, 3, 0], [1, 2, 4, 2])]
    """
    sizes = np.diff(start)
    pairs = np.cumsum(sizes * (sizes - 1) // 2)
    first = 0
    while first < sizes.size:
        done = pairs[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(pairs, done + BLOCK_PAIRS, side="right")))
        left, right = _pairs_of_block(start, sizes, first, last)
        if left.size:
            yield left, right
        first = last


def _pairs_of_block(start: Ints, sizes: Ints, first: int, last: int) -> tuple[Ints, Ints]:
    """Pairs at distance 1, then 2, and so on, within each slice of the block."""
    left = np.arange(start[first], start[last])
    after = (
        np.repeat(start[first + 1 : last + 1], sizes[first:last]) - left - 1
    )  # how many follow in the slice
    lefts, rights = [], []
    for distance in range(1, int(sizes[first:last].max(initial=1))):
        kept = after >= distance
        if not kept.all():
            left, after = left[kept], after[kept]
        lefts.append(left)
        rights.append(left + distance)
    if not lefts:
        return left[:0], left[:0]
    return np.concatenate(lefts), np.concatenate(rights)


def run_lengths(sorted_keys: Ints) -> tuple[Ints, Ints]:
    """The distinct values of a sorted array, and how often each occurs.

    (``np.unique`` of numpy 2.4 hashes and is ten times slower on a million keys.)

    >>> run_lengths(np.array([3, 3, 5]))
    (array([3, 5]), array([2, 1]))
    """
    if not sorted_keys.size:
        return sorted_keys, np.zeros(0, dtype=np.int64)
    first = np.flatnonzero(np.concatenate(([True], sorted_keys[1:] != sorted_keys[:-1])))
    return sorted_keys[first], np.diff(first, append=sorted_keys.size)


def whole_sums(codes: Ints | Codes, counts: Ints, size: int) -> Ints:
    """Sums of whole numbers by code, exact below 2**53."""
    return np.bincount(codes, weights=counts, minlength=size).astype(np.int64)


def sum_over_sizes(sizes: Ints, totals: Floats | Ints) -> Floats:
    """Sums of ``totals`` over units of one size: shape (largest size + 1,).

    Statistics divide each unit's total by a function of its size. Adding whole numbers first and dividing once a
    size keeps the result exact, and the same whatever the order of the rows.
    """
    return np.bincount(sizes, weights=totals).astype(np.float64)
