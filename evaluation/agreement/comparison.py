"""Comparing two systems on the same instances: paired bootstrap, permutation test, t-test; families of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.agreement.bootstrap import (
    DEFAULT_REPLICATES,
    Statistic,
    add_interval,
    cluster_sums,
    ratio,
    resampled_totals,
)
from evaluation.core.estimate import NAN, Estimate, none_if_nan
from evaluation.core.interval import UNBOUNDED, Bounds
from evaluation.core.ratings_table import Floats

DEFAULT_PERMUTATIONS = 10_000
_CHUNK = 4_000_000
#: Groups of eight clusters whose sums are looked up together (128 KB), for at least this many ways if clusters are many.
_NEAR, _TOGETHER = 64, 500
#: How many look-ups a permutation test holds at once, so that they fit into the processor's cache.
_LOOKED_UP = 100_000


@dataclass(frozen=True)
class Comparison:
    """A difference (first minus second) with its interval where the method gives one, and a two-sided p.

    ``p`` is ``nan`` where the difference is undefined. ``method`` says how p was made.
    """

    difference: Estimate
    p: float
    method: str

    def to_dict(self) -> dict[str, Any]:
        return {"difference": self.difference.to_dict(), "p": none_if_nan(self.p), "method": self.method}


def paired_bootstrap(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    rng: np.random.Generator,
    replicates: int = DEFAULT_REPLICATES,
    bounds: Bounds = UNBOUNDED,
    word: str = "clusters",
) -> Comparison:
    """Difference of two means over the same units, with its interval from drawing clusters of both together.

    ``a`` and ``b`` have shape (N,), unit by unit; a unit where either is ``nan`` is left out and counted. ``clusters``
    are codes of shape (N,) (the instance), else each unit is one. The p value is twice the smaller share of replicates on
    one side of 0, ``min(1, 2 (1 + min(#{d* <= 0}, #{d* >= 0})) / (B + 1))``. ``bounds`` are those of the difference
    (-1 and 1 for shares). With 0 ``replicates`` there is neither interval nor p. Undefined without a complete pair.

    >>> paired_bootstrap([1, 1, 1, 0], [0, 0, 1, 0], rng=np.random.default_rng(0)).difference.value
    0.5
    """
    sums, point = _paired_sums(a, b, clusters)
    return compare_sums_by_bootstrap(
        point, sums[:, :2], sums[:, 2:], ratio, rng=rng, replicates=replicates, bounds=bounds, word=word
    )


def compare_sums_by_bootstrap(
    difference: Estimate,
    sums_a: Floats,
    sums_b: Floats,
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    replicates: int = DEFAULT_REPLICATES,
    bounds: Bounds = UNBOUNDED,
    word: str = "clusters",
) -> Comparison:
    """The paired bootstrap for any statistic of totals; ``sums_a`` and ``sums_b`` of shape (C, D) hold the same clusters."""
    method = f"paired bootstrap, {replicates} replicates"
    _same_shape(sums_a, sums_b)
    if not difference.defined:
        return Comparison(difference, NAN, method)
    width = sums_a.shape[1]
    totals = resampled_totals(np.hstack([sums_a, sums_b]), replicates, rng)
    drawn = statistic(totals[:, :width]) - statistic(totals[:, width:])
    estimate = add_interval(difference, drawn, clusters=sums_a.shape[0], word=word, bounds=bounds)
    known = drawn[~np.isnan(drawn)]
    p = NAN
    if sums_a.shape[0] > 1 and known.size:
        p = min(1.0, 2 * (1 + min(int((known <= 0).sum()), int((known >= 0).sum()))) / (known.size + 1))
    return Comparison(estimate, p, method)


def paired_permutation_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    rng: np.random.Generator,
    permutations: int = DEFAULT_PERMUTATIONS,
) -> Comparison:
    """Test that two systems do not differ, by swapping their names within each instance.

    ``a``, ``b`` and ``clusters`` are as in :func:`paired_bootstrap`: under the null the two systems' results on an instance
    can be swapped, all units of the instance together. ``p = (1 + #{|d*| >= |d|}) / (1 + permutations)``; where there are
    no more than ``permutations`` ways to swap, all are taken and p is exact, the share of ways with ``|d*| >= |d|``.

    >>> round(paired_permutation_test([3, 4, 5], [1, 2, 3], rng=np.random.default_rng(0)).p, 3)  # 2 of 2^3 ways
    0.25
    """
    sums, point = _paired_sums(a, b, clusters)
    return compare_sums_by_permutation(
        point, sums[:, :2], sums[:, 2:], ratio, rng=rng, permutations=permutations
    )


def compare_sums_by_permutation(
    difference: Estimate,
    sums_a: Floats,
    sums_b: Floats,
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    permutations: int = DEFAULT_PERMUTATIONS,
) -> Comparison:
    """The paired permutation test for any statistic of totals; see :func:`compare_sums_by_bootstrap`."""
    _same_shape(sums_a, sums_b)
    if permutations < 1:
        raise ValueError(f"permutations: expected 1 or more, got {permutations}")
    if not difference.defined:
        return Comparison(difference, NAN, "paired permutation test")
    change = sums_a - sums_b
    moved = change[
        (change != 0).any(axis=1)
    ]  # swapping has no effect on an instance on which the two are equal
    total_a, total_b = sums_a.sum(axis=0), sums_b.sum(axis=0)
    observed = abs(float(statistic(total_a) - statistic(total_b)))
    bound = observed - 1e-12 * max(1.0, observed)
    exact = moved.shape[0] < 63 and 2 ** moved.shape[0] <= permutations
    ways = 2 ** moved.shape[0] if exact else permutations
    extreme = 0
    for shift in _shifts(moved, ways, None if exact else rng):
        drawn = statistic(total_a - shift) - statistic(total_b + shift)
        extreme += int((np.abs(drawn) >= bound).sum())
    if exact:
        return Comparison(difference, extreme / ways, f"exact paired permutation test, {ways} ways")
    return Comparison(difference, (1 + extreme) / (1 + ways), f"paired permutation test, {ways} random ways")


def _shifts(moved: Floats, ways: int, rng: np.random.Generator | None) -> Iterator[Floats]:
    """Arrays (b, columns): what the swapped clusters' rows of ``moved`` come to, for all ways in turn or for drawn ones.

    Eight clusters at a time: a byte says which of them are swapped, and the 256 sums that it can mean are looked up.
    """
    clusters, columns = moved.shape
    groups = -(-clusters // 8)
    padded = np.zeros((groups * 8, columns))
    padded[:clusters] = moved
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)
    sums = (bits @ padded.reshape(groups, 8, columns)).reshape(groups * 256, columns)
    by_column = [np.ascontiguousarray(column) for column in sums.T]
    step = max(1, _LOOKED_UP // max(groups, 1))
    held: list[npt.NDArray[np.uint8]] = []
    for start in range(0, ways, step):
        rows = min(step, ways - start)
        if rng is None:
            numbers = np.arange(start, start + rows, dtype=np.int64)
            swapped = ((numbers[:, None] >> np.arange(clusters)) & 1).astype(np.uint8)
            held.append(np.packbits(swapped, axis=1))
        else:
            held.append(np.frombuffer(rng.bytes(rows * groups), dtype=np.uint8).reshape(rows, groups))
        # Bytes are always drawn in the same portions, so that p doesn't depend on how many ways are looked up together.
        if len(held) * step >= _TOGETHER or start + rows == ways:
            yield _looked_up(by_column, np.concatenate(held))
            held = []


def _looked_up(by_column: Sequence[Floats], drawn: npt.NDArray[np.uint8]) -> Floats:
    """The sums of drawn ways, shape (ways, columns), a few groups at a time: those of all are more than a processor's cache holds."""
    ways, groups = drawn.shape
    shift = np.zeros((ways, len(by_column)))
    for number, column in enumerate(by_column):
        if not column.any():  # denominators are often the same on both sides
            continue
        found = np.empty((ways, groups))
        for start in range(0, groups, _NEAR):
            part = drawn[:, start : start + _NEAR]
            np.take(
                column,
                part + np.arange(start, start + part.shape[1]) * 256,
                out=found[:, start : start + _NEAR],
                mode="clip",
            )
        shift[:, number] = found.sum(axis=1)
    return shift


def paired_t_test(a: npt.ArrayLike, b: npt.ArrayLike) -> Comparison:
    """Student's paired t-test of two systems over the same units (P1's test), two-sided.

    ``t = mean(d) / (sd(d) / sqrt(n))`` with n - 1 degrees of freedom, d = a - b over the n units where neither is ``nan``.
    It takes units as independent: give one value per instance. p is ``nan`` with fewer than two pairs and where
    all differences are the same, whose t is infinite or 0 / 0.

    >>> round(paired_t_test([1, 2, 3, 4], [0, 2, 1, 2]).p, 4)
    0.0796
    """
    x, y, _, left_out = _complete(a, b, None)
    point = _difference(x, y, left_out)
    d = x - y
    if d.size < 2:
        return Comparison(point, NAN, "paired t-test: fewer than two pairs")
    method = f"paired t-test, {d.size - 1} degrees of freedom"
    spread = float(d.std(ddof=1)) / d.size**0.5
    if np.ptp(d) <= 1e-12 * max(1.0, float(np.abs(d).max())):  # t would be infinite, or 0 / 0
        return Comparison(point, NAN, f"{method}: all differences are the same")
    from scipy.special import stdtr  # imported late: it takes 5 MB, and only intervals and tests need it

    return Comparison(point, float(2 * stdtr(d.size - 1, -abs(d.mean()) / spread)), method)


def holm(p_values: Sequence[float] | Floats) -> Floats:
    """Holm's step-down adjusted p values, in the order given: compare them with the family's level.

    ``p~_(i) = max over j <= i of min(1, (m - j + 1) p_(j))`` for the m sorted p values; ``nan`` stays ``nan`` and does
    not count in m. ``ValueError`` for a p outside [0, 1]. Holm (1979).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjusted(p_values, lambda p: np.maximum.accumulate(p * np.arange(p.size, 0, -1)))


def benjamini_yekutieli(p_values: Sequence[float] | Floats) -> Floats:
    """Adjusted p values that bound the false discovery rate under any dependence, in the order given.

    ``p~_(i) = min over j >= i of min(1, m c(m) p_(j) / j)``, ``c(m) = sum_1^m 1/i``; ``nan`` as in :func:`holm`.
    Benjamini and Yekutieli (2001), theorem 1.3.

    >>> benjamini_yekutieli([0.01, 0.04, 0.03]).round(4).tolist()
    [0.055, 0.0733, 0.0733]
    """

    def step_up(p: Floats) -> Floats:
        rank = np.arange(1, p.size + 1)
        scaled = p * (p.size * (1 / rank).sum()) / rank
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _adjusted(p_values, step_up)


def _adjusted(p_values: Sequence[float] | Floats, step: Callable[[Floats], Floats]) -> Floats:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"p_values: expected one dimension, got {p.ndim}")
    known = np.flatnonzero(~np.isnan(p))
    if ((p[known] < 0) | (p[known] > 1)).any():
        raise ValueError("p_values: expected values from 0 to 1")
    order = known[np.argsort(p[known], kind="stable")]
    result = np.full(p.size, NAN)
    result[order] = np.minimum(step(p[order]), 1.0)
    return result


def _complete(
    a: npt.ArrayLike, b: npt.ArrayLike, clusters: npt.ArrayLike | None
) -> tuple[Floats, Floats, npt.NDArray[Any], dict[str, int]]:
    """The pairs without a missing value, their clusters, and how many pairs were left out."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.ndim != 1:
        raise ValueError(f"a: expected one dimension, got {x.ndim}")
    if x.shape != y.shape:
        raise ValueError(f"b: expected shape {x.shape} as a has, got {y.shape}")
    codes = np.arange(x.size) if clusters is None else np.asarray(clusters)
    if codes.shape != x.shape:
        raise ValueError(f"clusters: expected shape {x.shape}, got {codes.shape}")
    known = ~(np.isnan(x) | np.isnan(y))
    left_out = {"units that one of the two lacks": int((~known).sum())} if not known.all() else {}
    return x[known], y[known], codes[known], left_out


def _difference(x: Floats, y: Floats, left_out: dict[str, int]) -> Estimate:
    if not x.size:
        return Estimate(NAN, reason="no unit has both values", left_out=left_out)
    return Estimate(float(x.mean() - y.mean()), n=x.size, left_out=left_out)


def _paired_sums(
    a: npt.ArrayLike, b: npt.ArrayLike, clusters: npt.ArrayLike | None
) -> tuple[Floats, Estimate]:
    x, y, codes, left_out = _complete(a, b, clusters)
    ones = np.ones(x.size)
    return cluster_sums([x, ones, y, ones], codes), _difference(x, y, left_out)


def _same_shape(sums_a: Floats, sums_b: Floats) -> None:
    if sums_a.shape != sums_b.shape or sums_a.ndim != 2:
        raise ValueError(
            f"sums_b: expected the shape of sums_a {sums_a.shape}, (clusters, columns), got {sums_b.shape}"
        )
