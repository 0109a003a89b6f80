"""A part of what was read: only some rows, by their other columns, with everything that belongs to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from evaluation.agreement.reading import ExtraColumn, ReadRatings

Mask = npt.NDArray[np.bool_]


def select_rows(read: ReadRatings, only: Mapping[str, Sequence[str]]) -> ReadRatings:
    """The rows that have, in every column of ``only``, one of its values; raters and units without a row are left out.

    ``ValueError`` for a column that was not read (``read_ratings(..., extra=...)``) or a value that no row has.
    """
    rated, blank = np.ones(len(read.ratings), dtype=bool), np.ones(read.blank, dtype=bool)
    for name, values in only.items():
        column = read.extra[name]
        strange = sorted(set(values) - set(column.names))
        if strange:
            known = ", ".join(map(repr, sorted(column.names)[:20]))
            raise ValueError(f"--only: no row has {strange[0]!r} in {name!r}; there are {known}")
        wanted = np.array([place for place, text in enumerate(column.names) if text in values])
        rated &= np.isin(column.codes, wanted)
        blank &= np.isin(column.unanswered, wanted)
    return _part(read, rated, blank)


def without_labels(read: ReadRatings, labels: Sequence[str]) -> ReadRatings:
    """As if these labels could not be given: their rows are left out, but not counted as unanswered."""
    if not labels:
        return read
    out = [place for place, label in enumerate(read.ratings.labels) if label in labels]
    found = _part(read, ~np.isin(read.ratings.value, out), np.ones(read.blank, dtype=bool), trim=False)
    left = found.ratings.without_labels(labels)
    place = {label: code for code, label in enumerate(left.labels)}
    codes = np.array([*(place.get(label, -1) for label in found.ratings.labels), -1], dtype=np.int32)
    gold = None if found.gold is None else codes[found.gold]
    return replace(found, ratings=left, gold=gold)


def _part(read: ReadRatings, rated: Mask, blank: Mask, *, trim: bool = True) -> ReadRatings:
    ratings = read.ratings.where(rated)
    extra = {
        name: ExtraColumn(column.names, column.codes[rated], column.unanswered[blank])
        for name, column in read.extra.items()
    }
    rater, unit = read.unanswered[0][blank], read.unanswered[1][blank]
    if not trim:
        return replace(read, ratings=ratings, extra=extra, unanswered=(rater, unit), blank=int(blank.sum()))
    raters = _used(len(ratings.raters), ratings.rater, rater)
    units = _used(len(ratings.units), ratings.unit, unit)
    new_rater, new_unit = np.cumsum(raters) - 1, np.cumsum(units) - 1
    kept = tuple(name for name, keep in zip(ratings.raters, raters, strict=True) if keep)
    ratings = replace(
        ratings,
        raters=kept,
        units=tuple(name for name, keep in zip(ratings.units, units, strict=True) if keep),
        rater=new_rater[ratings.rater].astype(np.int32),
        unit=new_unit[ratings.unit].astype(np.int32),
        clusters=None if ratings.clusters is None else ratings.clusters[units],
        simulators=ratings.simulators & set(kept),
    )
    return replace(
        read,
        ratings=ratings,
        extra=extra,
        unanswered=(new_rater[rater], new_unit[unit]),
        gold=None if read.gold is None else read.gold[units],
        blank=int(blank.sum()),
    )


def _used(size: int, *codes: npt.NDArray[np.integer]) -> Mask:
    used = np.zeros(size, dtype=bool)
    for column in codes:
        used[column] = True
    return used
