"""Read a long table of ratings (one row per rating) into a ratings table: all of it, or nothing and a list of its faults."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from annotator.core.labels import MISSING_WORDS, Spelling, clean_label, label_number, remarks, write_number
from annotator.core.plain_file import FORMATS, UnreadableFile, plain_file
from annotator.hit_types.base import Level
from evaluation.agreement.reading_csv import csv_cells
from evaluation.agreement.reading_faults import ReadFaults, UnreadableRatings, some_names
from evaluation.agreement.reading_formats import json_cells, parquet_cells
from evaluation.core.ratings_table import Codes, Floats, Ratings

#: The largest compressed file, in bytes when unpacked.
MOST_BYTES = 4_000_000_000


@dataclass(frozen=True, eq=False)
class ReadRatings:
    """The table, the number of rows without a value (blank, or a label that means missing), and remarks on the labels."""

    ratings: Ratings
    blank: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Each row as codes, numbered in order of appearance; ``value`` is -1 if the cell is blank."""

    raters: list[str]
    units: list[str]
    values: list[str]
    rater: Codes
    unit: Codes
    value: Codes
    line: Codes
    clusters: list[str] = field(default_factory=list)
    cluster: Codes | None = None


def read_ratings(
    source: str | Path | BinaryIO,
    *,
    rater: str,
    unit: str,
    value: str,
    cluster: str = "",
    level: Level = "nominal",
    order: Sequence[str] = (),
    simulators: Collection[str] = (),
    spelling: Spelling = Spelling(),  # noqa: B008 (frozen)
    name: str = "",
) -> ReadRatings:
    """Read a file with one row per rating. ``rater``, ``unit`` and ``value`` name its columns; others are ignored.

    It can be CSV with commas, semicolons or tabs, JSON lines, Parquet or an Excel workbook, gzipped or in UTF-16: every
    format that ``annotator.core.plain_file`` lists. A file with any other extension is read as CSV.

    ``cluster`` names the column of the instance (explanation, document) that a unit belongs to; intervals resample
    instances. It must be the same on all rows of a unit.

    Spaces around a cell are dropped and its text is normalised to Unicode's composed form. A blank value is a missing
    rating. ``order`` lists the labels from low to high; an ordinal level needs it unless all labels are numbers. At
    interval and ratio level, labels are finite numbers (ratio: 0 or more), and cells with the same number have the same
    label. ``spelling`` says which labels mean missing, which are read as others, and whether case matters; the result's
    notes list labels that look like two spellings of one. ``name`` is what error messages call the file.

    Raises :class:`UnreadableRatings` if the file is not UTF-8 or not CSV, is empty, has NUL bytes or rows of unequal
    length, lacks a column or has it twice; if a rater or unit is blank, a rater has rated a unit twice, or a label is
    not in ``order`` or not a number that the level allows; or if a simulator is not among the raters.
    """
    shown = name or (str(source) if isinstance(source, str | Path) else "the file")
    data = Path(source).read_bytes() if isinstance(source, str | Path) else source.read()
    wanted = (rater, unit, value, cluster) if cluster else (rater, unit, value)
    rows = _read_rows(data, shown, wanted, spelling)
    del data
    faults = ReadFaults(shown)
    _refuse_doubles(rows, faults, unit)
    clusters = _clusters(rows, faults, cluster)
    labels, code = _labels(rows, level, [clean_label(label) for label in order], value, spelling, faults)
    faults.refuse()
    simulators = frozenset(map(clean_label, simulators))
    strange = sorted(simulators - set(rows.raters))
    if strange:
        raise UnreadableRatings(
            f"{shown}, column {rater!r}: no rater is called {strange[0]!r}; the raters are {some_names(sorted(rows.raters))}"
        )
    rated = rows.value >= 0
    raters, rater_code = _sorted_codes(rows.raters)
    units, unit_code = _sorted_codes(rows.units)
    table = Ratings(
        raters=raters,
        units=units,
        labels=labels,
        rater=rater_code[rows.rater[rated]],
        unit=unit_code[rows.unit[rated]],
        value=code[rows.value[rated]],
        level=level,
        simulators=simulators,
        clusters=None if clusters is None else clusters[np.argsort(unit_code)],
    )
    return ReadRatings(table, int((~rated).sum()), _notes(table, value))


