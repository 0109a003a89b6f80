"""Association between a label and another label (Theil's U) or a number (correlation ratio)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate, undefined
from evaluation.core.interval import SHARE
from evaluation.metrics.resample import Floats, Ints, codes_of, with_interval


def theils_u(
    x: Sequence[str | None],
    y: Sequence[str | None],
    *,
    clusters: Sequence[str] | None = None,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> Estimate:
    """Theil's U(x | y): the share of x's entropy that knowing y takes away.

    U(x | y) = (H(x) - H(x | y)) / H(x), in [0, 1]. Asymmetric: this is what y says about x; swap the arguments for the
    other direction. Does not depend on the base of the logarithm. Undefined where H(x) = 0 (x is always
    the same), where other implementations print 1. Pairs with a None are left out and counted. ``clusters``
    (instances; by default each pair by itself) are drawn for the interval, whose lower end cannot reach below
    0 and so says nothing on whether U differs from 0. Source: Joshi et al. 2023, Tables 4 and 6.

    >>> theils_u(["a", "a", "b", "b"], ["p", "p", "q", "q"]).value
    1.0
    >>> theils_u(["a", "a"], ["p", "q"]).reason
    'x has no entropy: it is the same label throughout'
    """
    if len(x) != len(y):
        raise ValueError(f"x, y: expected one length, got {len(x)} and {len(y)}")
    kept = [i for i, pair in enumerate(zip(x, y, strict=True)) if None not in pair]
    left = {"without a label": len(x) - len(kept)} if len(kept) < len(x) else {}
    if not kept:
        return undefined("no pair of labels", left_out=left)
    rows, row_names = codes_of([str(x[i]) for i in kept])
    columns, column_names = codes_of([str(y[i]) for i in kept])
    shape = (len(row_names), len(column_names))
    groups = _groups(clusters, kept, len(x))
    cells = _cluster_cells(groups, rows * shape[1] + columns, shape[0] * shape[1])
    value = float(_u_of(cells.sum(axis=0), shape))
    if np.isnan(value):
        return undefined("x has no entropy: it is the same label throughout", n=len(kept), left_out=left)
    return with_interval(
        Estimate(value, n=len(kept), left_out=left),
        cells,
        lambda totals: _u_of(totals, shape),
        rng=rng,
        replicates=replicates,
        cluster_word="pairs" if clusters is None else "instances",
        bounds=SHARE,
    )


def _u_of(cells: Floats, shape: tuple[int, int]) -> Floats:
    """U(rows | columns) of contingency tables laid flat on the last axis; nan where H(rows) = 0."""
    table = cells.reshape(*cells.shape[:-1], *shape)
    total = table.sum(axis=(-2, -1))
    joint = _entropy_sum(cells)
    own = _entropy_sum(table.sum(axis=-1))
    other = _entropy_sum(table.sum(axis=-2))
    with np.errstate(invalid="ignore", divide="ignore"):
        h_x = np.log(total) - own / total
        h_x_given_y = (other - joint) / total
        return np.where(h_x > 1e-12, np.clip((h_x - h_x_given_y) / h_x, 0.0, 1.0), np.nan)


def _entropy_sum(counts: Floats) -> Floats:
    """Sum of c log c over the last axis, with 0 log 0 = 0."""
    return (counts * np.log(np.where(counts > 0, counts, 1.0))).sum(axis=-1)


def correlation_ratio(
    category: Sequence[str | None],
    value: npt.ArrayLike,
    *,
    clusters: Sequence[str] | None = None,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> Estimate:
    """Correlation ratio eta of a number by category (eta itself, not eta squared).

    eta = sqrt(sum over categories n_c (mean_c - mean)^2 / sum over values (v - mean)^2), in [0, 1]. Undefined
    where all values are the same. Pairs without a category (None) or value (nan) are left out and counted.
    ``clusters`` as in ``theils_u``. Source: Joshi et al. 2023, Table 4 (eta of BERTScore by utility class).

    >>> correlation_ratio(["a", "a", "b", "b"], [1, 1, 3, 3]).value
    1.0
    """
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.shape != (len(category),):
        raise ValueError(f"category, value: expected one length, got {len(category)} and {numbers.shape}")
    kept = [i for i, name in enumerate(category) if name is not None and not np.isnan(numbers[i])]
    left = {"without a category or value": len(category) - len(kept)} if len(kept) < len(category) else {}
    if not kept:
        return undefined("no category with a value", left_out=left)
    codes, names = codes_of([str(category[i]) for i in kept])
    chosen = numbers[kept]
    if np.ptp(chosen) <= 1e-12 * max(1.0, float(np.abs(chosen).max())):
        return undefined("all values are the same", n=len(kept), left_out=left)
    centred = chosen - chosen.mean()
    groups = _groups(clusters, kept, len(category))
    sums = np.stack(
        [_cluster_cells(groups, codes, len(names), w) for w in (np.ones(len(kept)), centred, centred**2)],
        axis=1,
    )
    return with_interval(
        Estimate(float(_eta_of(sums.sum(axis=0))), n=len(kept), left_out=left),
        sums.reshape(len(sums), -1),
        lambda totals: _eta_of(totals.reshape(-1, 3, len(names))),
        rng=rng,
        replicates=replicates,
        cluster_word="values" if clusters is None else "instances",
        bounds=SHARE,
    )


def _eta_of(sums: Floats) -> Floats:
    """eta from counts, sums and sums of squares, axis -2, of each category, axis -1."""
    count, total, squares = sums[..., 0, :], sums[..., 1, :], sums[..., 2, :]
    correction = total.sum(axis=-1) ** 2 / np.maximum(count.sum(axis=-1), 1)
    between = (total**2 / np.maximum(count, 1)).sum(axis=-1) - correction
    spread = squares.sum(axis=-1) - correction
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(
            spread > 1e-12 * squares.sum(axis=-1), np.sqrt(np.clip(between / spread, 0, 1)), np.nan
        )


def _groups(clusters: Sequence[str] | None, kept: Sequence[int], size: int) -> Ints:
    if clusters is None:
        return np.arange(len(kept), dtype=np.int64)
    if len(clusters) != size:
        raise ValueError(f"clusters: expected {size} values, got {len(clusters)}")
    return codes_of([clusters[i] for i in kept])[0]


def _cluster_cells(groups: Ints, cell: Ints, cells: int, weights: Floats | None = None) -> Floats:
    """Shape (clusters, cells): the weights in each cell of each cluster, counts by default."""
    size = int(groups.max()) + 1
    flat = np.bincount(groups * cells + cell, weights=weights, minlength=size * cells)
    return np.asarray(flat, dtype=np.float64).reshape(size, cells)
