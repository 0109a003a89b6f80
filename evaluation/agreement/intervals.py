"""Bootstrap replicates of the statistics of label counts: percent agreement, alpha, Fleiss' kappa, AC1.

All four are functions of totals over units, so that one set of resamples serves them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from annotator.hit_types.base import Level
from evaluation.agreement.bootstrap import DEFAULT_REPLICATES, add_interval, draw_counts, resampled_totals
from evaluation.agreement.counts import (
    UnitCounts,
    cluster_codes,
    count_units,
    pairs_within,
    varied_clusters,
)
from evaluation.agreement.krippendorff import (
    expected_difference,
    krippendorff_alpha,
    midranks,
    scale_of,
    unit_differences,
)
from evaluation.agreement.new_raters import RaterVariance, cluster_groups
from evaluation.core.estimate import Estimate
from evaluation.core.interval import SHARE, SIGNED, Bounds, too_alike, too_few, varied_degrees
from evaluation.core.ratings_table import Floats, Ints, Ratings

Name = Literal["percent_agreement", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1"]

#: The least and the greatest value of each statistic; of Fleiss' kappa for units with one number of raters.
BOUNDS: dict[Name, Bounds] = {
    "percent_agreement": SHARE,
    "krippendorff_alpha": SIGNED,
    "fleiss_kappa": SIGNED,
    "gwet_ac1": SIGNED,
}
#: Their chance agreement is made of squares of the labels' shares, which vary from study to study: in few units it is too
#: high, and the statistic too low. Without subtracting that, 95 % intervals of Fleiss' kappa over 12 units covered 88 %.
BIASED: frozenset[Name] = frozenset({"krippendorff_alpha", "fleiss_kappa"})
#: More columns than this are not summed up by cluster: replicates are then computed one by one.
_MOST_COLUMNS = 64


@dataclass(frozen=True, eq=False)
class CountReplicates:
    """Replicates of each statistic, shape (B,), ``nan`` where undefined.

    ``clusters`` is how many are drawn from, ``informative`` how many of them hold a unit with two ratings or more, ``varied``
    how many have another label than the most frequent one (and that label), ``word`` what a cluster is.
    """

    values: dict[Name, Floats]
    clusters: int
    informative: int
    varied: tuple[int, str]
    word: str

    def add_interval(
        self,
        name: Name,
        estimate: Estimate,
        *,
        bounds: Bounds | None = None,
        new_raters: RaterVariance | None = None,
    ) -> Estimate:
        """The estimate with its 95 % interval, within ``bounds`` (those of the statistic).

        Statistics beyond chance have none if nearly all labels are the same (AC1, whose chance isn't theirs, has).
        """
        varied, label = self.varied
        alike = too_alike(varied, self.informative, repr(label), self.word) if name in BIASED else ""
        if alike and estimate.defined and self.values[name].size and not too_few(self.informative, self.word):
            return replace(estimate, interval=alike)
        return add_interval(
            estimate,
            self.values[name],
            clusters=self.clusters,
            informative=self.informative,
            word=self.word,
            bounds=bounds or BOUNDS[name],
            new_raters=new_raters,
            biased=name in BIASED,
            # One for the bias: without, intervals over 8 and 12 units covered 91 %.
            degrees_of_freedom=varied_degrees(varied, self.informative) - 1 if name in BIASED else None,
        )


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
    informative = np.unique(codes[counts.sizes >= 2]).size
    return CountReplicates(
        values,
        clusters,
        informative,
        varied_clusters(ratings, codes),
        "units" if ratings.clusters is None else "instances",
    )


def alpha_estimate(
    ratings: Ratings,
    *,
    rng: np.random.Generator | None,
    replicates: int = DEFAULT_REPLICATES,
    level: Level | None = None,
) -> Estimate:
    """Krippendorff's alpha with its interval from resampled clusters; without ``rng`` or replicates there is none.

    >>> table = Ratings.from_rows([(r, str(u), "yes" if u % 3 else r) for u in range(30) for r in "ab"])
    >>> found = alpha_estimate(table, rng=np.random.default_rng(0))
    >>> round(found.value, 2), round(found.low, 1), round(found.high, 1)
    (0.34, 0.2, 0.5)
    """
    point = krippendorff_alpha(ratings, level=level)
    if rng is None or not replicates or not point.defined:
        return point
    drawn = replicate_counts(ratings, rng=rng, replicates=replicates, level=level)
    return drawn.add_interval("krippendorff_alpha", point)


#: Cells (group of clusters, column) of the widest table that is made to leave groups out.
_MOST_CELLS = 10_000_000
#: Of a wider table so many groups are left out, one after the other.
_FEW_GROUPS = 20


def values_without_groups(
    ratings: Ratings, group: Ints | None = None
) -> tuple[dict[Name, float], dict[Name, Floats]]:
    """Each statistic, and its values without each of the groups of clusters; shape (groups,).

    ``group`` of shape (units,) is each unit's group, -1 for none; at most 200 groups are made where it isn't given.
    """
    counts = count_units(ratings)
    labels, level = counts.labels, ratings.level
    scale = scale_of(ratings, level, counts.per_label_pairable)
    group = cluster_groups(ratings) if group is None else group
    groups = int(group.max(initial=-1)) + 1
    grouped = np.where(counts.sizes > 0, group, -1)
    columns = 3 * labels + (labels * labels // 2 if level == "ordinal" else 0)
    if columns * groups > _MOST_CELLS:
        fewer = np.where(grouped >= 0, grouped % _FEW_GROUPS, -1)
        size = min(_FEW_GROUPS, groups)
        draws = [np.ones((1, size)), 1.0 - np.eye(size)]
        parts = list(_one_by_one(counts, fewer, level, scale, draws))
        return (
            {name: float(found[0]) for name, found in parts[0].items()},
            {name: np.concatenate([part[name] for part in parts[1:]]) for name in parts[0]},
        )
    sums = _sums(counts, grouped, groups, level, scale)
    total = sums.sum(axis=0)
    whole = _from_totals(total[None], labels, level, scale)
    return (
        {name: float(found[0]) for name, found in whole.items()},
        _from_totals(total - sums, labels, level, scale),
    )


def _sums(counts: UnitCounts, codes: Ints, clusters: int, level: Level, scale: Floats) -> Floats:
    """Shape (C, D): the clusters' sums of everything that the statistics are made of; see ``_from_totals``."""
    labels = counts.labels
    m = counts.sizes.astype(np.float64)
    pairable = counts.sizes >= 2
    with np.errstate(invalid="ignore", divide="ignore"):
        by_unit = [
            pairable.astype(np.float64),
            np.where(pairable, counts.matching / (m * (m - 1)), 0.0),
            (m > 0).astype(np.float64),
            np.where(pairable, unit_differences(counts, level, scale) / (m - 1), 0.0),
        ]
    kept = codes >= 0
    parts: list[Floats] = []
    for column in by_unit:
        added = np.bincount(codes[kept], weights=column[kept], minlength=clusters)
        parts.append(added.astype(np.float64)[:, None])
    # Only labels that a unit was given are added up: units by labels may be a huge table.
    at, cells = codes[counts.unit], counts.count.astype(np.float64)
    for weight in (cells * pairable[counts.unit], cells / m[counts.unit]):
        parts.append(_table(at, counts.label, weight, clusters, labels))
    if level == "ordinal":
        start = np.concatenate(([0], np.cumsum(np.bincount(counts.unit, minlength=m.size)))).astype(np.int64)
        columns = labels * (labels - 1) // 2
        coincidences = np.zeros((clusters, columns))
        for i, j in pairs_within(start):
            k, g = counts.label[i], counts.label[j]  # k < g, as the cells of a unit are in order
            column = k * labels - k * (k + 1) // 2 + g - k - 1
            weight = cells[i] * cells[j] / (m[counts.unit[i]] - 1)
            coincidences += _table(at[i], column, weight, clusters, columns)
        parts.append(coincidences)
    return np.concatenate(parts, axis=1)


def _table(rows: Ints, columns: Ints, weights: Floats, height: int, width: int) -> Floats:
    """Shape (height, width): sums of the weights by row and column; rows of -1 are left out."""
    kept = rows >= 0
    flat = np.bincount(rows[kept] * width + columns[kept], weights=weights[kept], minlength=height * width)
    return flat.reshape(height, width).astype(np.float64)


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
        # De is exactly 0 where one label is left; rounding may leave a tiny remainder on an interval scale.
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
