"""Means of clustered rows with bootstrap intervals; fast because sums of clusters are drawn instead of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.agreement.bootstrap import (
    Statistic,
    add_interval,
    bootstrap,
    bounds_of,
    draw_counts,
)
from evaluation.agreement.new_raters import RaterVariance
from evaluation.core.estimate import NOT_ASKED, Estimate, undefined
from evaluation.core.interval import UNBOUNDED, Bounds

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: A table of sums by cluster and group larger than this is held sparse.
_MOST_DENSE = 4_000_000
#: Columns of at least this length are encoded by pyarrow.
_MANY = 10_000


def codes_of(names: Sequence[str] | npt.NDArray[np.object_]) -> tuple[Ints, tuple[str, ...]]:
    """Codes of names in sorted order, so that results do not depend on the order of the rows.

    >>> codes_of(["b", "a", "b"])
    (array([1, 0, 1]), ('a', 'b'))
    """
    seen, codes = _told_apart(names)
    order = sorted(range(len(seen)), key=seen.__getitem__)
    place = np.empty(len(seen), dtype=np.int64)
    place[order] = np.arange(len(seen))
    return place[codes], tuple(seen[number] for number in order)


def _told_apart(names: Sequence[str] | npt.NDArray[np.object_]) -> tuple[list[str], npt.NDArray[Any]]:
    """The names in the order of their first occurrence, and the codes; without a Python step per row for long columns."""
    if len(names) >= _MANY:
        import pyarrow as pa

        try:
            column = pa.array(names, type=pa.string()).dictionary_encode()
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # not all of them are text
            pass
        else:
            if not column.null_count:
                return column.dictionary.to_pylist(), column.indices.to_numpy()
    index: dict[str, int] = {}
    codes = [index.setdefault(name, len(index)) for name in names]
    return list(index), np.array(codes, dtype=np.int64)


def ratio_estimate(
    numerator: npt.ArrayLike,
    denominator: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    groups: npt.ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
    cluster_word: str = "instances",
    reason: str = "nothing to average",
    left_out: Mapping[str, int] | None = None,
    bounds: Bounds | None = None,
    counted: bool = True,
    unjudged: float | None = None,
    new_raters: RaterVariance | None = None,
) -> Estimate:
    """Sum of ``numerator`` over sum of ``denominator``, with an interval from drawing clusters.

    ``numerator``, ``denominator`` and ``clusters`` (int codes) have shape (N,). With ``groups`` (int codes of the
    same shape) it is the unweighted mean of each group's ratio: of each rater's, or each system's; a group whose
    denominators are 0 is left out of the mean. Whole clusters are drawn with replacement, as many as there are; only
    clusters with a positive denominator count. ``n`` is the sum of the denominators. ``bounds`` are the least and the
    greatest value of the statistic, which its interval does not leave: 0 and 1 where every numerator lies between 0 and
    its denominator, else give them. Undefined (with ``reason``) where every denominator is 0. Without ``rng``, or with 0
    ``replicates``, there is no interval. ``counted``, ``unjudged`` (for these items) and ``new_raters`` (for raters like these) are ``add_interval``'s. ``ValueError`` for unequal lengths.

    >>> ratio_estimate([1, 0, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1]).value
    0.75
    >>> ratio_estimate([1, 0, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1], groups=[0, 0, 0, 1]).value  # mean of 2/3 and 1
    0.8333333333333333
    """
    top, bottom = (np.asarray(values, dtype=np.float64) for values in (numerator, denominator))
    codes = np.asarray(clusters, dtype=np.int64)
    group = None if groups is None else np.asarray(groups, dtype=np.int64)
    shape = codes.shape if group is None else group.shape
    if codes.ndim != 1 or not top.shape == bottom.shape == codes.shape == shape:
        raise ValueError(
            f"numerator {top.shape}, denominator {bottom.shape}, clusters {codes.shape}, groups {shape}: "
            "expected one length"
        )
    left = dict(left_out or {})
    used = bottom > 0
    n = round(float(bottom.sum()))
    if not used.any():
        return undefined(reason, left_out=left)
    if not used.all():
        top, bottom, codes = top[used], bottom[used], codes[used]
        group = None if group is None else group[used]
    sums = _sums(top, bottom, codes, group)
    point = Estimate(float(_mean_ratio(np.asarray(sums.sum(axis=0)).ravel())), n=n, left_out=left)
    return with_interval(
        point, sums, _mean_ratio, rng=rng, replicates=replicates, cluster_word=cluster_word,
        bounds=bounds or bounds_of(top, bottom), counted=counted, unjudged=unjudged, new_raters=new_raters,
    )  # fmt: skip


def _sums(top: Floats, bottom: Floats, clusters: Ints, groups: Ints | None) -> Any:
    """Shape (C, 2 K): each group's numerators, then denominators, by cluster; sparse where dense would be huge."""
    rows, cluster = _renumbered(clusters)
    columns, group = (1, None) if groups is None else _renumbered(groups)
    if group is None or columns == 1:
        return np.stack([np.bincount(cluster, weights=v, minlength=rows) for v in (top, bottom)], axis=1)
    if rows * columns > _MOST_DENSE:
        from scipy import sparse

        place = (np.concatenate([cluster, cluster]), np.concatenate([group, group + columns]))
        return sparse.csr_matrix((np.concatenate([top, bottom]), place), shape=(rows, 2 * columns))
    cell = cluster * columns + group
    parts = [
        np.bincount(cell, weights=v, minlength=rows * columns).reshape(rows, columns) for v in (top, bottom)
    ]
    return np.hstack(parts)


