"""Conger's kappa: several raters with label frequencies of their own, missing ratings allowed, with a jackknife interval.

A mean of pairwise kappas needs pairs that share enough units. Conger's kappa compares all pairs of ratings of a unit at once, and
takes chance agreement from how often each rater gave each label on all of their units, so it is defined, and has an
interval, where few of many raters judge each explanation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evaluation.agreement.counts import cluster_codes, count_units, varied_clusters
from evaluation.agreement.independent_units import interval_around, two_labels
from evaluation.agreement.intervals import tried_labels
from evaluation.agreement.krippendorff import ALL_SAME, NO_PAIR
from evaluation.agreement.new_raters import NEW_RATERS, THESE_RATERS, RaterVariance, variance_over_raters
from evaluation.agreement.pairs import Weights, pair_positions
from evaluation.agreement.percent import left_out_units
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.interval import (
    LEAST_VARIED,
    SCORE_PART,
    one_more_part,
    too_alike,
    too_few,
    widened,
)
from evaluation.core.ratings_table import Codes, Floats, Ints, Ratings

#: What the statistic is called in results, by weights.
NAMES: dict[Weights, str] = {
    "nominal": "conger_kappa",
    "linear": "conger_kappa_linear",
    "quadratic": "conger_kappa_quadratic",
}
#: Cells (rater and cluster, label) worked on at once.
_BLOCK = 2_000_000
#: A larger table of raters by labels is not made.
_MOST_CELLS = 50_000_000
#: If more of the values without a cluster than this share are undefined, no interval is given.
_MOST_UNDEFINED = 0.05


def conger_kappa(
    ratings: Ratings,
    *,
    weights: Weights = "nominal",
    intervals: bool = False,
    new_raters: bool = False,
) -> Estimate:
    """Agreement beyond chance of several raters, each with label frequencies of their own; ratings may be missing.

    ``kappa = 1 - Do / De`` with the weight w of a disagreement (:func:`evaluation.agreement.cohen.cohen_kappa`), m_u ratings of
    unit u, and p_g the shares of labels among all ratings of rater g, of R raters::

        Do = mean over units with m_u >= 2 of [ sum over pairs i != j of its ratings of w(i, j) / (m_u (m_u - 1)) ]
        De = mean over the R (R - 1) ordered pairs of raters g != h of sum_kl w_kl p_gk p_hl

    With two raters and nothing missing it is Cohen's kappa. At most 1. ``n`` is the number of units with two ratings or more; units
    with one count in p_g only, and are counted as left out. Undefined where no unit has two ratings, and where all labels are the
    same. Conger (1980); Gwet (2014), chapter 2, with missing ratings as R's irrCAC has it (``conger.kappa.raw``).

    With ``intervals``, a 95 % t interval on Fisher's scale from the jackknife over clusters, for these raters; with
    ``new_raters`` for other raters too. Its centre is the value without the jackknife's bias, and its variance includes that of one
    unit more, as for alpha. There is none for the reasons that alpha has none.

    >>> rows = [("a", "u", "yes"), ("b", "u", "yes"), ("a", "v", "no"), ("b", "v", "yes"), ("c", "v", "no")]
    >>> round(conger_kappa(Ratings.from_rows(rows)).value, 4)  # Do = 1/3, De = (1/2 + 1/2 + 1) / 3
    0.5
    """
    counts = count_units(ratings)
    left_out = left_out_units(counts)
    n = int((counts.sizes >= 2).sum())
    if not n:
        return undefined(NO_PAIR, left_out=left_out)
    if len(ratings.raters) * len(ratings.labels) > _MOST_CELLS:
        return undefined("there are too many raters and labels", n=n, left_out=left_out)
    table = _Table(ratings, weights)
    if table.constant:
        return undefined(ALL_SAME, n=n, left_out=left_out)
    estimate = Estimate(table.kappa, n=n, left_out=left_out)
    if not intervals:
        return estimate
    others: RaterVariance | None = None
    if new_raters:
        found = variance_over_raters(ratings, lambda part, group: _without_groups(part, group, weights))
        others = found["conger_kappa"]
    return _with_interval(estimate, ratings, table, others)


def conger_estimates(ratings: Ratings, *, intervals: bool, new_raters: bool) -> dict[str, Estimate]:
    """Conger's kappa by name: ``conger_kappa`` and, where labels have an order, ``conger_kappa_linear`` and ``_quadratic``."""
    kinds: tuple[Weights, ...] = ("nominal",) if ratings.level == "nominal" else tuple(NAMES)
    return {
        NAMES[kind]: conger_kappa(ratings, weights=kind, intervals=intervals, new_raters=new_raters)
        for kind in kinds
    }


