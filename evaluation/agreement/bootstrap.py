"""The cluster bootstrap: whole clusters are drawn, and only their sums are added up, never rows.

Every statistic here is a function of totals over clusters. A replicate is then a weighted sum of the clusters' sums,
with how often each was drawn as weights, so that a replicate costs as much as there are clusters (or kinds of
clusters), not ratings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.agreement.new_raters import NEW_RATERS, RaterVariance
from evaluation.core.estimand import THESE_ITEMS
from evaluation.core.estimate import NAN, NOT_ASKED, Estimate
from evaluation.core.interval import (
    SHARE,
    UNBOUNDED,
    Bounds,
    score_interval,
    t_interval,
    too_few,
    widened,
    wilson_interval,
)
from evaluation.core.ratings_table import Floats, Ints

DEFAULT_REPLICATES = 1_000
#: Fewer replicates than this say too little about a standard error.
LEAST_REPLICATES = 20
#: Counts drawn at once: bounds the memory, whatever the number of replicates.
_CHUNK = 4_000_000
#: Draws made by one call of numpy: with fewer the calls take longer than the draws, and more don't fit a processor's cache.
_CACHED = 8_192
#: Where more replicates than this share have no value, no interval is given.
_MOST_UNDEFINED = 0.05


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
    it is computed, and figures that are compared are based on the same draws.

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
    together = max(1, _CACHED // max(clusters, 1))
    for start in range(0, replicates, step):
        rows = min(step, replicates - start)
        counts = np.empty((rows, clusters), dtype=dtype)
        for first in range(0, rows, together):
            some = counts[first : first + together]
            drawn = rng.integers(0, clusters, size=some.shape, dtype=np.int32)
            cells = drawn + np.arange(0, some.size, clusters)[:, np.newaxis] if clusters else drawn
            some[...] = np.bincount(cells.ravel(), minlength=some.size).reshape(some.shape)
        yield counts


def resampled_totals(sums: Floats, replicates: int, rng: np.random.Generator) -> Floats:
    """Shape (B, D): totals of B resamples of the C clusters whose sums have shape (C, D).

    Clusters with the same sums are one kind: where there are few kinds, how many of each kind are drawn is
    drawn at once (multinomial), which has exactly the same distribution.
    """
    if sums.ndim != 2:
        raise ValueError(f"sums: expected two dimensions, got {sums.ndim}")
    if replicates < 0:
        raise ValueError(f"replicates: expected 0 or more, got {replicates}")
    clusters = sums.shape[0]
    if not clusters or not replicates:
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


def add_interval(
    estimate: Estimate,
    values: Floats,
    *,
    clusters: int,
    word: str = "clusters",
    bounds: Bounds = UNBOUNDED,
    new_raters: RaterVariance | None = None,
    informative: int | None = None,
    biased: bool = False,
    added_variance: float = 0.0,
    counted: bool = True,
    score: Bounds | None = None,
    normal: bool = False,
    unjudged: float | None = None,
) -> Estimate:
    """The estimate with the 95 % t interval of its bootstrap standard error, and how it was made.

    ``values`` are the replicates, ``clusters`` how many clusters they draw from: their standard deviation times
    ``sqrt(C / (C - 1))`` is the standard error, and t has C - 1 degrees of freedom. ``bounds`` are the least and greatest
    value that the statistic can take: the interval is made on a scale where they lie at infinity (see
    ``evaluation.core.interval.t_interval``), so that it stays between them and holds the estimate. With few or uneven clusters it
    covers the truth more often than the percentiles do (``docs/validation.md``). A share of 0 or 1 that no replicate varies
    has Wilson's interval for C clusters. Lumley (2010), section 2.3; Efron and Tibshirani (1993), chapter 12.

    With ``new_raters``, the variance between raters is added (``evaluation.agreement.new_raters``). ``informative`` is how
    many of the clusters the statistic is based on, where others are drawn that say nothing about it (units with one rating):
    degrees of freedom are then one less than that. If the statistic is ``biased``, the difference of the replicates' mean from
    it is taken for the bias and subtracted. Without ``counted``, a value of 0 or 1 that no replicate varies isn't a share of
    independent cases, such as a similarity, and has no interval. ``added_variance`` is what the resamples can't show, added to their variance.
    With ``score`` bounds it is a score interval between them (``evaluation.core.interval.score_interval``) unless raters are added, with the
    ``normal`` quantile if that is asked for.

    With ``unjudged``, the share of the study's items that nobody has judged, the interval is for these items: the variance over clusters is
    multiplied by it (:func:`evaluation.core.estimand.unsampled`), and the value is known where it is 0.

    No interval, with the reason: no replicates asked for, or fewer than 20; fewer than
    ``evaluation.core.interval.LEAST_CLUSTERS`` clusters; more than 5 % of the replicates undefined; no variation among them.
    """
    if not estimate.defined:
        return estimate
    if not values.size:
        return replace(estimate, interval=NOT_ASKED)
    if values.size < LEAST_REPLICATES:
        return replace(estimate, interval=f"none: at least {LEAST_REPLICATES} replicates are needed")
    if unjudged == 0 and new_raters is None:
        how = f"known: every item was judged, {THESE_ITEMS}"
        return replace(estimate, low=estimate.value, high=estimate.value, interval=how)
    used = clusters if informative is None else min(informative, clusters)
    if why := too_few(used, word):
        return replace(estimate, interval=why)
    known = values[~np.isnan(values)]
    missing = values.size - known.size
    if missing > _MOST_UNDEFINED * values.size:
        return replace(estimate, interval=f"none: undefined in {missing} of {values.size} replicates")
    note = f", undefined in {missing}" if missing else ""
    error = float(known.std()) * (clusters / (clusters - 1)) ** 0.5
    degrees: float = used - 1
    if added_variance and error > 0:
        variance, degrees = widened(error**2, added_variance, used - 1)
        error = variance**0.5
    if unjudged is not None:
        error *= unjudged**0.5
        note += f", finite-population correction, {THESE_ITEMS}"
    if new_raters is not None:
        if not new_raters.known:
            return replace(estimate, interval=new_raters.none)
        variance, degrees = new_raters.added_to(error**2, degrees)
        error, note = variance**0.5, f"{note}, {NEW_RATERS}"
    if error <= 1e-12 * max(1.0, abs(estimate.value)):
        if (
            unjudged is not None
            or not counted
            or bounds != SHARE
            or min(estimate.value, 1 - estimate.value) > 1e-12
        ):
            return replace(estimate, interval=f"none: the {word} do not vary")
        low, high = wilson_interval(round(estimate.value), used)
        return replace(estimate, low=low, high=high, interval=f"95 % Wilson interval over {used} {word}")
    bias = (float(known.mean()) - estimate.value) * clusters / (clusters - 1) if biased else 0.0
    kind = "t"
    if score is not None and new_raters is None and score[0] < estimate.value - bias < score[1]:
        kind = "score"
        degrees = math.inf if normal else degrees
        low, high = score_interval(estimate.value, error, degrees_of_freedom=degrees, bounds=score, bias=bias)
    else:
        low, high = t_interval(estimate.value, error, degrees_of_freedom=degrees, bounds=bounds, bias=bias)
    if biased:
        note = f"{note}; bias {bias:+.4f} subtracted"
    if added_variance:
        note = f"{note}, variance of one unit more added"
    how = (
        f"95 % {kind} interval, bootstrap standard error, {values.size} replicates of {clusters} {word}{note}"
    )
    return replace(estimate, low=low, high=high, interval=how)


def bounds_of(top: Floats, bottom: Floats) -> Bounds:
    """The bounds of a ratio of sums: those of a share where every numerator lies between 0 and its denominator."""
    return SHARE if bool(((top >= 0) & (top <= bottom)).all()) else UNBOUNDED


def bootstrap(
    estimate: Estimate,
    sums: Floats,
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    replicates: int = DEFAULT_REPLICATES,
    word: str = "clusters",
    bounds: Bounds = UNBOUNDED,
    new_raters: RaterVariance | None = None,
    informative: int | None = None,
    biased: bool = False,
    added_variance: float = 0.0,
    counted: bool = True,
    unjudged: float | None = None,
) -> Estimate:
    """Add the 95 % interval of the cluster bootstrap to an estimate; with 0 ``replicates`` there is none.

    ``sums`` of shape (C, D) are the clusters' sums, of which ``statistic`` makes the estimate's value: it maps totals of
    shape (B, D) to B values. C clusters are drawn with replacement, ``replicates`` times; the interval is that of
    ``add_interval``, as are ``new_raters``, ``informative``, ``added_variance``, ``counted`` and ``unjudged``. Efron and Tibshirani (1993), chapter 13; clusters: Davison and Hinkley (1997), section 3.8.

    >>> sums = cluster_sums([[1, 0, 1, 1] * 5, [1, 1, 1, 1] * 5])
    >>> found = bootstrap(Estimate(0.75, n=20), sums, ratio, rng=np.random.default_rng(1), bounds=(0, 1))
    >>> round(found.low, 1), round(found.high, 1)
    (0.5, 0.9)
    """
    if not estimate.defined:
        return estimate
    values = statistic(resampled_totals(sums, replicates, rng))
    return add_interval(
        estimate,
        values,
        clusters=sums.shape[0],
        word=word,
        bounds=bounds,
        new_raters=new_raters,
        informative=informative,
        biased=biased,
        added_variance=added_variance,
        counted=counted,
        unjudged=unjudged,
    )


def bootstrap_mean(
    values: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    rng: np.random.Generator,
    replicates: int = DEFAULT_REPLICATES,
) -> Estimate:
    """Mean of the values that are not ``nan``, with its cluster bootstrap interval.

    ``values`` has shape (N,), ``clusters`` codes of shape (N,) or None; missing values are left out and counted. Values
    from 0 to 1 have a mean and an interval from 0 to 1.

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
    bounds = bounds_of(x[known], np.ones(int(known.sum())))
    return bootstrap(point, sums, ratio, rng=rng, replicates=replicates, bounds=bounds)
