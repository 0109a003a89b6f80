"""Read a table of label counts (one row per unit, a column per label) into a ratings table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from annotator.core.labels import clean_label, label_number
from annotator.core.tables.columns import Cells
from annotator.core.tables.faults import FaultLog
from annotator.hit_types.base import Level
from evaluation.agreement.reading import ReadRatings
from evaluation.agreement.reading_columns import SHOWN, coded_column, file_cells, joined_columns, sorted_codes
from evaluation.core.ratings_table import Codes, Ratings

#: No unit has more ratings of one label than this; a larger count is an error of the file.
MOST_RATERS = 100_000


def read_counts(
    source: str | Path | BinaryIO,
    *,
    unit: str | Sequence[str],
    counts: Sequence[str],
    gold: str = "",
    level: Level = "nominal",
    name: str = "",
) -> ReadRatings:
    """Read a table with one row per unit and a column per label that counts how often the unit got it.

    ``counts`` names those columns; they are the labels, from low to high. Nobody knows who gave which label, so raters are
    numbered within each unit, and statistics of single raters or pairs mean nothing. ``gold`` is the column of each unit's correct
    label, one of ``counts`` or blank. Raises :class:`FileRefused` for a cell that is not a whole number from 0, a correct label
    that no column counts, a unit that is blank or listed twice.
    """
    shown = name or (str(source) if isinstance(source, str | Path) else "the file")
    log = FaultLog(shown, kept=SHOWN)
    units = (unit,) if isinstance(unit, str) else tuple(unit)
    cells, lines = file_cells(source, (*units, *counts, *filter(None, [gold])), log)
    columns = [coded_column(*column, clean_label) for column in cells[: len(units)]]
    named = joined_columns(columns, log)
    for title, column in zip(units, columns, strict=True):
        for line in lines[column.codes < 0].tolist():
            log.add("blank; expected a unit", line=line, field=title)
    table = np.stack(
        [_whole_numbers(c, lines, n, log) for c, n in zip(cells[len(units) :], counts, strict=False)]
    )
    correct = _correct_labels(cells[-1], lines, gold, counts, level, log) if gold else None
    _, first = np.unique(named.codes, return_index=True)
    for row in np.setdiff1d(np.arange(named.codes.size), first).tolist():
        log.add(
            f"{named.names[named.codes[row]]!r} is listed twice",
            line=int(lines[row]),
            field=" + ".join(units),
        )
    log.check()
    names, unit_code = sorted_codes(named.names)
    per_row = table.T  # rows by labels
    sizes = per_row.sum(axis=1)
    value = np.repeat(np.tile(np.arange(len(counts)), per_row.shape[0]), per_row.ravel()).astype(np.int32)
    rater = (np.arange(value.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)).astype(np.int32)
    width = len(str(int(sizes.max(initial=0))))
    ratings = Ratings(
        raters=tuple(f"rater {number + 1:0{width}}" for number in range(int(sizes.max(initial=0)))),
        units=names,
        labels=tuple(map(clean_label, counts)),
        rater=rater,
        unit=np.repeat(unit_code[named.codes], sizes).astype(np.int32),
        value=value,
        level=level,
    )
    if level in ("interval", "ratio") and np.isnan([label_number(label) for label in ratings.labels]).any():
        log.refuse(f"counts: at {level} level the columns' names are numbers, got {', '.join(counts)}")
    by_unit = None
    if correct is not None:
        by_unit = np.full(len(names), -1, dtype=np.int32)
        by_unit[unit_code[named.codes]] = correct
    return ReadRatings(ratings, 0, gold=by_unit)


def _correct_labels(
    cells: Cells, lines: Codes, column: str, counts: Sequence[str], level: Level, log: FaultLog
) -> Codes:
    """Each row's correct label as a code, -1 where the cell is blank."""
    labels = list(map(clean_label, counts))
    place = {label: code for code, label in enumerate(labels)}
    if level in ("interval", "ratio"):  # 1.0 is the column 1
        numbers = {label_number(label): code for code, label in enumerate(labels)}
        place |= {
            text: numbers[n] for cell in cells[0] if (n := label_number(text := clean_label(cell))) in numbers
        }
    texts = [clean_label(text) for text in cells[0]]
    codes = np.array([place.get(text, -1) for text in texts], dtype=np.int32)[cells[1]]
    unknown = np.array([bool(text) and text not in place for text in texts], dtype=bool)[cells[1]]
    for row in np.flatnonzero(unknown).tolist():
        log.add(
            f"expected one of the columns with counts: {', '.join(labels)}",
            line=int(lines[row]),
            field=column,
            value=texts[cells[1][row]],
        )
    return codes


def _whole_numbers(cells: Cells, lines: Codes, column: str, log: FaultLog) -> npt.NDArray[np.int64]:
    """A column of counts; blank is 0."""
    numbers = [label_number(clean_label(text)) if clean_label(text) else 0.0 for text in cells[0]]
    wrong = np.array(
        [not 0 <= number <= MOST_RATERS or number != int(number) for number in numbers], dtype=bool
    )
    for row in np.flatnonzero(wrong[cells[1]]).tolist() if wrong.any() else ():
        log.add(
            f"expected how many ratings, a whole number from 0 to {MOST_RATERS:,}",
            line=int(lines[row]),
            field=column,
            value=cells[0][cells[1][row]],
        )
    whole = np.array(
        [0 if bad else int(number) for number, bad in zip(numbers, wrong, strict=True)], dtype=np.int64
    )
    return whole[cells[1]]
