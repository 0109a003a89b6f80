"""Agreement on spans of text: alpha over characters, F1 of pairs of annotators, and which categories are confused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.agreement.bootstrap import DEFAULT_REPLICATES, bootstrap, cluster_sums, ratio
from evaluation.agreement.counts import pairs_within
from evaluation.agreement.distance_alpha import Distance, ValueCounts, distance_alpha
from evaluation.agreement.span_table import NO_NAME, SpanTable, repeats, span_table, stretches_of
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.interval import SHARE
from evaluation.core.ratings_table import Floats, Ints, Ratings

NO_SPANS = "no unit has two ratings of which one marks a span"
#: What ``left_out`` of the alphas counts.
SINGLE_TEXT = "characters of texts with a single rating"
TO_THE_LAST_SPAN = "The texts’ lengths aren’t known, so each text ends with its last span: agreement on what follows isn’t counted."


@dataclass(frozen=True, eq=False)
class SpanAgreement:
    """Agreement on spans.

    ``marked`` is alpha of whether a character is marked, ``categorised`` that of its set of categories, ``by_category`` that of whether
    it is marked with one category. ``exact`` and ``overlapping`` are F1 over all pairs of annotators, ``pairs`` has a row for each
    pair. ``confusion`` of shape (categories, categories) counts pairs of overlapping spans of two annotators, in both directions;
    ``unmatched`` of shape (categories,) counts spans that overlap none of the other annotator's. ``severities`` is the share of exactly
    matching spans with the same severity.
    """

    marked: Estimate
    categorised: Estimate
    by_category: Mapping[str, Estimate]
    exact: Estimate
    overlapping: Estimate
    severities: Estimate
    categories: tuple[str, ...]
    confusion: Ints
    unmatched: Ints
    pairs: tuple[SpanPair, ...]
    #: Spans of all ratings; ratings that mark none.
    spans: int
    empty: int
    #: Whether the texts' lengths were given.
    whole: bool


@dataclass(frozen=True)
class SpanPair:
    """Two annotators over the units that both rated: F1 of equal spans and of overlapping ones; ``n`` counts their spans."""

    first: str
    second: str
    units: int
    exact: Estimate
    overlapping: Estimate


def span_agreement(
    ratings: Ratings,
    *,
    lengths: Mapping[str, int] | None = None,
    rng: np.random.Generator | None = None,
    replicates: int = DEFAULT_REPLICATES,
) -> SpanAgreement:
    """Agreement of annotators who each marked spans in a unit's text; spans may overlap, and may have categories and severities.

    The table's labels are lists of spans as :func:`read_spans` reads them; an empty list marks nothing, a missing row is missing.
    ``lengths`` gives each unit's number of characters; without it, a unit ends with the last of its spans.

    Alpha over characters is Krippendorff's alpha for nominal data in its canonical form, each character of a text being a unit
    (Krippendorff 2011). It is the binary coefficient of the unitizing family, |uα, with boundaries on characters and without that family's
    correction for the lengths of units (Krippendorff, Mathet, Bouvry and Widlöcher 2016, "On the reliability of unitizing textual
    continua"). ``marked`` and ``by_category`` have two values, marked or not. ``categorised`` compares the sets of categories that mark a character
    with Jaccard's distance, which is nominal where spans don't overlap. ``n`` counts pairable (character, annotator) pairs.

    F1 is ``2 TP / (spans of a + spans of b)``, pooled over pairs of annotators and their common units. Exact: TP are spans with the same ends
    and category, each matched once: two of a's that differ in severity alone match two of b's, or one. Overlapping: a span is matched if it shares a character with one of the same category of the other annotator, and
    F1 is the matched share of both annotators' spans. ``n`` counts spans, once for each other annotator of the unit. Hripcsak and Rothschild
    (2005): where what is unmarked can't be counted, F1 approaches kappa.

    Time is linear in the spans and in the pairs of spans of one unit. Undefined, with the reason, where no unit has two ratings, where
    all characters have the same value, and (F1) where no span can be compared. With ``rng`` there is the cluster bootstrap's
    interval (:func:`bootstrap`). ``ValueError`` as in ``span_table``.

    >>> rows = [("a", "u", '[{"start": 0, "end": 4}]'), ("b", "u", '[{"start": 2, "end": 4}]')]
    >>> found = span_agreement(Ratings.from_rows(rows), lengths={"u": 10})
    >>> round(found.marked.value, 3), found.exact.value, found.overlapping.value  # Do = 4/20; De = 2 * 6 * 14 / (20 * 19)
    (0.548, 0.0, 1.0)
    """
    table = span_table(ratings, lengths)
    clusters = (
        np.arange(len(ratings.units)) if ratings.clusters is None else ratings.clusters.astype(np.int64)
    )
    word = "units" if ratings.clusters is None else "instances"
    resampling: dict[str, Any] = {"rng": rng, "replicates": replicates, "word": word}
    of_characters = resampling | {"single": SINGLE_TEXT}
    marks = _Marks.of(ratings, table, clusters)
    match = _matches(ratings, table)
    top = np.stack([match.exact, match.overlapping])
    return SpanAgreement(
        marked=distance_alpha(*marks.binary(-1), **of_characters),
        categorised=distance_alpha(*marks.sets(), **of_characters),
        by_category={
            name: distance_alpha(*marks.binary(1 << code), **of_characters)
            for code, name in enumerate(table.categories)
        },
        exact=_pooled(top[0], match.spans, clusters, NO_SPANS, **resampling),
        overlapping=_pooled(top[1], match.spans, clusters, NO_SPANS, **resampling),
        severities=_pooled(
            match.graded[0], match.graded[1], clusters, "no two spans match exactly", **resampling
        )
        if any(name != NO_NAME for name in table.severities)
        else undefined("spans have no severities"),
        categories=table.categories,
        confusion=match.confusion,
        unmatched=match.unmatched,
        pairs=tuple(match.rows(ratings.raters)),
        spans=int(table.rating.size),
        empty=int((table.span_counts == 0).sum()),
        whole=table.whole,
    )


# -- characters ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Marks:
    """Which ratings mark which stretches of text, and what a stretch without marks needs: its unit's ratings."""

    stretch: Ints
    marks: Ints
    length: Ints
    ratings: Ints
    cluster: Ints

    @classmethod
    def of(cls, ratings: Ratings, table: SpanTable, clusters: Ints) -> _Marks:
        found = stretches_of(table)
        sizes = ratings.grouped.sizes[found.unit]
        return cls(found.stretch, found.marks, found.length, sizes, clusters[found.unit])

    def _counts(self, stretch: Ints, value: Ints, values: int) -> ValueCounts:
        """Value 0 is that of ratings that don't mark a stretch."""
        marking = np.bincount(stretch, minlength=self.length.size)
        bare = np.flatnonzero(self.ratings > marking)
        key = np.concatenate((stretch * values + value, bare * values))
        weight = np.concatenate((np.ones(stretch.size, dtype=np.int64), (self.ratings - marking)[bare]))
        cells, place = np.unique(key, return_inverse=True)
        count = np.bincount(place, weights=weight, minlength=cells.size).astype(np.int64)
        unit, which = np.divmod(cells, values)
        return ValueCounts(unit, which, count, self.length, self.cluster, values)

    def binary(self, wanted: int) -> tuple[ValueCounts, Distance]:
        """Marked with one of the wanted categories, or not."""
        kept = (self.marks & wanted) != 0
        stretch = self.stretch[kept]
        return self._counts(stretch, np.ones(stretch.size, dtype=np.int64), 2), _nominal

    def sets(self) -> tuple[ValueCounts, Distance]:
        """The set of categories that mark it."""
        sets, value = np.unique(np.concatenate(([0], self.marks)), return_inverse=True)
        return self._counts(self.stretch, value[1:], sets.size), partial(_jaccard, sets.astype(np.uint64))


def _nominal(i: Ints, j: Ints) -> Floats:
    return (i != j).astype(np.float64)


def _jaccard(sets: npt.NDArray[np.uint64], i: Ints, j: Ints) -> Floats:
    both = np.bitwise_count(sets[i] & sets[j]).astype(np.float64)
    union = np.bitwise_count(sets[i] | sets[j]).astype(np.float64)
    return np.asarray(1.0 - np.divide(both, union, out=np.ones(union.shape), where=union > 0))


# -- pairs of annotators ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Matches:
    """Sums over pairs of annotators, by unit (shape (units,)) and by pair of annotators.

    ``spans`` counts both annotators' spans, ``exact`` and ``overlapping`` those of them that are matched. ``graded`` are exact matches with the same
    severity, and all.
    """

    spans: Floats
    exact: Floats
    overlapping: Floats
    graded: tuple[Floats, Floats]
    confusion: Ints
    unmatched: Ints
    pair: Ints
    raters: int
    by_pair: Floats

    def rows(self, names: tuple[str, ...]) -> Iterator[SpanPair]:
        for key, (units, spans, exact, overlapping) in zip(
            self.pair.tolist(), self.by_pair.T.tolist(), strict=True
        ):
            one, other = divmod(key, max(self.raters, 1))
            values = (
                Estimate(top / spans, n=int(spans)) if spans else undefined("neither marks a span")
                for top in (exact, overlapping)
            )
            yield SpanPair(names[one], names[other], int(units), *values)


def _matches(ratings: Ratings, table: SpanTable) -> _Matches:
    grouped, units, raters = ratings.grouped, len(ratings.units), len(ratings.raters)
    categories = len(table.categories)
    confusion = np.zeros((categories, categories), dtype=np.int64)
    again = repeats(table)
    rated: list[tuple[Ints, Ints, Ints]] = []
    for i, j in pairs_within(grouped.start):
        key = grouped.rater[i].astype(np.int64) * raters + grouped.rater[j]
        rated.append((key, grouped.unit[i].astype(np.int64), table.span_counts[i] + table.span_counts[j]))
    kinds: dict[str, list[Ints]] = {"exact": [], "overlapping": [], "any": []}
    same_grade, exact_pairs = np.zeros(units), np.zeros(units)
    for i, j in pairs_within(table.of_unit):
        kept = (table.rater[i] != table.rater[j]) & (
            np.minimum(table.end[i], table.end[j]) > np.maximum(table.start[i], table.start[j])
        )
        i, j = i[kept], j[kept]
        np.add.at(confusion, (table.category[i], table.category[j]), 1)
        np.add.at(confusion, (table.category[j], table.category[i]), 1)
        alike = table.category[i] == table.category[j]
        same = alike & (table.start[i] == table.start[j]) & (table.end[i] == table.end[j])
        equal = same & (again[i] == again[j])  # the first with the first, the second with the second
        for name, which in (("any", np.ones(i.size, dtype=bool)), ("overlapping", alike), ("exact", equal)):
            # (span, the other annotator): once, however many of that one's spans it overlaps
            kinds[name] += [
                i[which] * raters + table.rater[j[which]],
                j[which] * raters + table.rater[i[which]],
            ]
        graded = same & (table.severity[i] == table.severity[j])
        exact_pairs += np.bincount(table.unit[i[equal]], minlength=units)
        same_grade += np.bincount(table.unit[i[graded]], minlength=units)
    joined = (
        np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64) for parts in zip(*rated, strict=True)
    )
    key, unit, size = joined if rated else (np.zeros(0, dtype=np.int64),) * 3
    pair, place = np.unique(key, return_inverse=True)
    by_pair = [np.bincount(place, minlength=pair.size), np.bincount(place, weights=size, minlength=pair.size)]
    by_unit = [np.bincount(unit, weights=size, minlength=units)]
    found = {
        name: np.unique(np.concatenate(keys)) if keys else np.zeros(0, dtype=np.int64)
        for name, keys in kinds.items()
    }
    for name in ("exact", "overlapping"):
        span, other = np.divmod(found[name], max(raters, 1))
        own = table.rater[span]
        matched = np.minimum(own, other) * raters + np.maximum(own, other)
        by_pair.append(np.bincount(np.searchsorted(pair, matched), minlength=pair.size))
        by_unit.append(np.bincount(table.unit[span], minlength=units))
    span = found["any"] // max(raters, 1)
    compared = np.bincount(table.category, weights=grouped.sizes[table.unit] - 1, minlength=categories)
    unmatched = compared - np.bincount(table.category[span], minlength=categories)
    spans, exact, overlapping = (one.astype(np.float64) for one in by_unit)
    return _Matches(
        spans=spans,
        exact=exact,
        overlapping=overlapping,
        graded=(same_grade, exact_pairs),
        confusion=confusion,
        unmatched=unmatched.astype(np.int64),
        pair=pair,
        raters=raters,
        by_pair=np.stack([one.astype(np.float64) for one in by_pair]),
    )


def _pooled(
    top: Floats,
    bottom: Floats,
    clusters: Ints,
    why: str,
    *,
    rng: np.random.Generator | None,
    replicates: int,
    word: str,
) -> Estimate:
    n = int(bottom.sum())
    if not n:
        return undefined(why)
    point = Estimate(float(top.sum() / bottom.sum()), n=n)
    if rng is None or not replicates:
        return point
    kept = bottom > 0
    sums = cluster_sums([top[kept], bottom[kept]], clusters[kept])
    return bootstrap(point, sums, ratio, rng=rng, replicates=replicates, word=word, bounds=SHARE)
