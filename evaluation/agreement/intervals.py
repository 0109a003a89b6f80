"""Bootstrap replicates of the statistics of label counts: percent agreement, alpha, Fleiss' kappa, AC1.

All four are functions of totals over units, so that one set of resamples serves them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from annotator.hit_types.base import Level
from evaluation.agreement.bootstrap import draw_counts, resampled_totals
from evaluation.agreement.counts import UnitCounts, cluster_codes, count_units
from evaluation.agreement.krippendorff import expected_difference, midranks, scale_of, unit_differences
from evaluation.core.ratings_table import Floats, Ints, Ratings

Name = Literal["percent_agreement", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1"]

#: More columns than this are not summed up by cluster: replicates are then computed one by one.
_MOST_COLUMNS = 64


@dataclass(frozen=True, eq=False)
class CountReplicates:
    """Replicates of each statistic, shape (B,), ``nan`` where undefined; ``clusters`` is how many are drawn from."""

    values: dict[Name, Floats]
    clusters: int


def replicate_counts(
    ratings: Ratings, *, rng: np.random.Generator, replicates: int, level: Level | None = None
) -> CountReplicates:
    """Replicates of the four statistics in resamples of the clusters (each unit its own where none are given)."""
    level = level or ratings.level
    counts = count_units(ratings)
    codes, clusters = cluster_codes(ratings)
    labels = counts.labels
    columns = 3 * labels + 4 + (labels * (labels - 1) // 2 if level == "ordinal" else 0)
    scale = scale_of(ratings, level, counts.per_label_pairable)
    if columns <= _MOST_COLUMNS:
        totals = resampled_totals(_sums(counts, codes, clusters, level, scale), replicates, rng)
        values = _from_totals(totals, labels, level, scale)
    else:
        parts = list(_one_by_one(counts, codes, level, scale, draw_counts(clusters, replicates, rng)))
        values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return CountReplicates(values, clusters)


#: Without more groups of clusters than this: enough to tell a variance from.
_MOST_GROUPS = 200
#: Cells (unit, label) of the widest table that is summed up by group.
_MOST_CELLS = 10_000_000


def values_without_groups(ratings: Ratings) -> tuple[dict[Name, float], dict[Name, Floats]]:
    """Each statistic, and its values without each of at most 200 groups of clusters, shape (groups,).

    With very many labels there are no values by group: the arrays are then empty.
    """
    counts = count_units(ratings)
    codes, clusters = cluster_codes(ratings)
    labels, level = counts.labels, ratings.level
    scale = scale_of(ratings, level, counts.per_label_pairable)
    wide = labels * (labels if level == "ordinal" else 1)
    if wide * counts.sizes.size > _MOST_CELLS:
        (whole,) = _one_by_one(counts, codes, level, scale, [np.ones((1, clusters))])
        return {name: float(found[0]) for name, found in whole.items()}, dict.fromkeys(whole, np.zeros(0))
    groups = min(clusters, _MOST_GROUPS)
    grouped = np.where(codes >= 0, codes % max(groups, 1), -1)
    sums = _sums(counts, grouped, groups, level, scale)
    total = sums.sum(axis=0)
    whole = _from_totals(total[None], labels, level, scale)
    return (
        {name: float(found[0]) for name, found in whole.items()},
        _from_totals(total - sums, labels, level, scale),
    )


def _sums(counts: UnitCounts, codes: Ints, clusters: int, level: Level, scale: Floats) -> Floats:
    """Shape (C, D): the clusters' sums of everything that the statistics are made of; see ``_from_totals``."""
    units, labels = counts.sizes.size, counts.labels
    n = np.zeros((units, labels))
    n[counts.unit, counts.label] = counts.count
    m = counts.sizes
    pairable = m >= 2
    with np.errstate(invalid="ignore", divide="ignore"):
        pairs = np.where(pairable, counts.matching / (m * (m - 1)), 0.0)
        differences = np.where(pairable, unit_differences(counts, level, scale) / (m - 1), 0.0)
        shares = np.where(m[:, None] > 0, n / m[:, None], 0.0)
        columns = [
            pairable.astype(np.float64),
            pairs,
            (m > 0).astype(np.float64),
            differences,
            *(n * pairable[:, None]).T,
            *shares.T,
        ]
        if level == "ordinal":
            first, second = np.triu_indices(labels, 1)
            columns += [
                np.where(pairable, n[:, k] * n[:, g] / (m - 1), 0.0)
                for k, g in zip(first, second, strict=True)
            ]
    kept = codes >= 0
    return np.stack(
        [np.bincount(codes[kept], weights=column[kept], minlength=clusters) for column in columns], axis=1
    )


