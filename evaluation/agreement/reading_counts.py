"""Read a table of label counts (one row per unit, a column per label) into a ratings table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from annotator.core.labels import clean_label, label_number
from annotator.hit_types.base import Level
from evaluation.agreement.reading import ReadRatings
from evaluation.agreement.reading_columns import coded_column, file_cells, joined_columns, sorted_codes
from evaluation.agreement.reading_faults import Cells, ReadFaults, UnreadableRatings
from evaluation.core.ratings_table import Codes, Ratings

#: No unit has more ratings of one label than this; a larger count is an error of the file.
MOST_RATERS = 100_000


def read_counts(
    source: str | Path | BinaryIO,
    *,
    unit: str | Sequence[str],
    counts: Sequence[str],
    level: Level = "nominal",
    name: str = "",
) -> ReadRatings:
    """Read a table with one row per unit and a column per label that counts how often the unit got it.

    ``counts`` names those columns; they are the labels, from low to high. Nobody knows who gave which label, so raters are
    numbered within each unit, and statistics of single raters or pairs mean nothing. Raises
    :class:`UnreadableRatings` for a cell that is not a whole number from 0, a unit that is blank or listed twice.
    """
    shown = name or (str(source) if isinstance(source, str | Path) else "the file")
    data = Path(source).read_bytes() if isinstance(source, str | Path) else source.read()
    units = (unit,) if isinstance(unit, str) else tuple(unit)
    faults, wanted = ReadFaults(shown), (*units, *counts)
    if len(set(wanted)) < len(wanted):
        raise UnreadableRatings(f"unit and counts must be different columns, got {', '.join(wanted)}")
    cells, lines = file_cells(data, shown, wanted, faults)
    faults.refuse()
    named = joined_columns([coded_column(*column, clean_label) for column in cells[: len(units)]])
    for line in lines[
        np.concatenate([np.flatnonzero(coded_column(*c, clean_label).codes < 0) for c in cells[: len(units)]])
    ]:
        faults.add(int(line), units[0], "blank; expected a unit")
    table = np.stack(
        [_whole_numbers(c, lines, n, faults) for c, n in zip(cells[len(units) :], counts, strict=True)]
    )
    _, first = np.unique(named.codes, return_index=True)
    for row in np.setdiff1d(np.arange(named.codes.size), first).tolist():
        faults.add(int(lines[row]), " + ".join(units), f"{named.names[named.codes[row]]!r} is listed twice")
    faults.refuse()
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
        raise UnreadableRatings(
            f"counts: at {level} level the columns' names are numbers, got {', '.join(counts)}"
        )
    return ReadRatings(ratings, 0)


def _whole_numbers(cells: Cells, lines: Codes, column: str, faults: ReadFaults) -> npt.NDArray[np.int64]:
    """A column of counts; blank is 0."""
    numbers = [label_number(clean_label(text)) if clean_label(text) else 0.0 for text in cells[0]]
    wrong = np.array(
        [not 0 <= number <= MOST_RATERS or number != int(number) for number in numbers], dtype=bool
    )
    for row in np.flatnonzero(wrong[cells[1]]).tolist() if wrong.any() else ():
        text = cells[0][cells[1][row]]
        faults.add(
            int(lines[row]),
            column,
            f"{text!r}; expected how many ratings, a whole number from 0 to {MOST_RATERS:,}",
        )
    whole = np.array(
        [0 if bad else int(number) for number, bad in zip(numbers, wrong, strict=True)], dtype=np.int64
    )
    return whole[cells[1]]
