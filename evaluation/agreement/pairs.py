"""The label counts of every pair of raters at once, over the units that both rated.

Two ways to the same numbers: a dense table of pair x label x label where that is small, and sorted cells where
there are very many raters or labels. Both read each pair of ratings of a unit once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from evaluation.agreement.counts import DENSE_CELLS, pairs_within, run_lengths
from evaluation.core.ratings_table import Codes, Floats, Ints, Ratings

Weights = Literal["nominal", "linear", "quadratic"]


@dataclass(frozen=True, eq=False)
class PairSums:
    """For each pair of raters (a, b), a < b, that share a unit: shape (P,) each, in order of a, then b.

    ``n`` units rated by both, ``agreed`` of them with one label; ``observed = sum_ij w_ij o_ij`` and
    ``expected = sum_ij w_ij r_i c_j``, with o the pair's label x label counts, r and c their row and column sums, w
    the weight of a disagreement.
    """

    a: Codes
    b: Codes
    n: Ints
    agreed: Ints
    observed: Floats
    expected: Floats


def disagreement(x: Floats, y: Floats, weights: Weights) -> Floats:
    """Weight of a disagreement: [x != y], |x - y| or (x - y)^2."""
    if weights == "nominal":
        return (x != y).astype(np.float64)
    if weights == "linear":
        return np.abs(x - y)
    if weights == "quadratic":
        return (x - y) ** 2
    raise ValueError(f"weights: expected nominal, linear or quadratic, got {weights!r}")


def pair_positions(ratings: Ratings, weights: Weights) -> Floats:
    """Shape (labels,): where each label lies for the weights (its code at nominal weights)."""
    if weights == "nominal":
        return np.arange(len(ratings.labels), dtype=np.float64)
    if ratings.level == "nominal" and not ratings.scores:
        raise ValueError(f"weights: {weights} weights need ordered labels, and the level is nominal")
    return ratings.numbers


def pair_sums(ratings: Ratings, weights: Weights = "nominal") -> PairSums:
    """Count all pairs of raters at once; see :class:`PairSums`."""
    raters, labels = len(ratings.raters), len(ratings.labels)
    x = pair_positions(ratings, weights)
    if raters * (raters - 1) // 2 * labels * labels <= DENSE_CELLS:
        return _dense(ratings, x, weights)
    return _sparse(ratings, x, weights)


def pair_tables(ratings: Ratings) -> Ints:
    """Shape (R (R - 1) / 2, L, L): label counts of each pair a < b of raters, in order of a, then b."""
    raters, labels = len(ratings.raters), len(ratings.labels)
    pairs = raters * (raters - 1) // 2
    table = np.zeros(pairs * labels * labels, dtype=np.int64)
    grouped = ratings.grouped
    first, second = pair_keys(grouped.rater, grouped.value, raters, labels)
    for i, j in pairs_within(grouped.start):
        table += np.bincount(first[i] + second[j], minlength=table.size)
    return table.reshape(pairs, labels, labels)


def pair_keys(rater: Codes, value: Codes, raters: int, labels: int) -> tuple[Ints, Ints]:
    """Two parts of a cell's index in the pair tables: a pair of ratings (i, j) is counted at first[i] + second[j]."""
    a = np.arange(raters, dtype=np.int64)
    row_start = a * (2 * raters - a - 1) // 2 - a - 1  # pair (a, b) is number row_start[a] + b
    cells = labels * labels
    first = (row_start[:, None] * cells + np.arange(labels) * labels).ravel()
    second = (a[:, None] * cells + np.arange(labels)).ravel()
    combined = rater.astype(np.int64) * labels + value
    return first[combined], second[combined]


def sums_of_tables(tables: Floats, x: Floats, weights: Weights) -> tuple[Floats, Floats, Floats, Floats]:
    """n, agreed, observed and expected of tables of shape (..., L, L)."""
    weight = disagreement(x[:, None], x[None, :], weights)
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    return (
        rows.sum(axis=-1),
        np.trace(tables, axis1=-2, axis2=-1),
        np.tensordot(tables, weight),
        ((rows @ weight) * columns).sum(axis=-1),
    )


def _dense(ratings: Ratings, x: Floats, weights: Weights) -> PairSums:
    raters = len(ratings.raters)
    a, b = (index.astype(np.int32) for index in np.triu_indices(raters, 1))
    tables = pair_tables(ratings)
    shared = tables.any(axis=(1, 2))
    n, agreed, observed, expected = sums_of_tables(tables[shared].astype(np.float64), x, weights)
    return PairSums(a[shared], b[shared], n.astype(np.int64), agreed.astype(np.int64), observed, expected)


