"""The cluster bootstrap: whole clusters are drawn, and only their sums are added up, never rows.

Every statistic here is a function of totals over clusters. A replicate is then a weighted sum of the clusters' sums,
with how often each was drawn as weights, so that a replicate costs as much as there are clusters (or kinds of
clusters), not ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import NAN, Estimate
from evaluation.core.ratings_table import Floats, Ints

DEFAULT_REPLICATES = 1_000
#: The interval's coverage.
LEVEL = 0.95
#: Counts drawn at once: bounds the memory, whatever the number of replicates.
_CHUNK = 4_000_000
#: Where more replicates than this share have no value, there is no honest interval.
_MOST_UNDEFINED = 0.05

#: Of a standard error: above this a bias must be corrected (Efron and Tibshirani 1993, section 10.6).
_LARGE_BIAS = 0.25

#: From totals of shape (..., D) to values of shape (...), ``nan`` where undefined.
Statistic = Callable[[Floats], Floats]


def ratio(totals: Floats) -> Floats:
    """First total over second: a mean, a share, a pooled precision. ``nan`` where the second is 0.

    >>> ratio(np.array([[1.0, 4.0], [0.0, 0.0]]))
    array([0.25,  nan])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return totals[..., 0] / totals[..., 1]


def cluster_sums(columns: Sequence[npt.ArrayLike], clusters: npt.ArrayLike | None = None) -> Floats:
    """Shape (C, D): sums of D columns, each of shape (N,), by cluster; only clusters that occur.

    ``clusters`` are whole-number codes of shape (N,); without them every row is its own cluster.

    >>> cluster_sums([[1, 0, 1], [1, 1, 1]], [7, 7, 2])
    array([[1., 1.],
           [1., 2.]])
    """
    table = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    if table.ndim != 2:
        raise ValueError("columns: expected one-dimensional columns of one length")
    if clusters is None:
        return table
    codes = np.asarray(clusters)
    if codes.shape != table.shape[:1]:
        raise ValueError(f"clusters: expected shape {table.shape[:1]}, got {codes.shape}")
    _, inverse = np.unique(codes, return_inverse=True)
    size = int(inverse.max(initial=-1)) + 1
    return np.stack([np.bincount(inverse, weights=column, minlength=size) for column in table.T], axis=1)


def from_the_start(rng: np.random.Generator) -> np.random.Generator:
    """A generator at the beginning of the stream of ``rng``, whatever was drawn from it since.

    So the draws of a bootstrap depend on the seed and the number of clusters alone: one figure has one interval wherever
    it is computed, and figures that are compared rest on the same draws.

    >>> rng = np.random.default_rng(1)
    >>> first = rng.random()
    >>> from_the_start(rng).random() == first
    True
    """
    bits = rng.bit_generator
    return np.random.Generator(type(bits)(bits.seed_seq))  # type: ignore[arg-type]