def _read_rows(data: bytes, source: str, wanted: tuple[str, ...], spelling: Spelling) -> _Rows:
    if not data.strip(b"\xef\xbb\xbf \t\r\n"):
        raise UnreadableRatings(f"{source} is empty: expected a header and one row per rating")
    named = source if Path(source.removesuffix(".gz")).suffix.lower() in FORMATS else "ratings.csv"
    try:
        plain = plain_file(io.BytesIO(data), name=named, most_bytes=MOST_BYTES)
    except UnreadableFile as error:
        raise UnreadableRatings(f"{source} {error}") from None
    faults = ReadFaults(source)
    if plain.kind == "parquet":
        cells, lines = parquet_cells(plain.file, wanted, source)
    else:
        data = plain.file.read()
        _refuse_broken_text(data, source)
        if plain.kind == "jsonl":
            cells, lines = json_cells(data, wanted, source)
        else:
            cells, lines = csv_cells(data, plain.delimiter, wanted, faults)
    reads = (clean_label, clean_label, spelling.read, clean_label)
    raters, units, values, *more = (
        _column(texts, codes, read) for (texts, codes), read in zip(cells, reads, strict=False)
    )
    named_columns = ((raters, wanted[0], "rater"), (units, wanted[1], "unit"))
    for column, name, what in [*named_columns, *((column, wanted[3], "cluster") for column in more)]:
        for line in lines[column.codes < 0].tolist():
            faults.add(line, name, f"blank; expected a {what}")
    faults.refuse()
    if not lines.size:
        raise UnreadableRatings(f"{source} has a header and no rows; expected one row per rating")
    rows = _Rows(raters.names, units.names, values.names, raters.codes, units.codes, values.codes, lines)
    return replace(rows, clusters=more[0].names, cluster=more[0].codes) if more else rows


def _refuse_broken_text(data: bytes, source: str) -> None:
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise UnreadableRatings(f"{source}, line {line}: contains a NUL byte; expected text")
    try:
        if not data.isascii():
            data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        at = error.start - data.rfind(b"\n", 0, error.start)
        raise UnreadableRatings(
            f"{source}, line {line}, byte {at}: not UTF-8 (0x{data[error.start]:02x}); save the file as UTF-8"
        ) from None


@dataclass(frozen=True, eq=False)
class _CodedColumn:
    """One column's texts, and the code of each row's text; blank cells are -1."""

    names: list[str]
    codes: Codes


def _column(cells: Sequence[str], codes: Codes, read: Callable[[str], str]) -> _CodedColumn:
    """Replace codes of cells as written in the file by codes of what ``read`` returns for them."""
    names: dict[str, int] = {}
    code = [names.setdefault(name, len(names)) if (name := read(cell)) else -1 for cell in cells]
    return _CodedColumn(list(names), np.array(code, dtype=np.int32)[codes])


def _clusters(rows: _Rows, faults: ReadFaults, column: str) -> Codes | None:
    """Each unit's cluster, shape (units,), in the order of the file; a unit in two clusters is a fault."""
    if rows.cluster is None:
        return None
    _, first = np.unique(rows.unit, return_index=True)
    own = rows.cluster[first]
    for row in np.flatnonzero(own[rows.unit] != rows.cluster).tolist():
        unit, before = rows.units[rows.unit[row]], int(rows.line[first[rows.unit[row]]])
        faults.add(
            int(rows.line[row]), column,
            f"{rows.clusters[rows.cluster[row]]!r}; {unit!r} belongs to {rows.clusters[own[rows.unit[row]]]!r} in line {before}",
        )  # fmt: skip
    return own


def _refuse_doubles(rows: _Rows, faults: ReadFaults, unit: str) -> None:
    """Add a fault for every repeated rating of a unit by one rater, with the line of the first."""
    rated = np.flatnonzero(rows.value >= 0)
    key = rows.unit[rated].astype(np.int64) * len(rows.raters) + rows.rater[rated]
    ordered = np.sort(key)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first: dict[int, int] = {}
    for index in np.sort(order[np.isin(ordered, ordered[1:][ordered[1:] == ordered[:-1]])]).tolist():
        row, pair = int(rated[index]), int(key[index])
        if pair in first:
            who, what = rows.raters[rows.rater[row]], rows.units[rows.unit[row]]
            faults.add(
                int(rows.line[row]), unit, f"{who!r} has rated {what!r} twice, first in line {first[pair]}"
            )
        else:
            first[pair] = int(rows.line[row])