def _sparse(ratings: Ratings, x: Floats, weights: Weights) -> PairSums:
    """By sorted cells (pair, label): memory in the pairs of ratings, whatever the number of raters and labels."""
    raters, labels = len(ratings.raters), max(len(ratings.labels), 1)
    grouped = ratings.grouped
    pair_blocks, row_blocks, column_blocks = [], [], []
    for i, j in pairs_within(grouped.start):
        key = grouped.rater[i].astype(np.int64) * raters + grouped.rater[j]
        row, column = grouped.value[i], grouped.value[j]
        weight = disagreement(x[row], x[column], weights)
        pair_blocks.append(_summed(key, np.ones(key.size), (row == column).astype(np.float64), weight))
        row_blocks.append(_summed(key * labels + row, np.ones(key.size)))
        column_blocks.append(_summed(key * labels + column, np.ones(key.size)))
    keys, n, agreed, observed = _summed(*_joined(pair_blocks, 4))
    expected = _sparse_expected(
        keys,
        n,
        _summed(*_joined(row_blocks, 2)),
        _summed(*_joined(column_blocks, 2)),
        x=x,
        weights=weights,
        labels=labels,
    )
    a, b = np.divmod(keys, raters)
    return PairSums(
        a.astype(np.int32),
        b.astype(np.int32),
        n.astype(np.int64),
        agreed.astype(np.int64),
        observed,
        expected,
    )


def _joined(blocks: list[tuple[np.ndarray, ...]], columns: int) -> tuple[np.ndarray, ...]:
    if not blocks:
        return (np.zeros(0, dtype=np.int64), *(np.zeros(0) for _ in range(columns - 1)))
    return tuple(np.concatenate(column) for column in zip(*blocks, strict=True))


def _summed(keys: Ints, *values: Floats) -> tuple[np.ndarray, ...]:
    """Distinct keys in order, and the sum of each column of values by key."""
    order = np.argsort(keys, kind="stable")
    distinct, lengths = run_lengths(keys[order])
    if not distinct.size:
        return (distinct, *values)
    first = np.cumsum(lengths) - lengths
    return (distinct, *(np.add.reduceat(value[order], first) for value in values))


def _sparse_expected(
    pairs: Ints,
    n: Floats,
    rows: tuple[np.ndarray, ...],
    columns: tuple[np.ndarray, ...],
    *,
    x: Floats,
    weights: Weights,
    labels: int,
) -> Floats:
    """``sum_ij w_ij r_i c_j`` of each pair from its cells (pair, label), without a label x label table."""
    keys, r, c = _summed(  # one row a (pair, label) that either rater used, in order
        np.concatenate((rows[0], columns[0])),
        np.concatenate((rows[1], np.zeros(columns[1].size))),
        np.concatenate((np.zeros(rows[1].size), columns[1])),
    )
    pair, label = np.divmod(keys, labels)
    index = np.searchsorted(pairs, pair)
    order = np.lexsort((x[label], index))
    return expected_of_cells(index[order], x[label][order], r[order], c[order], n, weights)


def expected_of_cells(index: Ints, at: Floats, r: Floats, c: Floats, n: Floats, weights: Weights) -> Floats:
    """``sum_ij w_ij r_i c_j`` of each pair from its labels' counts.

    A cell is a label of a pair: ``index`` its pair, ``at`` its position, ``r`` and ``c`` how often either rater gave it; cells
    are in order of pair, then position. ``n`` of shape (P,) are the pairs' units.
    """

    def total(values: Floats) -> Floats:
        return np.bincount(index, weights=values, minlength=n.size).astype(np.float64)

    if weights == "nominal":
        return n * n - total(r * c)
    if weights == "quadratic":
        return n * (total(r * at * at) + total(c * at * at)) - 2.0 * total(r * at) * total(c * at)
    # Linear: |X - Y| added up gap by gap between neighbouring labels.
    last = np.append(index[1:] != index[:-1], True)
    gap = np.where(last, 0.0, np.append(at[1:], 0.0) - at)
    below_r, below_c = _running(r, index, n.size), _running(c, index, n.size)
    return total(gap * (below_r * (n[index] - below_c) + below_c * (n[index] - below_r)))


def _running(values: Floats, index: Ints, size: int) -> Floats:
    """Cumulative sums that start again at each pair."""
    before = np.concatenate(([0.0], np.cumsum(np.bincount(index, weights=values, minlength=size))))[:-1]
    return np.cumsum(values) - before[index]