def _with_interval(
    estimate: Estimate, ratings: Ratings, table: _Table, new_raters: RaterVariance | None
) -> Estimate:
    word = "units" if ratings.clusters is None else "instances"
    codes, clusters = cluster_codes(ratings)
    found = np.unique(codes[ratings.grouped.sizes >= 2]).size
    varied, label = varied_clusters(ratings, codes)
    why = too_few(found, word) or too_alike(varied, found, repr(label), word, LEAST_VARIED)
    if why:
        return replace(estimate, interval=why)
    without = table.without_groups(codes, clusters)
    known = without[~np.isnan(without)]
    if clusters - known.size > _MOST_UNDEFINED * clusters:
        why = f"none: undefined without {clusters - known.size} of {clusters} {word}"
        return replace(estimate, interval=why)
    bias = (clusters - 1) * (float(known.mean()) - estimate.value)
    variance = (clusters - 1) * float(known.var())
    if variance <= 1e-24:
        return replace(estimate, interval=f"none: the {word} do not vary")
    two = two_labels(ratings) if table.nominal and new_raters is None else None
    part = SCORE_PART if two is not None else 1.0
    variance, degrees = widened(variance, part * table.variance_of_one_more(), found - 1)
    whose = THESE_RATERS
    if new_raters is not None:
        if not new_raters.known:
            return replace(estimate, interval=new_raters.none)
        variance, degrees = new_raters.added_to(variance, degrees)
        whose = NEW_RATERS
    centre = min(max(estimate.value - bias, -1.0), 1.0)
    low, high, kind = interval_around(centre, variance**0.5, degrees_of_freedom=degrees, two=two)
    if not low <= estimate.value <= high:
        why = (
            f"none: the bias of {bias:+.4f}, from few {word}, is larger than half the width of an interval; "
            f"corrected it is {centre:.3f} [{low:.3f}, {high:.3f}]"
        )
        return replace(estimate, interval=why)
    how = (
        f"95 % jackknife {kind} interval over {found} {word}, {whose}; bias {bias:+.4f} subtracted, "
        "variance of one unit more added"
    )
    return replace(estimate, low=low, high=high, interval=how)


def _without_groups(
    ratings: Ratings, group: Ints, weights: Weights
) -> tuple[dict[str, float], dict[str, Floats]]:
    """The value, and the values without each group of clusters, for ``variance_over_raters``."""
    table = _Table(ratings, weights)
    groups = int(group.max(initial=-1)) + 1
    return {"conger_kappa": table.kappa}, {"conger_kappa": table.without_groups(group, groups)}


class _Labels:
    """The labels as features that make every sum of disagreements a sum over raters, never one over pairs of raters::

        w(k, l) = a_k + a_l - sum_j c_j b_kj b_lj

    nominal: a = 1/2, b_k has a 1 at label k, c = 1; quadratic: a = x^2, b = x, c = 2; linear: b_kj says whether label k lies below gap
    j of neighbouring positions, c_j is twice the gap, and a the sum of gaps above k.
    """

    def __init__(self, x: Floats, weights: Weights) -> None:
        self.weights = weights
        self.size = max(x.size, 1)
        self.order = np.argsort(x, kind="stable")
        self.x = x - x.mean() if x.size else x
        self.gaps = np.diff(x[self.order])
        self.c = {
            "nominal": np.ones(self.size),
            "quadratic": np.full(1, 2.0),
            "linear": 2.0 * self.gaps,
        }[weights]

    def sums(self, rows: Ints | Codes, values: Codes, size: int) -> tuple[Floats, Floats]:
        """Sums of a of shape (size,) and of b of shape (size, K) over ratings of some values, by row."""
        if self.weights == "quadratic":
            at = self.x[values]
            squares = np.bincount(rows, weights=at * at, minlength=size).astype(np.float64)
            return squares, np.bincount(rows, weights=at, minlength=size).astype(np.float64)[:, None]
        keys = np.asarray(rows, dtype=np.int64) * self.size + values
        table = np.bincount(keys, minlength=size * self.size).reshape(size, self.size).astype(np.float64)
        if self.weights == "nominal":
            return table.sum(axis=1) / 2.0, table
        below = np.cumsum(table[:, self.order], axis=1)[:, :-1]
        return below @ self.gaps, below

    def inner(self, b: Floats) -> Floats:
        """``sum_j c_j b_j^2`` of each row."""
        return np.asarray((b * b) @ self.c, dtype=np.float64)


