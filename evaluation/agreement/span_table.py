"""All spans of a ratings table as arrays, and the stretches of text between their ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evaluation.agreement.value_forms import read_spans
from evaluation.core.ratings_table import Ints, Ratings

#: The most different categories: the set of those that mark a character is one number.
MOST_CATEGORIES = 62
#: What a span without a category, or with no severity, is called in tables.
NO_NAME = "(none)"


@dataclass(frozen=True, eq=False)
class SpanTable:
    """The spans in order of unit, then rater. Arrays of shape (spans,) but for ``span_counts`` of shape (ratings,).

    ``rating`` is the position of the span's rating in ``Ratings.grouped``, ``category`` and ``severity`` are codes. ``lengths`` of shape
    (units,) is each unit's number of characters.
    """

    rating: Ints
    unit: Ints
    rater: Ints
    start: Ints
    end: Ints
    category: Ints
    severity: Ints
    categories: tuple[str, ...]
    severities: tuple[str, ...]
    span_counts: Ints
    lengths: Ints
    #: Whether the lengths were given; else a text ends with its last span.
    whole: bool

    @property
    def of_unit(self) -> Ints:
        """Shape (units + 1,): where the spans of each unit begin."""
        sizes = np.bincount(self.unit, minlength=self.lengths.size)
        return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def span_table(ratings: Ratings, lengths: Mapping[str, int] | None = None) -> SpanTable:
    """Read the spans of every rating, once for each different value.

    ``lengths`` gives each unit's number of characters. ``ValueError`` for a label that isn't a list of spans, a unit without a length, a
    span that ends behind its unit's text, and more than ``MOST_CATEGORIES`` categories.
    """
    read = [read_spans(label) for label in ratings.labels]
    categories = tuple(sorted({span.category for spans in read for span in spans}))
    severities = tuple(sorted({span.severity for spans in read for span in spans}))
    if len(categories) > MOST_CATEGORIES:
        raise ValueError(
            f"spans have {len(categories)} categories; at most {MOST_CATEGORIES} can be compared"
        )
    kind = {name: code for code, name in enumerate(categories)}
    grade = {name: code for code, name in enumerate(severities)}
    flat = [(s.start, s.end, kind[s.category], grade[s.severity]) for spans in read for s in spans]
    columns = np.array(flat, dtype=np.int64).reshape(-1, 4)
    sizes = np.array([len(spans) for spans in read], dtype=np.int64)
    first = np.cumsum(sizes) - sizes
    grouped = ratings.grouped
    counts = sizes[grouped.value] if sizes.size else np.zeros(0, dtype=np.int64)
    rating = np.repeat(np.arange(counts.size), counts)
    within = np.arange(rating.size) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = columns[first[grouped.value[rating]] + within] if rating.size else columns[:0]
    unit = grouped.unit[rating].astype(np.int64)
    start, end, category, severity = rows.T
    last = np.zeros(len(ratings.units), dtype=np.int64)
    np.maximum.at(last, unit, end)
    return SpanTable(
        rating, unit, grouped.rater[rating].astype(np.int64), start, end, category, severity,
        tuple(name or NO_NAME for name in categories), tuple(name or NO_NAME for name in severities),
        counts, last if lengths is None else _lengths(ratings, lengths, last), lengths is not None,
    )  # fmt: skip


def _lengths(ratings: Ratings, lengths: Mapping[str, int], last: Ints) -> Ints:
    missing = [name for name in ratings.units if name not in lengths]
    if missing:
        raise ValueError(f"lengths: none is given for {missing[0]!r}")
    found = np.array([lengths[name] for name in ratings.units], dtype=np.int64)
    beyond = np.flatnonzero(last > found)
    if beyond.size:
        unit = int(beyond[0])
        raise ValueError(
            f"{ratings.units[unit]!r}: a span ends at character {last[unit]}, behind the end of its text at {found[unit]}"
        )
    return found


def repeats(table: SpanTable) -> Ints:
    """Shape (spans,): how many earlier spans of the same rating have the same ends and category (and so another severity)."""
    keys = np.stack([table.rating, table.start, table.end, table.category], axis=1)
    order = np.lexsort(keys.T[::-1])
    new = np.ones(order.size, dtype=bool)
    new[1:] = (keys[order][1:] != keys[order][:-1]).any(axis=1)
    place = np.arange(order.size)
    found = np.empty(order.size, dtype=np.int64)
    found[order] = place - np.maximum.accumulate(np.where(new, place, 0))
    return found


@dataclass(frozen=True, eq=False)
class Stretches:
    """The stretches of text that no span begins or ends within: ``unit`` and ``length`` have one entry per stretch.

    ``stretch`` and ``rating`` have one entry for each stretch that a rating marks, ``marks`` the set of its categories there, as bits.
    """

    unit: Ints
    length: Ints
    stretch: Ints
    rating: Ints
    marks: Ints


def stretches_of(table: SpanTable) -> Stretches:
    """Cut each unit's text at the ends of all its spans."""
    units = np.arange(table.lengths.size)
    width = int(table.lengths.max(initial=0)) + 1
    places = np.concatenate(
        (units * width, units * width + table.lengths, table.unit * width + table.start, table.unit * width + table.end)
    )  # fmt: skip
    cuts = np.unique(places)
    unit, place = np.divmod(cuts, width)
    kept = np.flatnonzero(unit[1:] == unit[:-1])  # from a cut to the next one of the same unit
    length = (place[1:] - place[:-1])[kept]
    number = np.full(cuts.size, -1, dtype=np.int64)
    number[kept] = np.arange(kept.size)
    low = np.searchsorted(cuts, table.unit * width + table.start)
    high = np.searchsorted(cuts, table.unit * width + table.end)
    span = np.repeat(np.arange(low.size), high - low)
    cut = np.arange(span.size) - np.repeat(np.cumsum(high - low) - (high - low), high - low) + low[span]
    key = number[cut] * max(table.span_counts.size, 1) + table.rating[span]
    order = np.argsort(key, kind="stable")
    key, bits = key[order], np.left_shift(np.int64(1), table.category[span[order]])
    begins = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1]))) if key.size else key
    marks = np.bitwise_or.reduceat(bits, begins) if key.size else bits
    stretch, rating = np.divmod(key[begins], max(table.span_counts.size, 1))
    return Stretches(unit[kept], length, stretch, rating, marks)
