"""The jackknife of Cohen's kappa over pairs of raters: each pair without each of the clusters that it shares.

A pair's kappa from few shared clusters is biased (the chance agreement is estimated from the same few labels), and an
average over many pairs keeps that bias while its spread all but vanishes. Percentiles of a bootstrap then lie
beside the truth, and even beside the estimate. Leaving clusters out pair by pair measures the bias and the spread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evaluation.agreement.cohen import PairwiseKappa
from evaluation.agreement.counts import cluster_codes, pairs_within
from evaluation.agreement.independent_units import IndependentUnits, interval_around, score_ends, two_labels
from evaluation.agreement.intervals import tried_labels
from evaluation.agreement.new_raters import NEW_RATERS, THESE_RATERS, RaterVariance
from evaluation.agreement.pairs import Weights, disagreement, pair_positions
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.interval import (
    LEAST_CLUSTERS,
    LEAST_PAIRS,
    LEAST_VARIED,
    LEVEL,
    SCORE_PART,
    SIGNED,
    one_more_part,
    too_alike,
    too_few,
    too_few_pairs,
    widened,
)
from evaluation.core.ratings_table import Codes, Floats, Ints, Ratings

#: With fewer shared clusters the bias of a pair's kappa can't be estimated.
LEAST_SHARED = 4
#: The most weight that such pairs may have in an average with an interval.
_MOST_FEW = 0.1
#: Cells (pair and cluster, label) worked on at once.
_BLOCK = 500_000
#: Up to this many raters a table of all pairs' numbers is made.
_NUMBERED_RATERS = 3_000


def _without_interval(estimate: Estimate, why: str) -> tuple[Estimate, Estimate]:
    """The estimate without an interval, and no corrected one."""
    return replace(estimate, interval=why), undefined(why.removeprefix("none: "), left_out=estimate.left_out)


@dataclass(frozen=True, eq=False)
class KappaJackknife:
    """What leaving clusters out of each averaged pair of ``kappas`` shows; arrays of shape (P,), P averaged pairs.

    ``shared`` counts the clusters that a pair shares, ``bias`` is the jackknife's estimate of the bias of its kappa and
    ``variance`` that of its variance (``nan`` where it shares one cluster only). ``pair``, ``cluster`` and ``deviation`` have
    an entry for each pair and cluster: squares of a pair's deviations add up to its variance. ``varied`` of the same shape
    says whether either rater gave the cluster another label than the pair's most frequent one. ``clusters`` of the study
    hold a rating. ``units`` of shape (P,) counts the units that a pair shares, ``labels`` those that were given. The square of ``one_more`` is what one unit more on which a pair agrees adds to its variance, with a label other than
    its most frequent one (root of the mean square, weighted by how often each was given): see :func:`evaluation.core.interval.one_more_part`.
    """

    kept: Ints
    shared: Ints
    bias: Floats
    variance: Floats
    pair: Codes
    cluster: Codes
    deviation: Floats
    varied: npt.NDArray[np.bool_]
    clusters: int
    one_more: Floats
    units: Ints
    labels: int
    two: IndependentUnits | None

    def add_interval(
        self,
        estimate: Estimate,
        weight: Floats,
        *,
        word: str = "clusters",
        new_raters: RaterVariance | None = None,
    ) -> tuple[Estimate, Estimate]:
        """An average of the pairs' kappas with its 95 % interval, for these raters and other clusters; and the average with its
        bias subtracted.

        ``weight`` of shape (P,) adds up to 1, 0 for pairs that are not in the average. The interval is a t interval on
        Fisher's scale around the corrected average, with the variance of one unit more added. It is the plain average's too if
        it includes that, which it does not if the bias is larger than about half its width. There is none where more than a tenth
        of the weight lies on pairs that share fewer than ``LEAST_SHARED`` clusters: their bias can't be estimated; where there are
        fewer than ``LEAST_PAIRS`` pairs of ratings with two labels; or where nearly all labels are the same (``evaluation.core.interval.too_alike``). With ``new_raters`` it is for other raters too.
        """
        if not estimate.defined:
            return estimate, undefined(estimate.reason, left_out=estimate.left_out)
        in_average = weight > 0
        touched = np.zeros(self.clusters, dtype=bool)
        touched[self.cluster[in_average[self.pair]]] = True
        found = int(touched.sum())
        if why := too_few(found, word):
            return _without_interval(estimate, why)
        few = in_average & (self.shared < LEAST_SHARED)
        if weight[few].sum() > _MOST_FEW:
            why = f"{int(few.sum())} of {int(in_average.sum())} pairs share fewer than {LEAST_SHARED} {word}"
            return _without_interval(estimate, f"none: {why}, too few to tell how biased their kappas are")
        varied = int(np.unique(self.cluster[self.varied & in_average[self.pair]]).size)
        if why := too_alike(varied, found, "each pair's most frequent one", word, LEAST_VARIED):
            return _without_interval(estimate, why)
        if why := too_few_pairs(int(self.units[in_average].sum()), self.labels):
            return _without_interval(estimate, why)
        variance = self.variance_of_mean(weight)
        if variance <= 1e-24:
            return _without_interval(estimate, f"none: the {word} do not vary")
        bias = float(weight @ np.nan_to_num(self.bias))
        # Pairs with a simulator alone may have a lower mean than all pairs can.
        two = self.two if new_raters is None and in_average.all() else None
        part = SCORE_PART if two is not None else 1.0
        variance, degrees = widened(variance, part * self.variance_of_one_more(weight, found), found - 1)
        whose = THESE_RATERS
        if new_raters is not None:
            if not new_raters.known:
                return _without_interval(estimate, new_raters.none)
            variance, degrees = new_raters.added_to(variance, degrees)
            whose = NEW_RATERS
        centre = min(max(estimate.value - bias, -1.0), 1.0)
        low, high, kind = interval_around(centre, variance**0.5, degrees_of_freedom=degrees, two=two)
        how = (
            f"95 % jackknife {kind} interval over {found} {word}, {whose}; bias {bias:+.4f} subtracted, "
            "variance of one unit more added"
        )
        corrected = replace(estimate, value=centre, low=low, high=high, interval=how)
        if low <= estimate.value <= high:
            return replace(estimate, low=low, high=high, interval=how), corrected
        why = (
            f"none: the bias of {bias:+.4f}, of pairs that share few {word}, is larger than half the width of an interval; "
            f"corrected it is {centre:.3f} [{low:.3f}, {high:.3f}], and alpha and Conger's kappa have no such bias"
        )
        return replace(estimate, interval=why), corrected

    def pair_intervals(self, kappas: PairwiseKappa) -> Floats:
        """Shape (pairs of ``kappas``, 2): each pair's own interval, ``nan`` where it is not averaged or shares too little."""
        from scipy.special import stdtrit  # imported late: it takes 5 MB

        bounds = np.full((len(kappas), 2), np.nan)
        value = kappas.kappa[self.kept]
        variance = self.variance + self.one_more**2 * (SCORE_PART if self.two is not None else 1.0)
        error = np.sqrt(variance)
        varied = np.bincount(self.pair[self.varied], minlength=self.kept.size)
        enough = (self.shared >= LEAST_CLUSTERS) & (self.variance > 1e-24)
        enough &= varied >= np.minimum(LEAST_VARIED, -(-self.shared // 3))
        enough &= (self.labels > 2) | (self.units >= LEAST_PAIRS)
        centre = np.clip(value - np.nan_to_num(self.bias), -1.0, 1.0)
        inside = enough & (np.abs(centre) < 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            degrees = np.maximum((self.shared - 1) * (variance / self.variance) ** 2, 1)
            half = stdtrit(degrees, (1 + LEVEL) / 2) * error
            reach, z = half / (1 - centre**2), np.arctanh(centre)
            within = np.tanh(np.stack([z - reach, z + reach]))
            if self.two is not None:
                within = score_ends(centre, error, SIGNED)
            ends = np.where(inside, within, np.clip([centre - half, centre + half], -1, 1))
        low, high = np.minimum(ends[0], value), np.maximum(ends[1], value)
        bounds[self.kept[enough]] = np.stack([low, high], axis=1)[enough]
        return bounds

    def variance_of_mean(self, weight: Floats) -> float:
        """Variance of ``sum_p weight_p kappa_p``: deviations add up within a cluster, squares over clusters."""
        sums = np.bincount(self.cluster, weights=weight[self.pair] * self.deviation, minlength=self.clusters)
        return float(sums @ sums)

    def variance_of_one_more(self, weight: Floats, found: int) -> float:
        """What one unit more adds to the variance of an average, for the pairs of one of the ``found`` clusters of the average."""
        change = np.bincount(
            self.cluster, weights=(weight * self.one_more)[self.pair], minlength=self.clusters
        )
        return float(change @ change) / found

    def deviations_of_means(self, weights: Floats) -> Floats:
        """The same of several averages, weights of shape (G, P), before squaring: shape (G, clusters)."""
        shape = (len(self.kept), self.clusters)
        table = sparse.csr_array((self.deviation, (self.pair, self.cluster)), shape=shape)
        return np.asarray(weights @ table, dtype=np.float64)


def jackknife_kappas(ratings: Ratings, kappas: PairwiseKappa) -> KappaJackknife:
    """Leave each cluster (each unit, where the table has no clusters) out of each averaged pair that shares it.

    With kappa_p the kappa of pair p, kappa_pc the same without cluster c, and the C_p clusters that p shares::

        bias_p = (C_p - 1) (mean_c kappa_pc - kappa_p)
        deviation_pc = sqrt((C_p - 1) / C_p) (kappa_pc - mean_c kappa_pc),  variance_p = sum_c deviation_pc^2

    A kappa_pc that is not defined is taken as the mean of the others. Efron and Tibshirani (1993), chapter 11.
    """
    codes, clusters = cluster_codes(ratings)
    kept = np.flatnonzero(kappas.averaged)
    pair, cluster, row, column = _records(ratings, kappas, kept, codes, clusters)
    starts = np.append(True, (pair[1:] != pair[:-1]) | (cluster[1:] != cluster[:-1]))[: pair.size]
    first = np.flatnonzero(starts)
    of_pair, of_cluster = (pair, cluster) if starts.all() else (pair[first], cluster[first])
    x = pair_positions(ratings, kappas.weights)
    without, varied, filled = np.empty(first.size), np.empty(first.size, dtype=bool), 0
    one_more = []
    given = np.bincount(ratings.value, minlength=x.size)
    for part, other, change in _without_each(
        pair, row, column, first=first, pairs=kept.size, x=x, given=given, weights=kappas.weights
    ):
        without[filled : filled + part.size] = part
        varied[filled : filled + part.size] = other
        filled += part.size
        one_more.append(change)
    del row, column, first, starts
    shared = np.bincount(of_pair, minlength=kept.size)
    known = ~np.isnan(without)
    counted = np.bincount(of_pair[known], minlength=kept.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(of_pair[known], weights=without[known], minlength=kept.size) / counted
        bias = np.where(counted > 1, (shared - 1) * (mean - kappas.kappa[kept]), np.nan)
        spread = np.sqrt((shared - 1) / shared)
    deviation = np.where(known, spread[of_pair] * (without - mean[of_pair]), 0.0)
    squares: Floats = np.bincount(of_pair, weights=deviation * deviation, minlength=kept.size).astype(
        np.float64
    )
    variance: Floats = np.where(counted > 1, squares, np.nan)
    return KappaJackknife(
        kept=kept,
        shared=shared,
        bias=bias,
        variance=variance,
        pair=of_pair,
        cluster=of_cluster,
        deviation=deviation,
        varied=varied,
        clusters=clusters,
        one_more=np.concatenate(one_more) if one_more else np.zeros(0),
        units=kappas.sums.n[kept].astype(np.int64),
        labels=int((given > 0).sum()),
        two=two_labels(ratings) if kappas.weights == "nominal" else None,
    )


Records = tuple[Codes, Codes, Any, Any]


def _records(ratings: Ratings, kappas: PairwiseKappa, kept: Ints, codes: Ints, groups: int) -> Records:
    """Every unit that an averaged pair shares, once per pair: the pair's number, the unit's cluster, both labels.

    In order of pair, then cluster. Each is packed into one integer and sorted so, which takes half the memory of
    columns and their order; there are millions.
    """
    grouped, raters = ratings.grouped, len(ratings.raters)
    clusters = codes.astype(np.int32)
    keys = kappas.sums.a[kept].astype(np.int64) * raters + kappas.sums.b[kept]
    number = np.full(raters * raters, -1, dtype=np.int32) if raters <= _NUMBERED_RATERS else None
    if number is not None:
        number[keys] = np.arange(keys.size)
    widths = [int(max(size - 1, 0)).bit_length() for size in (kept.size, groups, len(ratings.labels))]
    if widths[0] + widths[1] + 2 * widths[2] > 63:
        raise ValueError("ratings: too many pairs, clusters and labels for a jackknife")
    parts: list[Ints] = []
    for i, j in pairs_within(grouped.start) if keys.size else ():
        key = grouped.rater[i].astype(np.int64) * raters + grouped.rater[j]
        if number is not None:
            at = number[key]
        else:
            at = np.minimum(np.searchsorted(keys, key), keys.size - 1).astype(np.int32)
            at[keys[at] != key] = -1
        found = at >= 0
        i, j = i[found], j[found]
        key = at[found].astype(np.int64)
        for width, column in (
            (widths[1], clusters[grouped.unit[i]]),
            (widths[2], grouped.value[i]),
            (widths[2], grouped.value[j]),
        ):
            key <<= width
            key |= column
        parts.append(key)
    packed = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    del parts
    packed.sort()
    label: Any = np.uint8 if len(ratings.labels) <= 256 else np.int32
    last = (1 << widths[2]) - 1
    column = (packed & last).astype(label)
    packed >>= widths[2]
    row = (packed & last).astype(label)
    packed >>= widths[2]
    cluster = (packed & ((1 << widths[1]) - 1)).astype(np.int32)
    packed >>= widths[1]
    return packed.astype(np.int32), cluster, row, column


def _without_each(
    pair: Codes,
    row: Codes,
    column: Codes,
    *,
    first: Ints,
    pairs: int,
    x: Floats,
    given: Ints,
    weights: Weights,
) -> Iterator[tuple[Floats, npt.NDArray[np.bool_], Floats]]:
    """Kappa of each pair without each of its clusters, in the order of ``first``, and whether the cluster has another label
    than the pair's most frequent one; a block of whole pairs at a time. And how much one unit more would change each pair's kappa."""
    labels = max(x.size, 1)
    order = np.argsort(x, kind="stable")
    place = np.empty(x.size, dtype=np.int64)
    place[order] = np.arange(x.size)
    at = x[order]
    starts = np.searchsorted(pair, np.arange(pairs + 1))  # first record of each pair
    begin = 0
    while begin < pairs:
        room = max(_BLOCK // labels, 1)
        end = max(begin + 1, int(np.searchsorted(starts, starts[begin] + room, side="right")) - 1)
        rows = slice(starts[begin], starts[end])
        groups = first[np.searchsorted(first, starts[begin]) : np.searchsorted(first, starts[end])]
        yield _block(
            (pair[rows] - begin).astype(np.int64),
            place[row[rows]],
            place[column[rows]],
            first=groups - starts[begin],
            pairs=end - begin,
            x=at,
            given=given[order],
            weights=weights,
        )
        begin = end


def _block(
    pair: Ints,
    row: Ints,
    column: Ints,
    *,
    first: Ints,
    pairs: int,
    x: Floats,
    given: Ints,
    weights: Weights,
) -> tuple[Floats, npt.NDArray[np.bool_], Floats]:
    labels, groups = x.size, first.size
    group = np.zeros(pair.size, dtype=np.int64)
    group[first[1:]] = 1
    group = np.cumsum(group)
    weight = disagreement(x[row], x[column], weights)
    of_pair = pair[first]

    def table(codes: Ints, values: Ints, size: int) -> Floats:
        flat = np.bincount(codes * labels + values, minlength=size * labels)
        return flat.reshape(size, labels).astype(np.float64)

    of_row, of_column = table(pair, row, pairs), table(pair, column, pairs)
    most = (of_row + of_column).argmax(axis=1)
    frequent = most[pair]
    varied = np.bincount(group, weights=(row != frequent) | (column != frequent), minlength=groups) > 0
    r = of_row[of_pair] - table(group, row, groups)
    c = of_column[of_pair] - table(group, column, groups)
    whole = np.bincount(pair, weights=weight, minlength=pairs).astype(np.float64)
    one_more = _change_by_one_more(of_row, of_column, whole, most=most, given=given, x=x, weights=weights)
    observed = whole[of_pair]
    observed -= np.bincount(group, weights=weight, minlength=groups)
    n = r.sum(axis=1)
    expected = _expected(r, c, n, x, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 1e-9 * n * n, 1.0 - n * observed / expected, np.nan), varied, one_more


def _change_by_one_more(
    r: Floats,
    c: Floats,
    observed: Floats,
    *,
    most: Ints,
    given: Ints,
    x: Floats,
    weights: Weights,
) -> Floats:
    """Shape (pairs,): what one unit more on which both raters agree adds to the deviations of kappa: the root of ``one_more_part``
    of the mean square of the changes.

    ``r`` and ``c`` of shape (pairs, labels) are the margins of the pairs' tables, ``most`` the label that is left out of each;
    the others weigh as much as they were ``given``.
    """
    n = r.sum(axis=1)
    squares, tried = np.zeros(n.size), np.zeros(n.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = 1.0 - n * observed / _expected(r, c, n, x, weights)
        for label in tried_labels(given > 0, -1).tolist():
            r[:, label] += 1
            c[:, label] += 1
            changed = 1.0 - (n + 1) * observed / _expected(r, c, n + 1, x, weights)
            r[:, label] -= 1
            c[:, label] -= 1
            weight = np.where((most != label) & np.isfinite(changed), float(given[label]), 0.0)
            squares += np.where(weight > 0, weight * (changed - kappa) ** 2, 0.0)
            tried += weight
    agreed = 1.0 - np.divide(observed, n, out=np.zeros(n.size), where=n > 0)
    part = [one_more_part(share, nominal=weights == "nominal") for share in agreed.tolist()]
    return np.sqrt(np.array(part) * np.divide(squares, tried, out=np.zeros(n.size), where=tried > 0))


def _expected(r: Floats, c: Floats, n: Floats, x: Floats, weights: Weights) -> Floats:
    """``sum_ij w_ij r_i c_j`` of tables' margins, shape (groups, labels); positions ``x`` in ascending order."""
    if weights == "nominal":
        return n * n - (r * c).sum(axis=1)
    if weights == "quadratic":
        return n * ((r + c) @ (x * x)) - 2.0 * (r @ x) * (c @ x)
    below_r, below_c = np.cumsum(r, axis=1)[:, :-1], np.cumsum(c, axis=1)[:, :-1]
    across = below_r * (n[:, None] - below_c) + below_c * (n[:, None] - below_r)
    return across @ np.diff(x)
