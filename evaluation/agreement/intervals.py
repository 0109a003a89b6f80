"""Bootstrap replicates of the statistics of label counts: percent agreement, alpha, Fleiss' kappa, AC1.

All four are functions of totals over units, so that one set of resamples serves them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from annotator.hit_types.base import Level
from evaluation.agreement.bootstrap import (
    DEFAULT_REPLICATES,
    LEAST_REPLICATES,
    add_interval,
    draw_counts,
    resampled_totals,
)
from evaluation.agreement.counts import (
    UnitCounts,
    cluster_codes,
    count_units,
    pairs_within,
    varied_clusters,
)
from evaluation.agreement.independent_units import IndependentUnits, independent_units
from evaluation.agreement.krippendorff import (
    expected_difference,
    krippendorff_alpha,
    midranks,
    scale_of,
    unit_differences,
)
from evaluation.agreement.new_raters import RaterVariance, cluster_groups
from evaluation.core.estimate import Estimate
from evaluation.core.interval import (
    LEAST_VARIED,
    SCORE_PART,
    SHARE,
    SIGNED,
    Bounds,
    one_more_part,
    too_alike,
    too_few,
)
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
#: Of more labels than this, so many are tried as that of one unit more.
MOST_TRIED = 64
#: Cells (label that is tried or replicate, label) of the largest table for that.
_MOST_TRIED_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class CountReplicates:
    """Replicates of each statistic, shape (B,), ``nan`` where undefined.

    ``clusters`` is how many are drawn from, ``informative`` how many of them hold a unit with two ratings or more, ``varied``
    how many have another label than the most frequent one (and that label), ``word`` what a cluster is. ``one_more`` is the
    variance that one unit more could bring (:func:`variance_of_one_more`).
    """

    values: dict[Name, Floats]
    clusters: int
    informative: int
    varied: tuple[int, str]
    word: str
    one_more: dict[Name, float]
    #: If the units are independent.
    units: IndependentUnits | None = None
    nominal: bool = True

    def add_interval(
        self,
        name: Name,
        estimate: Estimate,
        *,
        bounds: Bounds | None = None,
        new_raters: RaterVariance | None = None,
    ) -> Estimate:
        """The estimate with its 95 % interval, within ``bounds`` (those of the statistic).

        Statistics beyond chance have none if nearly all labels are the same (AC1, whose chance isn't theirs, has). Of two labels on
        independent units they have score intervals, and percent agreement of two raters the mid-P interval (``IndependentUnits``).
        """
        drawn = estimate.defined and self.values[name].size >= LEAST_REPLICATES
        units = self.units if new_raters is None and drawn else None
        enough = not too_few(self.informative, self.word)
        if name == "percent_agreement" and units is not None and enough and units.by_units:
            return units.share_interval(estimate, self.word)
        varied, label = self.varied
        alike = (
            too_alike(varied, self.informative, repr(label), self.word, LEAST_VARIED)
            if name in BIASED
            else ""
        )
        if alike and estimate.defined and self.values[name].size and not too_few(self.informative, self.word):
            return replace(estimate, interval=alike)
        score = units.score_bounds(name, estimate.value) if units is not None and self.nominal else None
        return add_interval(
            estimate,
            self.values[name],
            clusters=self.clusters,
            informative=self.informative,
            word=self.word,
            bounds=bounds or BOUNDS[name],
            new_raters=new_raters,
            biased=name in BIASED,
            added_variance=self.one_more.get(name, 0.0) * (SCORE_PART if score else 1.0),
            score=score,
            normal=name in BIASED or (units is not None and units.raters == 2),
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
        variance_of_one_more(counts, level, scale),
        independent_units(ratings),
        level == "nominal",
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


def tried_labels(used: npt.NDArray[np.bool_], most_frequent: int) -> Ints:
    """The labels that one unit more could have: those that were given, but for the most frequent one; at most 64, evenly spread,
    and fewer of tens of thousands.

    >>> tried_labels(np.array([True, False, True, True]), 2).tolist()
    [0, 3]
    """
    others = np.flatnonzero(used)
    others = others[others != most_frequent]
    most = max(1, min(MOST_TRIED, _MOST_TRIED_CELLS // max(used.size, 1)))
    if others.size > most:
        others = others[np.linspace(0, others.size - 1, most).astype(np.int64)]
    return others


def variance_of_one_more(counts: UnitCounts, level: Level, scale: Floats) -> dict[Name, float]:
    """What one unit more adds to the variance of each statistic of ``BIASED`` (:func:`evaluation.core.interval.one_more_part`).

    It has the mean number of raters m, who all give it one label k, any but the most frequent one; n_k is how often that was
    given: ``c sum_k n_k (theta_k - theta)^2 / sum_k n_k``, with c of ``one_more_part``. Among many units that is
    next to nothing. ``scale`` is ``scale_of``'s.
    """
    pairable = counts.sizes >= 2
    given = counts.per_label_pairable
    if np.count_nonzero(given) < 2:
        return {}
    labels = tried_labels(given > 0, int(given.argmax()))
    raters = float(counts.sizes[pairable].mean())
    units = np.arange(counts.sizes.size)
    differences = None if level == "ordinal" else unit_differences(counts, level, scale)
    before = _weighted_totals(counts, units, np.ones(units.size), level, differences)
    added = np.zeros((labels.size, counts.labels))
    added[np.arange(labels.size), labels] = 1.0
    per_label = before.per_label + raters * added
    positions, observed = scale, np.repeat(before.observed, labels.size)
    if level == "ordinal":
        positions = midranks(per_label)
        each = [unit_differences(counts, level, at)[pairable] for at in positions]
        observed = np.array([(one / (counts.sizes[pairable] - 1)).sum() for one in each])
    after = _Totals(
        np.repeat(before.pairable + 1, labels.size),
        np.repeat(before.pairs + 1, labels.size),
        np.repeat(before.rated + 1, labels.size),
        observed,
        per_label,
        before.shares + added,
    )
    old = _statistics(before, level, midranks(before.per_label) if level == "ordinal" else scale)
    new = _statistics(after, level, positions)
    squares = {name: np.nan_to_num((new[name] - old[name]) ** 2) for name in BIASED}
    agreed = float(before.pairs[0] / before.pairable[0])
    parts = {
        name: one_more_part(agreed, nominal=name == "fleiss_kappa" or level == "nominal") for name in BIASED
    }
    return {
        name: parts[name] * float(np.average(one, weights=given[labels])) for name, one in squares.items()
    }


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


class _Totals(NamedTuple):
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
        p = totals.shares / totals.rated[:, None]
        chance = (p * p).sum(axis=-1)
        fleiss = np.where((p > 0).sum(axis=-1) > 1, (percent - chance) / (1 - chance), np.nan)
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
    """The same, by sums of a replicate at a time over the cells that occur: any number of labels."""
    fixed = None if level == "ordinal" else unit_differences(counts, level, scale)
    rows = max(1, _MOST_TRIED_CELLS // max(counts.labels, 1))
    for drawn in draws:
        for start in range(0, len(drawn), rows):
            each = [_weighted_totals(counts, codes, row, level, fixed) for row in drawn[start : start + rows]]
            totals = _Totals(*map(np.concatenate, zip(*each, strict=True)))
            yield _statistics(totals, level, midranks(totals.per_label) if level == "ordinal" else scale)


def _weighted_totals(
    counts: UnitCounts, codes: Ints, row: Floats, level: Level, differences: Floats | None
) -> _Totals:
    """The totals of one resample: ``row`` says how often each cluster is drawn, ``codes`` which one a unit belongs to (-1: none).

    ``differences`` are the units' (``unit_differences``), None at ordinal level: there they depend on what was drawn.
    """
    labels = counts.labels
    m = counts.sizes.astype(np.float64)
    pairable, rated = counts.sizes >= 2, counts.sizes > 0
    times = np.where(codes >= 0, row[codes], 0.0)
    weight = counts.count * times[counts.unit]
    inside = weight * pairable[counts.unit]
    per_label = np.bincount(counts.label, weights=inside, minlength=labels).astype(np.float64)[None]
    share = np.bincount(counts.label, weights=weight / m[counts.unit], minlength=labels).astype(np.float64)
    if differences is None:
        differences = unit_differences(counts, level, midranks(per_label)[0])
    matching = np.divide(counts.matching, m * (m - 1), out=np.zeros(m.size), where=pairable)
    observed = np.divide(differences * times, m - 1, out=np.zeros(m.size), where=pairable).sum()
    sums = (times * pairable).sum(), (times * matching).sum(), times[rated].sum(), observed
    four: Floats = np.array(sums, dtype=np.float64)[:, None]
    return _Totals(four[0], four[1], four[2], four[3], per_label, share[None])