def draw_counts(
    clusters: int,
    replicates: int,
    rng: np.random.Generator,
    *,
    batch: int = 0,
    dtype: npt.DTypeLike = np.float64,
) -> Iterator[npt.NDArray[Any]]:
    """Arrays (b, C) that add up to ``replicates`` rows: how often each of C clusters is drawn in C draws.

    b is ``batch``, or as many rows as a bounded memory takes. Equal seeds and numbers of clusters give equal draws.
    """
    rng = from_the_start(rng)
    step = batch or max(1, _CHUNK // max(clusters, 1))
    for start in range(0, replicates, step):
        rows = min(step, replicates - start)
        counts = np.empty((rows, clusters), dtype=dtype)
        for row in range(rows):
            drawn = rng.integers(0, clusters, size=clusters, dtype=np.int32)
            counts[row] = np.bincount(drawn, minlength=clusters)
        yield counts


def resampled_totals(sums: Floats, replicates: int, rng: np.random.Generator) -> Floats:
    """Shape (B, D): totals of B resamples of the C clusters whose sums have shape (C, D).

    Clusters with the same sums are one kind: where there are few kinds, how many of each kind are drawn is
    drawn at once (multinomial), which has exactly the same distribution.
    """
    if sums.ndim != 2:
        raise ValueError(f"sums: expected two dimensions, got {sums.ndim}")
    if replicates < 1:
        raise ValueError(f"replicates: expected 1 or more, got {replicates}")
    clusters = sums.shape[0]
    if not clusters:
        return np.zeros((replicates, sums.shape[1]))
    kinds, of_kind = _kinds(sums)
    if 32 * kinds.shape[0] <= clusters:
        return (
            from_the_start(rng).multinomial(clusters, of_kind / clusters, size=replicates).astype(np.float64)
            @ kinds
        )
    return np.concatenate([counts @ sums for counts in draw_counts(clusters, replicates, rng)])


def _kinds(sums: Floats) -> tuple[Floats, Ints]:
    """The distinct rows and how often each occurs; gives up (one kind a row) where there are many."""
    code = np.zeros(sums.shape[0], dtype=np.int64)
    for column in sums.T:
        _, values = np.unique(column, return_inverse=True)
        kinds, code = np.unique(code * (int(values.max()) + 1) + values, return_inverse=True)
        if 32 * kinds.size > sums.shape[0]:
            return sums, np.ones(sums.shape[0], dtype=np.int64)
    kinds, first, counts = np.unique(code, return_index=True, return_counts=True)
    return sums[first], counts


def percentile_interval(values: Floats) -> tuple[float, float, str]:
    """The 2.5th and 97.5th percentile of the replicates, and a note: how many had no value, or why none.

    Replicates without a value (``nan``) are left out and counted; where they are more than 5 % there is no interval.
    """
    undefined = int(np.isnan(values).sum())
    if undefined > _MOST_UNDEFINED * values.size:
        return NAN, NAN, f"undefined in {undefined} of {values.size} replicates"
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(values[~np.isnan(values)], [tail, 1 - tail])
    return float(low), float(high), f"undefined in {undefined}" if undefined else ""


def add_interval(
    estimate: Estimate, values: Floats, *, clusters: int, word: str = "clusters", reflect: bool = False
) -> Estimate:
    """The estimate with the 95 % interval of its replicates, and how it was made.

    Percentiles; but with ``reflect``, where the replicates are off the estimate by more than a quarter of their standard
    deviation, the percentiles reflected at the estimate (the basic interval, ``2 value - q``). An average of kappas over
    many pairs that share few units needs that: each resampled kappa is biased a little, the average hardly varies,
    and the percentiles alone would miss the estimate itself. ``interval`` then names both: this one and the percentiles.
    """
    if not estimate.defined:
        return estimate
    if clusters < 2:
        return replace(estimate, interval=f"none: fewer than two {word} to draw from")
    low, high, note = percentile_interval(values)
    if np.isnan(low):
        return replace(estimate, interval=f"none: {note}")
    known = values[~np.isnan(values)]
    bias = float(known.mean()) - estimate.value
    kind = "percentile"
    if reflect and abs(bias) > _LARGE_BIAS * known.std():
        kind = f"basic (bias {bias:+.3f}; percentiles {low:.4f} to {high:.4f})"
        low, high = 2 * estimate.value - high, 2 * estimate.value - low
    how = f"95 % {kind} bootstrap, {values.size} replicates of {clusters} {word}"
    return replace(estimate, low=low, high=high, interval=how + (f", {note}" if note else ""))


def bootstrap(
    estimate: Estimate,
    sums: Floats,
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    replicates: int = DEFAULT_REPLICATES,
    word: str = "clusters",
) -> Estimate:
    """Add the 95 % percentile interval of the cluster bootstrap to an estimate.

    ``sums`` of shape (C, D) are the clusters' sums, of which ``statistic`` makes the estimate's value: it maps totals of
    shape (B, D) to B values. C clusters are drawn with replacement, ``replicates`` times. Efron and Tibshirani
    (1993), chapter 13; clusters: Davison and Hinkley (1997), section 3.8.

    >>> sums = cluster_sums([[1, 0, 1, 1], [1, 1, 1, 1]])
    >>> found = bootstrap(Estimate(0.75, n=4), sums, ratio, rng=np.random.default_rng(1))
    >>> found.low, found.high
    (0.25, 1.0)
    """
    if not estimate.defined:
        return estimate
    values = statistic(resampled_totals(sums, replicates, rng))
    return add_interval(estimate, values, clusters=sums.shape[0], word=word)


def bootstrap_mean(
    values: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    rng: np.random.Generator,
    replicates: int = DEFAULT_REPLICATES,
) -> Estimate:
    """Mean of the values that are not ``nan``, with its cluster bootstrap interval.

    ``values`` has shape (N,), ``clusters`` codes of shape (N,) or None; missing values are left out and counted.

    >>> bootstrap_mean([1, 0, float("nan"), 1], rng=np.random.default_rng(1)).left_out
    {'missing values': 1}
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1:
        raise ValueError(f"values: expected one dimension, got {x.ndim}")
    known = ~np.isnan(x)
    left_out = {"missing values": int((~known).sum())} if not known.all() else {}
    if not known.any():
        return Estimate(NAN, reason="there are no values", left_out=left_out)
    codes: Any = None if clusters is None else np.asarray(clusters)[known]
    sums = cluster_sums([x[known], np.ones(int(known.sum()))], codes)
    point = Estimate(float(x[known].mean()), n=int(known.sum()), left_out=left_out)
    return bootstrap(point, sums, ratio, rng=rng, replicates=replicates)
