"""Association between a label and another label (Theil's U) or a number (correlation ratio)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from evaluation.agreement.bootstrap import Statistic, resampled_totals
from evaluation.core.estimate import NAN, NOT_ASKED, Estimate, undefined
from evaluation.core.interval import SHARE, t_interval, t_quantile, too_few
from evaluation.metrics.resample import Floats, Ints, codes_of

#: Fewer cases than this for each combination of labels, or category, leave too sparse a table for an interval: in simulated
#: studies with 5 it covered 84 % of them, with 8 91 %.
LEAST_PER_CELL = 15


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
    (instances; by default each pair by itself) are drawn for the interval (:func:`square_interval`), whose lower end cannot
    reach below 0. Small U are biased upwards: :func:`chance_u` says how large U is without any association. No interval from fewer
    than ``LEAST_PER_CELL`` pairs for each combination of labels. Source: Joshi et al. 2023, Tables 4 and 6.

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
    point = Estimate(value, n=len(kept), left_out=left)
    word = "pairs" if clusters is None else "instances"
    why = _too_sparse(len(kept), shape[0] * shape[1], "combinations of labels")
    if why and rng is not None and replicates:
        return replace(point, interval=too_few(len(cells), word) or why)
    return square_interval(
        point,
        cells,
        lambda totals: _u_of(totals, shape),
        degrees=max((shape[0] - 1) * (shape[1] - 1), 1),
        rng=rng,
        replicates=replicates,
        word=word,
    )


def chance_u(
    x: Sequence[str | None], y: Sequence[str | None], *, rng: np.random.Generator, permutations: int = 1_000
) -> tuple[Estimate, float]:
    """What Theil's U(x | y) is where x and y have nothing to do with each other: its mean over permutations of y, and p.

    p is the share of permutations, the data among them, whose U is at least as large. Pairs with a None are left out; both are
    undefined where U is. Each pair is permuted by itself: pairs of one instance that are alike make p too small.

    >>> found, p = chance_u(["a", "b"] * 50, ["p", "q"] * 50, rng=np.random.default_rng(0))
    >>> found.value < 0.02, p < 0.002
    (True, True)
    """
    kept = [(str(a), str(b)) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    own = theils_u([a for a, _ in kept], [b for _, b in kept])
    if not own.defined:
        return undefined(own.reason), NAN
    rows, columns = (codes_of([pair[side] for pair in kept])[0] for side in (0, 1))
    if not columns.any():  # y is the same throughout, so every permutation of it is the data
        return Estimate(0.0, n=len(kept)), 1.0
    from scipy.stats import random_table  # imported late: it takes a second

    tables = random_table(np.bincount(rows), np.bincount(columns)).rvs(permutations, random_state=rng)
    values = _u_of(tables.reshape(permutations, -1).astype(np.float64), tables.shape[1:])
    larger = int((values >= own.value - 1e-12).sum())
    return Estimate(float(values.mean()), n=len(kept)), (larger + 1) / (permutations + 1)


def square_interval(
    estimate: Estimate,
    sums: Floats,
    statistic: Statistic,
    *,
    degrees: int,
    rng: np.random.Generator | None,
    replicates: int,
    word: str,
) -> Estimate:
    """The 95 % interval of a share of variation or entropy that is explained, from 0 to 1, which is biased near 0.

    Like the statistics of tests of independence, such a share is about a times a noncentral chi-square with ``degrees`` of freedom:
    a follows from the bootstrap's variance ``2 a^2 degrees + 4 a U``. The interval has the noncentralities for which the share found
    is neither too large nor too small; from one half on it's a t interval on the logit scale with the bootstrap's bias subtracted.
    ``sums`` of shape (clusters, D) and ``statistic`` are those of ``evaluation.agreement.bootstrap``. None at exactly 1, where no
    resample is different: that isn't a share of independent cases.
    """
    if rng is None or not replicates:
        return replace(estimate, interval=NOT_ASKED)
    if not estimate.defined:
        return estimate
    clusters = len(sums)
    if why := too_few(clusters, word):
        return replace(estimate, interval=why)
    values = statistic(resampled_totals(sums, replicates, rng))
    values = values[~np.isnan(values)]
    if values.size < 0.95 * replicates:
        missing = replicates - values.size
        return replace(estimate, interval=f"none: undefined in {missing} of {replicates} replicates")
    error = float(values.std()) * (clusters / (clusters - 1)) ** 0.5
    without = statistic(sums.sum(axis=0) - sums)  # the jackknife, which rare and extreme cases widen more
    without = without[~np.isnan(without)]
    error = max(error, float(without.std()) * max(without.size - 1, 0) ** 0.5)
    if error < 1e-9:
        return replace(estimate, interval=f"none: the {word} do not vary")
    bias = float(values.mean()) - estimate.value
    if estimate.value >= 0.5:
        low, high = t_interval(
            estimate.value, error, degrees_of_freedom=clusters - 1, bounds=SHARE, bias=bias
        )
        how = "t interval"
    else:
        low, high = _noncentral(estimate.value, error, bias, degrees, t_quantile(clusters - 1))
        low, high, how = min(low, estimate.value), max(high, estimate.value), "noncentral chi-square interval"
    how = f"95 % {how}, bootstrap standard error, {values.size} replicates of {clusters} {word}; bias {bias:+.4f} subtracted"
    return replace(estimate, low=low, high=high, interval=how)


def _noncentral(
    value: float, error: float, bias: float, degrees: int, quantile: float
) -> tuple[float, float]:
    """The ends of ``square_interval`` below one half."""
    from scipy.special import chndtr, chndtrinc, ndtr

    scale = (-4 * value + (16 * value**2 + 8 * degrees * error**2) ** 0.5) / (4 * degrees)
    tail = float(ndtr(-quantile))
    # A bias beyond that of the chi-square is one of sparse tables.
    found = max(value - max(bias - degrees * scale, 0.0), 0.0) / scale
    low = scale * float(chndtrinc(found, degrees, 1 - tail)) if chndtr(found, degrees, 0) > 1 - tail else 0.0
    high = scale * float(chndtrinc(found, degrees, tail)) if chndtr(found, degrees, 0) > tail else 0.0
    return low, min(high, 1.0)


def _too_sparse(n: int, cells: int, what: str) -> str:
    """Why there is no interval from so few cases for each of the cells; empty if there are enough."""
    least = LEAST_PER_CELL * cells
    return "" if n >= least else f"none: at least {least} cases are needed for {cells} {what}, found {n}"


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
    ``clusters`` as in ``theils_u``; the interval is that of eta squared (:func:`square_interval`), whose ends' roots it has, with at
    least ``LEAST_PER_CELL`` values for each category. Source: Joshi et al. 2023, Table 4 (eta of BERTScore by utility class).

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
    eta = float(_eta_of(sums.sum(axis=0)))
    point = Estimate(eta, n=len(kept), left_out=left)
    word = "values" if clusters is None else "instances"
    why = _too_sparse(len(kept), len(names), "categories")
    if why and rng is not None and replicates:
        return replace(point, interval=too_few(len(sums), word) or why)
    square = square_interval(
        replace(point, value=eta**2),
        sums.reshape(len(sums), -1),
        lambda totals: _eta_of(totals.reshape(-1, 3, len(names))) ** 2,
        degrees=max(len(names) - 1, 1),
        rng=rng,
        replicates=replicates,
        word=word,
    )
    low, high = min(square.low**0.5, eta), max(square.high**0.5, eta)
    return replace(square, value=eta, low=low, high=high)


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
