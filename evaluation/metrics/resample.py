"""Means of clustered rows with bootstrap intervals, fast because clusters' sums are drawn, not rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from evaluation.estimate import NAN, Estimate, undefined

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Numbers drawn at once: bounds the memory of a bootstrap, whatever the number of replicates.
_CHUNK = 4_000_000
#: More replicates than this share without a value make the interval itself undefined.
_MOST_UNDEFINED = 0.05


def codes_of(names: Sequence[str] | npt.NDArray[np.object_]) -> tuple[Ints, tuple[str, ...]]:
    """Codes of names in sorted order, so that results do not depend on the order of the rows.

    >>> codes_of(["b", "a", "b"])
    (array([1, 0, 1]), ('a', 'b'))
    """
    found = sorted(set(names))
    index = {name: code for code, name in enumerate(found)}
    return np.fromiter((index[name] for name in names), dtype=np.int64, count=len(names)), tuple(found)


def ratio_estimate(
    numerator: npt.ArrayLike,
    denominator: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
    cluster_word: str = "instances",
    reason: str = "nothing to average",
    left_out: Mapping[str, int] | None = None,
) -> Estimate:
    """Sum of ``numerator`` over sum of ``denominator``, with a percentile interval from drawing clusters.

    ``numerator`` and ``denominator`` have shape (N,), or (K, N) for the mean over K ratios (one a rater), where
    a ratio with an empty denominator is left out of the mean. ``clusters`` are int codes of shape (N,). Whole
    clusters are drawn with replacement, as many as there are; only clusters with a positive denominator count.
    Undefined (with ``reason``) where every denominator is 0. Without ``rng`` there is no interval.

    >>> ratio_estimate([1, 0, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1]).value
    0.75
    """
    top = np.atleast_2d(np.asarray(numerator, dtype=np.float64))
    bottom = np.atleast_2d(np.asarray(denominator, dtype=np.float64))
    codes = np.asarray(clusters, dtype=np.int64)
    if top.shape != bottom.shape or top.shape[1:] != codes.shape:
        raise ValueError(
            f"numerator {top.shape}, denominator {bottom.shape}, clusters {codes.shape}: expected one length"
        )
    n = round(float(bottom.sum()))
    left = dict(left_out or {})
    if n == 0:
        return undefined(reason, left_out=left)
    top, bottom = _cluster_sums(top, bottom, codes)
    value = float(_mean_ratio(top.sum(axis=1), bottom.sum(axis=1)))
    low, high, how = percentile_interval(
        lambda weights: _mean_ratio(weights @ top.T, weights @ bottom.T),
        top.shape[1],
        rng=rng,
        replicates=replicates,
        cluster_word=cluster_word,
    )
    return Estimate(value, low, high, n=n, left_out=left, interval=how)


def _cluster_sums(top: Floats, bottom: Floats, codes: Ints) -> tuple[Floats, Floats]:
    """Sums by cluster, shape (K, clusters), without the clusters that hold nothing."""
    size = int(codes.max()) + 1 if codes.size else 0
    tops = np.array([np.bincount(codes, weights=row, minlength=size) for row in top], dtype=np.float64)
    bottoms = np.array([np.bincount(codes, weights=row, minlength=size) for row in bottom], dtype=np.float64)
    kept = bottoms.sum(axis=0) > 0
    return tops[:, kept], bottoms[:, kept]


def _mean_ratio(top: Floats, bottom: Floats) -> Floats:
    """Mean over the last axis of top / bottom, over the ratios that are defined; nan where none is."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(bottom > 0, top / bottom, 0.0)
        return ratios.sum(axis=-1) / (bottom > 0).sum(axis=-1)


def percentile_interval(
    statistic: Callable[[Floats], npt.ArrayLike],
    clusters: int,
    *,
    rng: np.random.Generator | None,
    replicates: int = 1_000,
    cluster_word: str = "instances",
) -> tuple[float, float, str]:
    """The 2.5th and 97.5th percentile of ``statistic`` over resamples of ``clusters`` clusters.

    ``statistic`` maps weights of shape (B, clusters), how often each cluster was drawn, to B values. Returns
    low, high and how the interval was made, or why there is none.
    """
    if rng is None:
        return NAN, NAN, "none asked for"
    if clusters < 2:
        return NAN, NAN, f"none: fewer than two {cluster_word}"
    values = np.concatenate([np.asarray(statistic(w)) for w in draw_weights(clusters, replicates, rng)])
    bad = int(np.isnan(values).sum())
    how = f"percentile bootstrap over {clusters} {cluster_word}, {replicates} replicates"
    if bad > _MOST_UNDEFINED * replicates:
        return NAN, NAN, f"none: undefined in {bad} of {replicates} bootstrap replicates"
    if bad:
        how += f", undefined in {bad}"
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return float(low), float(high), how


def draw_weights(clusters: int, replicates: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yields float arrays (B, clusters): how often each cluster is drawn in each of B replicates."""
    step = max(1, _CHUNK // clusters)
    for start in range(0, replicates, step):
        count = min(step, replicates - start)
        drawn = rng.integers(0, clusters, size=(count, clusters))
        drawn += np.arange(count)[:, None] * clusters
        yield np.bincount(drawn.ravel(), minlength=count * clusters).reshape(count, clusters).astype(float)
