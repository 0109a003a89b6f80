"""The cluster bootstrap of kappa over pairs of raters: all pairs, all averages, in one pass over the replicates.

A replicate draws clusters, as everywhere; each pair's label table is then a weighted sum of the clusters' tables. All
tables are one sparse matrix (cells by clusters), so that many replicates are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evaluation.agreement.bootstrap import draw_counts
from evaluation.agreement.cohen import PairwiseKappa, Which
from evaluation.agreement.counts import pairs_within
from evaluation.agreement.pairs import Weights, disagreement, expected_of_cells, pair_positions
from evaluation.core.ratings_table import Codes, Floats, Ints, Ratings

#: Replicates drawn at once.
_BATCH = 64
#: Pairs of raters worked on at once, so that their tables stay in the processor's cache.
_PAIRS = 256
#: Above this many labels a pair's table is not made: its occupied cells are counted.
_TABLE_LABELS = 8
#: Up to this many raters a table of all pairs' numbers is made.
_NUMBERED_RATERS = 3_000
#: Kappas of single pairs are kept while they are no more than this.
_KEPT = 4_000_000


@dataclass(frozen=True, eq=False)
class KappaReplicates:
    """Bootstrap replicates: ``mean`` and ``weighted_mean`` map a group to B values, ``clusters`` is how many are drawn from.

    ``pairs`` of shape (P, B) holds the averaged pairs' kappas, in order, or is None where that would be large.
    """

    mean: dict[Which, Floats]
    weighted_mean: dict[Which, Floats]
    pairs: Floats | None
    clusters: int


@dataclass(frozen=True, eq=False)
class _Records:
    """Every unit that an averaged pair shares, once a pair: the pair, the unit's cluster, both labels."""

    pair: Codes
    cluster: Codes
    row: Codes
    column: Codes


def replicate_kappas(
    ratings: Ratings,
    kappas: PairwiseKappa,
    *,
    groups: Sequence[Which],
    rng: np.random.Generator,
    replicates: int,
) -> KappaReplicates:
    """Kappa averages of each group in ``replicates`` resamples of the clusters.

    The pairs averaged are those averaged in the whole sample; a pair whose kappa is undefined in a resample is
    left out of that resample's average, and a resample where none is left has ``nan``.
    """
    codes, clusters = cluster_codes(ratings)
    kept = np.flatnonzero(kappas.averaged)
    members = np.stack([kappas.of_group(group)[kept] for group in groups]).astype(np.float64)
    records = _records(ratings, kappas, kept, codes)
    x = pair_positions(ratings, kappas.weights)
    small = x.size <= _TABLE_LABELS
    kappas_of = (_by_tables if small else _by_cells)(records, kept.size, clusters, x, kappas.weights)
    keep = kept.size * replicates <= _KEPT
    singles, means, weighted = [], [], []
    for counts in draw_counts(clusters, replicates, rng, batch=_BATCH, dtype=np.float32):
        sums = np.zeros((4, len(groups), counts.shape[0]))  # of kappa, pairs, kappa * n, n
        blocks = []
        for first, n, kappa in kappas_of(counts):
            if keep:
                blocks.append(kappa)
            part = members[:, first : first + n.shape[0]]
            sums += _group_sums(part, n, kappa)
        with np.errstate(invalid="ignore", divide="ignore"):
            means.append(sums[0] / sums[1])
            weighted.append(sums[2] / sums[3])
        if keep:
            singles.append(np.concatenate(blocks) if blocks else np.zeros((0, counts.shape[0])))
    return KappaReplicates(
        dict(zip(groups, np.concatenate(means, axis=1), strict=True)),
        dict(zip(groups, np.concatenate(weighted, axis=1), strict=True)),
        np.concatenate(singles, axis=1) if keep else None,
        clusters,
    )


def _group_sums(members: Floats, n: Floats, kappa: Floats) -> Floats:
    """Shape (4, groups, B): sums over the pairs of each group of kappa, 1, kappa * n and n, where kappa is defined."""
    undefined = np.isnan(kappa)
    if undefined.any():
        ones = np.where(undefined, 0.0, 1.0)
        value, n = np.where(undefined, 0.0, kappa), n * ones
        return np.stack([members @ value, members @ ones, members @ (value * n), members @ n])
    pairs = np.broadcast_to(members.sum(axis=1)[:, None], (members.shape[0], kappa.shape[1]))
    return np.stack([members @ kappa, pairs, members @ (kappa * n), members @ n])


def cluster_codes(ratings: Ratings) -> tuple[Ints, int]:
    """Shape (units,): the cluster of each unit, counted over those that hold a rating (-1 for others); and how many."""
    rated = ratings.grouped.sizes > 0
    raw = np.arange(len(ratings.units)) if ratings.clusters is None else ratings.clusters
    present = np.zeros(int(raw.max(initial=-1)) + 1, dtype=bool)
    present[raw[rated]] = True
    codes = np.where(rated, (np.cumsum(present) - 1)[raw] if raw.size else raw, -1)
    return codes.astype(np.int64), int(present.sum())