def _labels(
    rows: _Rows, level: Level, order: Sequence[str], column: str, spelling: Spelling, faults: ReadFaults
) -> tuple[tuple[str, ...], Codes]:
    """The labels in order, and the code of each value that occurs."""
    if order and level in ("interval", "ratio"):
        raise UnreadableRatings(f"order: not needed at {level} level, whose labels are numbers")
    if len(set(order)) < len(order):
        raise UnreadableRatings(f"order: a label occurs twice in {', '.join(order)}")
    given = np.bincount(rows.value[rows.value >= 0], minlength=len(rows.values)).tolist()
    if order or level == "nominal":
        one_name = spelling.one_name(dict(zip(rows.values, given, strict=True)), declared=order)
        values = [one_name.get(label, label) for label in rows.values]
        names = tuple(order) or tuple(sorted(set(values)))
        return names, _known(rows, values, names, column, faults)
    numbers = _numbers(rows, level, column, faults)
    distinct = sorted(set(numbers.tolist()))
    place = {number: index for index, number in enumerate(distinct)}
    code = np.array([place[number] for number in numbers.tolist()], dtype=np.int32)
    return tuple(map(write_number, distinct)), code


def _known(
    rows: _Rows, values: Sequence[str], labels: Sequence[str], column: str, faults: ReadFaults
) -> Codes:
    place = {label: index for index, label in enumerate(labels)}
    code = np.array([place.get(label, -1) for label in values], dtype=np.int32)
    expected = f"one of the order's labels, {some_names(labels)}; --recode OLD=NEW reads one label as another"
    _fault_values(rows, code < 0, expected, column, faults)
    return np.maximum(code, 0)


def _notes(ratings: Ratings, column: str) -> tuple[str, ...]:
    """Remarks on the labels that were given; numbers cannot be spelled in two ways."""
    if ratings.level in ("interval", "ratio"):
        return ()
    given = np.bincount(ratings.value, minlength=len(ratings.labels)).tolist()
    counts = {label: count for label, count in zip(ratings.labels, given, strict=True) if count}
    return tuple(remarks(column, counts))


def _numbers(rows: _Rows, level: Level, column: str, faults: ReadFaults) -> Floats:
    expected = "a number" if level != "ratio" else "a number, 0 or more"
    numbers: Floats = np.array([label_number(text) for text in rows.values], dtype=np.float64)
    bad = ~np.isfinite(numbers) | ((numbers < 0) if level == "ratio" else False)
    words = [text for text in rows.values if text.lower() in MISSING_WORDS]
    if words:
        expected += f"; --missing {words[0]} reads it as a missing rating"
    if level == "ordinal" and bad.any():
        raise UnreadableRatings(
            f"{faults.source}, column {column!r}: ordinal labels that are not numbers need their order, "
            f"from low to high: {some_names(sorted(rows.values))}"
        )
    _fault_values(rows, bad, expected, column, faults)
    return np.where(bad, 0.0, numbers)


def _fault_values(
    rows: _Rows, bad: npt.NDArray[np.bool_], expected: str, column: str, faults: ReadFaults
) -> None:
    if not bad.any():
        return
    for row in np.flatnonzero((rows.value >= 0) & bad[np.maximum(rows.value, 0)]).tolist():
        faults.add(int(rows.line[row]), column, f"{rows.values[rows.value[row]]!r}; expected {expected}")


def _sorted_codes(names: list[str]) -> tuple[tuple[str, ...], Codes]:
    """The names sorted, and the new code of each old one, so that results do not depend on the order of rows."""
    order = sorted(range(len(names)), key=names.__getitem__)
    code = np.empty(len(names), dtype=np.int32)
    code[order] = np.arange(len(names), dtype=np.int32)
    return tuple(names[index] for index in order), code
