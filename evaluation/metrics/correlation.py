"""Correlations between metrics within one instance, over its systems, then the mean over instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate
from evaluation.core.interval import SIGNED
from evaluation.metrics.resample import Floats, Ints, codes_of, ratio_estimate

#: Scores that differ by less count as equal, so that rounding doesn't break ties of means.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Correlation:
    """Mean within-instance correlations; ``instances`` names, ``pearson_values`` and ``spearman_values`` shape (I,)."""

    pearson: Estimate
    spearman: Estimate
    instances: tuple[str, ...]
    pearson_values: Floats
    spearman_values: Floats


def within_instance_correlation(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    instance: Sequence[str],
    *,
    names: tuple[str, str] = ("x", "y"),
    least: int = 2,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> Correlation:
    """Pearson and Spearman of ``x`` and ``y`` over the systems of each instance, then the mean over instances.

    ``x``, ``y`` and ``instance`` have one entry for each instance and system, shape (N,); nan where a score is
    not defined: such an entry is left out. An instance with fewer than ``least`` entries, or with a constant
    side, has no correlation: left out and counted, the constant side by its ``names``. Spearman ranks ties by
    their mean rank. Values in [-1, 1]; with ``rng``, intervals over instances.
    Source: Chen et al. 2024, section 5.2.2 and Table 5.

    >>> found = within_instance_correlation([0, 1, 2, 5, 5], [1, 2, 4, 1, 2], ["a", "a", "a", "b", "b"])
    >>> round(found.pearson.value, 4), found.spearman.value, dict(found.pearson.left_out)
    (0.982, 1.0, {'x is constant': 1})
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.shape != second.shape or first.shape != (len(instance),):
        raise ValueError(
            f"x {first.shape}, y {second.shape}, instance ({len(instance)},): expected one length"
        )
    codes, found = codes_of(instance)
    usable = ~(np.isnan(first) | np.isnan(second))
    group, one, two = codes[usable], first[usable].round(_DIGITS), second[usable].round(_DIGITS)
    size = len(found)
    counts = np.bincount(group, minlength=size)
    few = counts < least
    constant = [~few & _constant(values, group, size) for values in (one, two)]
    missing = int((~usable).sum())
    left = {
        f"with fewer than {least} systems": int(few.sum()),
        f"{names[0]} is constant": int(constant[0].sum()),
        f"{names[1]} is constant": int((constant[1] & ~constant[0]).sum()),
        "systems with an undefined score": missing,
    }
    out = few | constant[0] | constant[1]
    pearson = np.where(out, np.nan, grouped_pearson(one, two, group, size))
    spearman = np.where(out, np.nan, grouped_pearson(_ranks(one, group), _ranks(two, group), group, size))

    def mean(values: Floats) -> Estimate:
        return ratio_estimate(
            np.where(out, 0.0, values),
            ~out,
            np.arange(size),
            rng=rng,
            replicates=replicates,
            reason=f"no instance has {least} systems with different values of {names[0]} and {names[1]}",
            left_out={why: number for why, number in left.items() if number},
            bounds=SIGNED,
        )

    return Correlation(mean(pearson), mean(spearman), found, pearson, spearman)


def annotator_ceiling(
    scores: npt.ArrayLike,
    rater: Sequence[str],
    instance: Sequence[str],
    system: Sequence[str],
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> Correlation:
    """The same correlation between two annotators, the most that a metric could reach.

    ``scores`` of shape (N,) are one rater's score of one system on one instance (plausibility: Yes 1,
    Moderate 0.5, No 0). For every pair of raters and every instance, the correlation over the systems that
    both scored; then the mean over the pairs of an instance, then over instances. Pairs with a constant side
    or with fewer than two shared systems are left out and counted, and the counts are of pairs. Intervals draw
    instances. Source: Chen et al. 2024, section 5.2.2.

    >>> found = annotator_ceiling([1, 0, 1, 0.5], ["a", "a", "b", "b"], ["x"] * 4, ["s", "t", "s", "t"])
    >>> round(found.pearson.value, 6)
    1.0
    """
    import pandas as pd

    table = pd.DataFrame(
        {"s": np.asarray(scores, float), "r": list(rater), "i": list(instance), "y": list(system)}
    )
    if table.duplicated(["r", "i", "y"]).any():
        raise ValueError("rater, instance, system: a rater scored one system of an instance twice")
    first, second, group = [], [], []
    for name, part in table.groupby("i", sort=True):
        wide = part.pivot(index="y", columns="r", values="s")
        for a, b in combinations(wide.columns, 2):
            first.append(wide[a].to_numpy())
            second.append(wide[b].to_numpy())
            group += [f"{name}\x1f{a}\x1f{b}"] * len(wide)
    pairs = within_instance_correlation(
        np.concatenate(first) if first else [],
        np.concatenate(second) if second else [],
        group,
        names=("one annotator", "the other annotator"),
    )
    owner, found = codes_of([name.split("\x1f", 1)[0] for name in pairs.instances])

    def mean(values: Floats, by_pair: Estimate) -> tuple[Estimate, Floats]:
        ok = ~np.isnan(values)
        counts = np.bincount(owner[ok], minlength=len(found))
        sums = np.bincount(owner[ok], weights=values[ok], minlength=len(found))
        with np.errstate(invalid="ignore"):
            means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        left = {f"pairs: {why}": number for why, number in by_pair.left_out.items() if "undefined" not in why}
        estimate = ratio_estimate(
            np.where(counts > 0, means, 0.0),
            counts > 0,
            np.arange(len(found)),
            rng=rng,
            replicates=replicates,
            reason="no two annotators scored two systems of one instance differently",
            left_out=left,
            bounds=SIGNED,
        )
        return estimate, means

    pearson, pearson_values = mean(pairs.pearson_values, pairs.pearson)
    spearman, spearman_values = mean(pairs.spearman_values, pairs.spearman)
    return Correlation(pearson, spearman, found, pearson_values, spearman_values)


def grouped_pearson(x: Floats, y: Floats, group: Ints, size: int) -> Floats:
    """Pearson's r within each of ``size`` groups; nan where a group is empty or a side is constant.

    >>> grouped_pearson(np.array([0.0, 1, 2]), np.array([0.0, 2, 4]), np.zeros(3, dtype=int), 1).tolist()
    [1.0]
    """
    counts = np.maximum(np.bincount(group, minlength=size), 1)
    dx = x - (np.bincount(group, weights=x, minlength=size) / counts)[group]
    dy = y - (np.bincount(group, weights=y, minlength=size) / counts)[group]
    sums = [np.bincount(group, weights=w, minlength=size) for w in (dx * dy, dx * dx, dy * dy)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(sums[0] / np.sqrt(sums[1] * sums[2]), -1.0, 1.0)


def _constant(values: Floats, group: Ints, size: int) -> npt.NDArray[np.bool_]:
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    return high <= low


def _ranks(values: Floats, group: Ints) -> Floats:
    """Rank of each value within its group, from 1; equal values share their mean rank."""
    order = np.lexsort((values, group))
    fresh = np.ones(order.size, dtype=bool)
    fresh[1:] = (np.diff(group[order]) != 0) | (np.diff(values[order]) != 0)
    run = np.cumsum(fresh) - 1
    places = np.bincount(run, weights=np.arange(order.size)) / np.bincount(run)
    ranks = np.empty(order.size)
    ranks[order] = places[run]
    start = np.full(int(group.max(initial=-1)) + 1, order.size)
    np.minimum.at(start, group[order], np.arange(order.size))
    return ranks - start[group] + 1