def _records(ratings: Ratings, kappas: PairwiseKappa, kept: Ints, codes: Ints) -> _Records:
    grouped, raters = ratings.grouped, len(ratings.raters)
    clusters = codes.astype(np.int32)
    keys = kappas.sums.a[kept].astype(np.int64) * raters + kappas.sums.b[kept]
    number = np.full(raters * raters, -1, dtype=np.int32) if raters <= _NUMBERED_RATERS else None
    if number is not None:
        number[keys] = np.arange(keys.size)
    parts: list[tuple[Codes, ...]] = []
    for i, j in pairs_within(grouped.start) if keys.size else ():
        key = grouped.rater[i].astype(np.int64) * raters + grouped.rater[j]
        if number is not None:
            at = number[key]
        else:
            at = np.minimum(np.searchsorted(keys, key), keys.size - 1).astype(np.int32)
            at[keys[at] != key] = -1
        found = at >= 0
        i, j = i[found], j[found]
        parts.append((at[found], clusters[grouped.unit[i]], grouped.value[i], grouped.value[j]))
    if not parts:
        empty = np.zeros(0, dtype=np.int32)
        return _Records(empty, empty, empty, empty)
    return _Records(*(np.concatenate(column) for column in zip(*parts, strict=True)))


Batch = Iterator[tuple[int, Floats, Floats]]


def _by_tables(
    records: _Records, pairs: int, clusters: int, x: Floats, weights: Weights
) -> Callable[[Floats], Batch]:
    """Kappas of a batch of replicates through all pairs' label x label tables; few labels."""
    labels = x.size
    cells = labels * labels
    index = np.int32 if pairs * cells < 2**31 else np.int64
    rows = records.pair * index(cells) + records.row * index(labels) + records.column
    matrix = sparse.csr_array(
        (np.ones(rows.size, dtype=np.float32), (rows, records.cluster)), shape=(pairs * cells, clusters)
    )
    weight = disagreement(x[:, None], x[None, :], weights)

    def kappas(counts: Floats) -> Batch:
        drawn = np.ascontiguousarray(counts.T)  # 32 bits: whole numbers are exact
        for first in range(0, pairs, _PAIRS):
            block = (matrix[first * cells : (first + _PAIRS) * cells] @ drawn).reshape(
                -1, cells, counts.shape[0]
            )
            n, kappa = _kappa_of_tables(
                np.moveaxis(block, 1, 0).reshape(labels, labels, -1, counts.shape[0]), weight
            )
            yield first, n, kappa

    return kappas


def _kappa_of_tables(table: npt.NDArray[np.float32], weight: Floats) -> tuple[Floats, Floats]:
    """n and kappa, shape (pairs, B), of tables (L, L, pairs, B); sums over L are written out, L being small.

    Counts stay in 32 bits, where whole numbers are exact; products are taken in 64.
    """
    labels = range(table.shape[0])
    r = [_total([table[i, j] for j in labels]).astype(np.float64) for i in labels]
    c = [_total([table[i, j] for i in labels]).astype(np.float64) for j in labels]
    n = _total(r)
    if (weight == 1 - np.eye(len(labels))).all():
        observed = n - _total([table[i, i] for i in labels])
        expected = n * n - _total([r[i] * c[i] for i in labels])
    else:
        cells = [(i, j) for i in labels for j in labels if weight[i, j]]
        observed = _total([weight[i, j] * table[i, j].astype(np.float64) for i, j in cells])
        expected = _total([weight[i, j] * (r[i] * c[j]) for i, j in cells])
    return n, _kappa(n, observed, expected)


def _total(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def _kappa(n: Floats, observed: Floats, expected: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1.0 - n * observed / expected, np.nan)


def _by_cells(
    records: _Records, pairs: int, clusters: int, x: Floats, weights: Weights
) -> Callable[[Floats], Batch]:
    """Kappas of a batch, replicate by replicate, through the cells that occur; any number of labels."""
    order = np.argsort(x, kind="stable")
    rank = np.empty(x.size, dtype=np.int64)
    rank[order] = np.arange(x.size)
    width = max(x.size, 1)
    row_key, column_key = (
        records.pair * width + rank[records.row],
        records.pair * width + rank[records.column],
    )
    cells = np.sort(np.concatenate((row_key, column_key)))
    cells = cells[np.append(True, cells[1:] != cells[:-1])] if cells.size else cells
    row, column = np.searchsorted(cells, row_key), np.searchsorted(cells, column_key)
    index, at = cells // width, x[order[cells % width]] if cells.size else np.zeros(0)
    weight = disagreement(x[records.row], x[records.column], weights)

    def add(codes: Ints | Codes, values: Floats, size: int) -> Floats:
        return np.bincount(codes, weights=values, minlength=size).astype(np.float64)

    def kappas(counts: Floats) -> Batch:
        ns, found = np.zeros((pairs, counts.shape[0])), np.zeros((pairs, counts.shape[0]))
        for replicate, drawn in enumerate(counts):
            times = drawn[records.cluster]
            n, observed = add(records.pair, times, pairs), add(records.pair, times * weight, pairs)
            r, c = add(row, times, cells.size), add(column, times, cells.size)
            ns[:, replicate] = n
            found[:, replicate] = _kappa(n, observed, expected_of_cells(index, at, r, c, n, weights))
        yield 0, ns, found

    return kappas
