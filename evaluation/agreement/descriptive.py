"""Summaries of raters' labels, shown beside their agreement: means and medians of numbers, and each unit's distribution of labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from evaluation.agreement.bootstrap import (
    DEFAULT_REPLICATES,
    LEAST_REPLICATES,
    bootstrap,
    cluster_sums,
    draw_counts,
    ratio,
    resampled_totals,
)
from evaluation.agreement.counts import cluster_codes, count_units
from evaluation.agreement.new_raters import RaterVariance, leave_groups_out
from evaluation.core.estimate import NOT_ASKED, Estimate, none_if_nan, undefined
from evaluation.core.interval import SHARE, UNBOUNDED, too_few
from evaluation.core.ratings_table import Floats, Ints, Ratings

NO_RATING = "there are no ratings"
#: Cells (replicate, label) worked on at once.
_CELLS = 4_000_000
#: Up to this many labels their counts are summed up by cluster first.
_FEW_LABELS = 64


def mean_label(
    ratings: Ratings,
    *,
    rng: np.random.Generator | None = None,
    replicates: int = DEFAULT_REPLICATES,
    new_raters: RaterVariance | None = None,
) -> Estimate:
    """Mean of the ratings' numbers (``Ratings.amounts``: scores, values, or the ranks of ordinal labels from 1).

    Every rating counts once. With ``rng``, the interval draws whole clusters (units, where the table has none) and lies
    between the least and the greatest label of the table; with ``new_raters`` it is for other raters too. ``n`` is the number of ratings. ``ValueError`` for nominal labels without scores.

    >>> table = Ratings.from_rows([("a", "u", "1"), ("b", "u", "2"), ("a", "v", "6")], level="interval")
    >>> mean_label(table).value
    3.0
    """
    numbers = ratings.amounts
    if not len(ratings):
        return undefined(NO_RATING)
    values = numbers[ratings.value]
    if rng is None or not replicates:
        return Estimate(float(values.mean()), n=len(ratings))
    codes, _ = cluster_codes(ratings)
    bounds = (float(numbers.min()), float(numbers.max()))
    found = bootstrap(
        Estimate(float(values.mean()), n=len(ratings)),
        cluster_sums([values, np.ones(values.size)], codes[ratings.unit]),
        ratio,
        rng=rng,
        replicates=replicates,
        word="units" if ratings.clusters is None else "instances",
        bounds=SHARE if bounds == SHARE else UNBOUNDED,
        new_raters=new_raters,
    )
    # A mean of labels lies between the least and the greatest label that there is.
    return replace(found, low=max(found.low, bounds[0]), high=min(found.high, bounds[1]))


def mean_without_groups(ratings: Ratings, group: Ints) -> tuple[float, Floats]:
    """The mean label, and its values without each group of clusters; ``group`` of shape (units,) holds each unit's group."""
    values, groups = ratings.amounts[ratings.value], int(group.max(initial=-1)) + 1
    of_rating = group[ratings.unit]
    sums = [np.bincount(of_rating, weights=w, minlength=groups) for w in (values, np.ones(values.size))]
    return leave_groups_out(np.stack(sums, axis=1).astype(np.float64), ratio)