@dataclass(frozen=True)
class _Margins:
    """What De is made of: ``raters`` with a rating, and sums over them of a_g, b_g and ``sum_j c_j b_gj^2`` (see ``_Labels``)."""

    raters: Floats
    a: Floats
    b_inner: Floats
    own: Floats

    def expected(self) -> Floats:
        pairs = self.raters * (self.raters - 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((2 * (self.raters - 1) * self.a - (self.b_inner - self.own)) / pairs)


class _Table:
    """A ratings table's Do and De, and both without some of its ratings."""

    def __init__(self, ratings: Ratings, weights: Weights) -> None:
        self.ratings, self.nominal = ratings, weights == "nominal"
        positions = pair_positions(ratings, weights)
        self.labels = _Labels(positions, weights)
        raters = len(ratings.raters)
        self.given = np.bincount(ratings.rater, minlength=raters).astype(np.float64)
        self.constant = np.unique(positions[np.unique(ratings.value)]).size < 2
        a, b = self.labels.sums(ratings.rater, ratings.value, raters)
        known = np.maximum(self.given, 1.0)
        self.a, self.b = a / known, b / known[:, None]
        self.own = self.labels.inner(self.b)
        self.sizes = ratings.grouped.sizes
        self.disagreement = self._of_units()
        self.observed = float(self.disagreement.sum())
        self.units = int((self.sizes >= 2).sum())

    def _of_units(self) -> Floats:
        """Shape (units,): mean disagreement of the pairs of a unit's ratings, 0 where it has no pair."""
        grouped, units = self.ratings.grouped, self.sizes.size
        found = np.zeros(units)
        step = max(1, _BLOCK // self.labels.size)
        for start in range(0, units, step):
            end = min(start + step, units)
            rows = slice(grouped.start[start], grouped.start[end])
            a, b = self.labels.sums(grouped.unit[rows] - start, grouped.value[rows], end - start)
            m = self.sizes[start:end]
            total = np.maximum(2.0 * m * a - self.labels.inner(b), 0.0)
            found[start:end] = np.divide(total, m * (m - 1), out=np.zeros(m.size), where=m >= 2)
        return found

    @cached_property
    def kappa(self) -> float:
        sum_b = self.b.sum(axis=0)
        margins = _Margins(
            np.array(float(np.count_nonzero(self.given))),
            self.a.sum(),
            self.labels.inner(sum_b),
            self.own.sum(),
        )
        return float(self._kappa(np.array(self.observed), np.array(float(self.units)), margins))

    def _kappa(self, observed: Floats, units: Floats, margins: _Margins) -> Floats:
        expected = margins.expected()
        with np.errstate(invalid="ignore", divide="ignore"):
            value = 1.0 - (observed / units) / expected
        tiny = 1e-12 * max(float(np.ptp(self.labels.x)) if not self.nominal else 1.0, 1e-300)
        return np.asarray(np.where((units > 0) & (expected > tiny), value, np.nan))

    def without_groups(self, group: Ints, groups: int) -> Floats:
        """Shape (groups,): kappa without the units of each group; ``group`` of shape (units,), -1 for none."""
        grouped, raters = self.ratings.grouped, len(self.ratings.raters)
        of_rating = group[grouped.unit]
        kept = of_rating >= 0
        key = of_rating[kept] * raters + grouped.rater[kept]
        order = np.argsort(key, kind="stable")
        key, value = key[order], grouped.value[kept][order]
        starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))[: key.size]
        cells = key[starts]
        of_cell = np.repeat(np.arange(cells.size), np.diff(starts, append=key.size))
        first = np.searchsorted(cells // raters, np.arange(groups + 1))
        parts, begin = [], 0
        room = max(_BLOCK // self.labels.size, 1)
        while begin < groups:
            end = max(begin + 1, int(np.searchsorted(first, first[begin] + room, side="right")) - 1)
            here = slice(first[begin], first[end])
            inside = slice(*np.searchsorted(of_cell, (first[begin], first[end])))
            parts.append(
                self._margins_without(
                    cells[here] // raters - begin,
                    cells[here] % raters,
                    of_cell[inside] - first[begin],
                    value[inside],
                    end - begin,
                )
            )
            begin = end
        if not parts:
            return np.zeros(0)
        margins = _Margins(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        used = group >= 0
        observed, units = (
            np.bincount(group[used], weights=weights[used], minlength=groups).astype(np.float64)
            for weights in (self.disagreement, (self.sizes >= 2).astype(np.float64))
        )
        return self._kappa(self.observed - observed, self.units - units, margins)

    def _margins_without(
        self, group: Ints, rater: Ints, of_cell: Ints, value: Codes, groups: int
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """The fields of ``_Margins`` without each of some groups, whose cells (group, rater) hold the given values."""
        a, b = self.labels.sums(of_cell, value, group.size)
        given = np.bincount(of_cell, minlength=group.size)
        before = self.given[rater]
        left = before - given
        with np.errstate(invalid="ignore", divide="ignore"):
            new_a = np.where(left > 0, (self.a[rater] * before - a) / left, 0.0)
            new_b = np.where((left > 0)[:, None], (self.b[rater] * before[:, None] - b) / left[:, None], 0.0)

        def changed(values: Floats) -> Floats:
            return np.bincount(group, weights=values, minlength=groups).astype(np.float64)

        first = np.searchsorted(group, np.arange(groups))
        empty = np.diff(first, append=group.size) == 0
        change_b = np.zeros((groups, b.shape[1]))
        if group.size:
            change_b[~empty] = np.add.reduceat(new_b - self.b[rater], first[~empty], axis=0)
        return (
            np.count_nonzero(self.given) - changed((left == 0).astype(np.float64)),
            self.a.sum() + changed(new_a - self.a[rater]),
            self.labels.inner(self.b.sum(axis=0) + change_b),
            self.own.sum() + changed(self.labels.inner(new_b) - self.own[rater]),
        )

    def variance_of_one_more(self) -> float:
        """What one unit more, on which its raters agree, adds to the variance (:func:`evaluation.core.interval.one_more_part`).

        It has the mean number m of raters, any of the R alike: each rater's frequencies change by the m / R-th part of a rating.
        """
        used = self.given > 0
        counts = np.bincount(self.ratings.value, minlength=self.labels.size)
        labels = tried_labels(counts > 0, int(counts.argmax()))
        if not labels.size:
            return 0.0
        size = np.arange(labels.size)
        a, b = self.labels.sums(size, labels.astype(np.int32), labels.size)
        part = float(self.sizes[self.sizes >= 2].mean()) / np.count_nonzero(used)
        share = np.where(used, part / (self.given + part), 0.0)
        kept = np.where(used, 1.0 - share, 0.0)
        mixed = (share * kept) @ self.b
        total = kept @ self.b + share.sum() * b
        own = (kept**2) @ self.own + 2 * (mixed * b) @ self.labels.c + (share**2).sum() * self.labels.inner(b)
        margins = _Margins(
            np.full(labels.size, float(np.count_nonzero(used))),
            kept @ self.a + share.sum() * a,
            self.labels.inner(total),
            own,
        )
        changed = self._kappa(
            np.full(labels.size, self.observed), np.full(labels.size, self.units + 1.0), margins
        )
        squares = np.nan_to_num((changed - self.kappa) ** 2)
        agreed = 1.0 - self.observed / self.units
        weight = counts[labels].astype(np.float64)
        return one_more_part(agreed, nominal=self.nominal) * float(np.average(squares, weights=weight))