@dataclass(frozen=True, eq=False)
class _Totals:
    """What the statistics are made of, in B resamples: shape (B,), but for the last two, (B, L).

    Units with two ratings, their shares of agreeing pairs, units with a rating, differences within units; labels
    given to units with two ratings, and shares of labels.
    """

    pairable: Floats
    pairs: Floats
    rated: Floats
    observed: Floats
    per_label: Floats
    shares: Floats


def _from_totals(totals: Floats, labels: int, level: Level, scale: Floats) -> dict[Name, Floats]:
    pairable, pairs, rated, observed = totals[:, :4].T
    per_label = totals[:, 4 : 4 + labels]
    if level == "ordinal":
        first, second = np.triu_indices(labels, 1)
        scale = midranks(per_label)
        coincidences = totals[:, 4 + 2 * labels :]
        observed = 2.0 * (coincidences * (scale[:, first] - scale[:, second]) ** 2).sum(axis=1)
    shares = totals[:, 4 + labels : 4 + 2 * labels]
    return _statistics(_Totals(pairable, pairs, rated, observed, per_label, shares), level, scale)


def _statistics(totals: _Totals, level: Level, scale: Floats) -> dict[Name, Floats]:
    per_label = totals.per_label
    labels = per_label.shape[-1]
    n = per_label.sum(axis=-1)
    expected = expected_difference(per_label, level, scale)
    with np.errstate(invalid="ignore", divide="ignore"):
        percent = totals.pairs / totals.pairable
        # De is exactly 0 where one label is left; rounding may leave a speck of it on an interval scale.
        alpha = np.where(
            _several(per_label, scale, level), 1.0 - (n - 1) * totals.observed / expected, np.nan
        )
        chance = (per_label * per_label).sum(axis=-1) / (n * n)
        fleiss = np.where((per_label > 0).sum(axis=-1) > 1, (percent - chance) / (1 - chance), np.nan)
        p = totals.shares / totals.rated[:, None]
        by_luck = (p * (1 - p)).sum(axis=-1) / (labels - 1) if labels > 1 else np.full(n.shape, np.nan)
        ac1 = (percent - by_luck) / (1 - by_luck)
    return {
        "percent_agreement": percent,
        "krippendorff_alpha": alpha,
        "fleiss_kappa": fleiss,
        "gwet_ac1": ac1,
    }


def _several(per_label: Floats, scale: Floats, level: Level) -> np.ndarray:
    """Whether labels of more than one position occur."""
    used = per_label > 0
    if level in ("nominal", "ordinal"):
        return used.sum(axis=-1) > 1
    low = np.where(used, scale, np.inf).min(axis=-1, initial=np.inf)
    high = np.where(used, scale, -np.inf).max(axis=-1, initial=-np.inf)
    return low < high


def _one_by_one(
    counts: UnitCounts,
    codes: Ints,
    level: Level,
    scale: Floats,
    draws: Iterable[Floats],
) -> Iterator[dict[Name, Floats]]:
    """The same, a replicate at a time over the cells that occur: any number of labels."""
    units, labels = counts.sizes.size, counts.labels
    m = counts.sizes.astype(np.float64)
    pairable = counts.sizes >= 2
    rated = counts.sizes > 0
    inside = pairable[counts.unit]
    matching = np.divide(counts.matching, m * (m - 1), out=np.zeros(units), where=pairable)
    fixed = None if level == "ordinal" else unit_differences(counts, level, scale)
    for drawn in draws:
        for row in drawn:
            times = np.where(codes >= 0, row[codes], 0.0)
            weight = counts.count * times[counts.unit]
            per_label = np.bincount(counts.label, weights=weight * inside, minlength=labels).astype(float)[
                None
            ]
            shares = np.bincount(counts.label, weights=weight / m[counts.unit], minlength=labels).astype(
                float
            )[None]
            at = midranks(per_label)[0] if level == "ordinal" else scale
            difference = unit_differences(counts, level, at) if fixed is None else fixed
            observed = np.divide(difference * times, m - 1, out=np.zeros(units), where=pairable).sum()
            one = (times * pairable).sum(), (times * matching).sum(), times[rated].sum(), observed
            four: Floats = np.array(one, dtype=np.float64)[:, None]
            yield _statistics(_Totals(four[0], four[1], four[2], four[3], per_label, shares), level, at)