def _renumbered(codes: Ints) -> tuple[int, Ints]:
    """How many codes occur, and the codes as numbers among those that do, in their order: without a sort if they are dense."""
    if codes.min() < 0 or codes.max() > 4 * codes.size:
        names, found = np.unique(codes, return_inverse=True)
        return len(names), found
    present = np.bincount(codes) > 0
    if present.all():
        return present.size, codes
    return int(present.sum()), (np.cumsum(present) - 1)[codes]


def _mean_ratio(totals: Floats) -> Floats:
    """Mean of the defined ratios of K numerators to K denominators, side by side on the last axis; else nan."""
    top, bottom = np.split(totals, 2, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(bottom > 0, top / bottom, 0.0)
        return ratios.sum(axis=-1) / (bottom > 0).sum(axis=-1)


def with_interval(
    estimate: Estimate,
    sums: Any,
    statistic: Statistic,
    *,
    rng: np.random.Generator | None,
    replicates: int = 1_000,
    cluster_word: str = "instances",
    bounds: Bounds = UNBOUNDED,
    counted: bool = True,
    unjudged: float | None = None,
    new_raters: RaterVariance | None = None,
) -> Estimate:
    """The estimate with the cluster bootstrap's interval; with a note if none was requested.

    ``sums`` of shape (clusters, D), an array or a scipy sparse one, ``statistic`` and ``bounds`` are those of
    ``evaluation.agreement.bootstrap``. Without ``rng`` and with 0 ``replicates`` no interval is asked for.
    """
    if replicates < 0:
        raise ValueError(f"replicates: expected 0 or more, got {replicates}")
    if rng is None or not replicates:
        return replace(estimate, interval=NOT_ASKED)
    if not isinstance(sums, np.ndarray):
        drawn = draw_counts(sums.shape[0], replicates, rng)
        values = np.concatenate([statistic(np.asarray(counts @ sums)) for counts in drawn])
        return add_interval(
            estimate, values, clusters=sums.shape[0], word=cluster_word, bounds=bounds, counted=counted,
            unjudged=unjudged, new_raters=new_raters,
        )  # fmt: skip
    return bootstrap(
        estimate,
        sums,
        statistic,
        rng=rng,
        replicates=replicates,
        word=cluster_word,
        bounds=bounds,
        counted=counted,
        unjudged=unjudged,
        new_raters=new_raters,
    )