def median_label(
    ratings: Ratings, *, rng: np.random.Generator | None = None, replicates: int = DEFAULT_REPLICATES
) -> Estimate:
    """Median of the ratings' numbers; of an even number of ratings, the mean of the two in the middle.

    With ``rng``, the interval holds the middle 95 % of the medians of resampled clusters, and the median itself. ``n`` and
    errors are those of :func:`mean_label`. Efron and Tibshirani (1993), section 13.3.

    >>> table = Ratings.from_rows([("a", "u", "1"), ("b", "u", "2"), ("a", "v", "6")], level="interval")
    >>> median_label(table).value
    2.0
    """
    numbers = ratings.amounts
    if not len(ratings):
        return undefined(NO_RATING)
    order = np.argsort(numbers, kind="stable")
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    at = numbers[order]
    label = place[ratings.value]
    counts = np.bincount(label, minlength=at.size).astype(np.float64)
    point = Estimate(float(_medians(counts[None], at)[0]), n=len(ratings))
    if rng is None or not replicates:
        return replace(point, interval=NOT_ASKED) if rng is not None else point
    codes, clusters = cluster_codes(ratings)
    word = "units" if ratings.clusters is None else "instances"
    if replicates < LEAST_REPLICATES:
        return replace(point, interval=f"none: at least {LEAST_REPLICATES} replicates are needed")
    if why := too_few(clusters, word):
        return replace(point, interval=why)
    cluster = codes[ratings.unit]
    if at.size <= _FEW_LABELS:
        sums = np.bincount(cluster * at.size + label, minlength=clusters * at.size)
        totals = resampled_totals(sums.reshape(clusters, at.size).astype(np.float64), replicates, rng)
        drawn = _medians(totals, at)
    else:
        table = sparse.csr_array((np.ones(len(ratings)), (cluster, label)), shape=(clusters, at.size))
        batch = max(1, _CELLS // max(clusters, at.size))
        counted = draw_counts(clusters, replicates, rng, batch=batch)
        drawn = np.concatenate([_medians(np.asarray(times @ table), at) for times in counted])
    low, high = np.quantile(drawn, [0.025, 0.975], method="inverted_cdf")
    return replace(
        point,
        low=min(float(low), point.value),
        high=max(float(high), point.value),
        interval=f"95 % percentile interval, {replicates} replicates of {clusters} {word}",
    )


def label_near(labels: Sequence[str], rank: float) -> str:
    """The label with this rank, from 1; both labels if a median lies between two.

    >>> label_near(["low", "middle", "high"], 2.0), label_near(["low", "middle", "high"], 2.5)
    ('middle', 'middle to high')
    """
    if np.isnan(rank):
        return ""
    below, above = labels[int(np.floor(rank)) - 1], labels[int(np.ceil(rank)) - 1]
    return below if below == above else f"{below} to {above}"


def _medians(counts: Floats, at: Floats) -> Floats:
    """Shape (B,): medians of B tables of counts over ascending positions."""
    running = np.cumsum(counts, axis=1)
    total = running[:, -1]
    lower = (running < (total / 2)[:, None]).sum(axis=1)
    upper = (running <= (total / 2)[:, None]).sum(axis=1)
    last = at.size - 1
    return np.asarray((at[np.minimum(lower, last)] + at[np.minimum(upper, last)]) / 2, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class UnitDistributions:
    """Each rated unit's ratings as a distribution (soft label): arrays in the order of ``units``.

    ``unit`` are codes of shape (U,), ``ratings`` counts them, ``entropy`` is in bits, ``mean`` and ``median`` are nan where labels
    aren't numbers. ``shares`` of shape (U, labels) is a sparse table.
    """

    units: Sequence[str]
    labels: tuple[str, ...]
    unit: Ints
    ratings: Ints
    entropy: Floats
    mean: Floats
    shares: Any

    def rows(self) -> Iterator[dict[str, Any]]:
        """One JSON object per unit; labels that nobody gave it are left out."""
        for row, unit in enumerate(self.unit.tolist()):
            part = self.shares[[row], :].tocoo()
            yield {
                "unit": self.units[unit],
                "ratings": int(self.ratings[row]),
                "entropy": float(self.entropy[row]),
                "mean": none_if_nan(float(self.mean[row])),
                "labels": {self.labels[c]: float(v) for c, v in zip(part.coords[1], part.data, strict=True)},
            }


def unit_distributions(ratings: Ratings) -> UnitDistributions:
    """The share of each label among a unit's ratings, and its entropy ``-sum_k p_k log2 p_k`` in bits.

    0 where all raters gave one label, ``log2 m`` where m raters gave m different ones. Units that nobody rated are not
    listed. ``mean`` is the mean of the labels' numbers where they have any.

    >>> found = unit_distributions(Ratings.from_rows([("a", "u", "yes"), ("b", "u", "no"), ("a", "v", "yes")]))
    >>> found.entropy.tolist()
    [1.0, 0.0]
    """
    counts = count_units(ratings)
    rated = np.flatnonzero(counts.sizes)
    place = np.full(counts.sizes.size, -1, dtype=np.int32)
    place[rated] = np.arange(rated.size)
    row = place[counts.unit]
    share = counts.count / counts.sizes[counts.unit]
    bits = np.log2(share)
    bits *= share
    entropy = np.bincount(row, weights=np.negative(bits, out=bits), minlength=rated.size)
    del bits
    mean = np.full(rated.size, np.nan)
    if ratings.level != "nominal" or (ratings.labels and set(ratings.labels) <= set(ratings.scores)):
        mean = np.bincount(row, weights=share * ratings.amounts[counts.label], minlength=rated.size)
    sizes, cells = counts.sizes[rated], (row, counts.label.astype(np.int32))
    del counts, row, place
    shares = sparse.csr_array((share, cells), shape=(rated.size, max(len(ratings.labels), 1)))
    return UnitDistributions(
        ratings.units,
        ratings.labels,
        rated,
        sizes,
        np.maximum(entropy, 0.0),
        mean,
        shares,
    )
