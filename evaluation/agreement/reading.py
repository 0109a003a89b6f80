"""A long table of ratings, one row a rating, into a ratings table: all of it, or every fault with its line and column."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from annotator.core.labels import MISSING_WORDS, Spelling, clean_label, label_number, remarks, write_number
from annotator.core.plain_file import FORMATS, UnreadableFile, plain_file
from annotator.hit_types.base import Level
from evaluation.agreement.reading_formats import Cells, UnreadableRatings, json_cells, parquet_cells
from evaluation.core.ratings_table import Codes, Floats, Ratings

#: Faults that are told one by one; the rest is counted.
SHOWN = 20
#: Rows coded at once.
_ROWS = 1_000
#: Nothing larger is unpacked.
MOST_BYTES = 4_000_000_000
#: Bytes from which a second reader is worth its import.
LARGE = 1_000_000
_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True, eq=False)
class ReadRatings:
    """The table; how many rows had a blank value or a label that stands for none; and what is odd about the labels."""

    ratings: Ratings
    blank: int
    notes: tuple[str, ...] = ()


@dataclass
class _Faults:
    """Faults in order; after the first ``SHOWN`` they are only counted."""

    source: str
    messages: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, line: int, column: str, message: str) -> None:
        self.count += 1
        if self.count <= SHOWN:
            where = f", column {column!r}" if column else ""
            self.messages.append(f"{self.source}, line {line}{where}: {message}")

    def refuse(self) -> None:
        if self.count:
            more = [f"and {self.count - SHOWN} more"] if self.count > SHOWN else []
            raise UnreadableRatings("\n".join(self.messages + more))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Codes of each row in order of appearance; ``value`` is -1 where blank."""

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
    """Read a file with one row a rating; ``rater``, ``unit`` and ``value`` name its columns, others are not looked at.

    It may be a CSV with commas, semicolons or tabs, JSON lines, Parquet or an Excel workbook, gzipped or in UTF-16: all
    that ``annotator.core.plain_file`` lists; a file of another ending is read as CSV.

    ``cluster`` names the column of the instance (explanation, document) that a unit belongs to: intervals draw those. It
    must be the same on all rows of a unit.

    Spaces around a cell are dropped and its text is brought to Unicode's composed form. A blank value is a missing rating.
    ``order`` gives the labels and their order; an ordinal level needs it, but for labels that are all numbers. At
    interval and ratio level labels are finite numbers (ratio: 0 or more), and cells that are one number are one label.
    ``spelling`` says which labels stand for none, which are read as others, and whether case counts; the notes of the
    result remark on labels that look like several spellings of one. ``name`` stands for the file in messages.

    :class:`UnreadableRatings` where the file is not UTF-8 or not CSV, is empty, has NUL bytes or ragged rows, lacks
    a column or has it twice, where a rater or unit is blank, a rater has rated a unit twice, a label is not in
    ``order`` or not the number that the level asks for, or a simulator is not a rater.
    """
    shown = name or (str(source) if isinstance(source, str | Path) else "the file")
    data = Path(source).read_bytes() if isinstance(source, str | Path) else source.read()
    wanted = (rater, unit, value, cluster) if cluster else (rater, unit, value)
    rows = _read_rows(data, shown, wanted, spelling)
    del data
    faults = _Faults(shown)
    _refuse_doubles(rows, faults, unit)
    clusters = _clusters(rows, faults, cluster)
    labels, code = _labels(rows, level, [clean_label(label) for label in order], value, spelling, faults)
    faults.refuse()
    simulators = frozenset(map(clean_label, simulators))
    strange = sorted(simulators - set(rows.raters))
    if strange:
        raise UnreadableRatings(
            f"{shown}, column {rater!r}: no rater is called {strange[0]!r}; there are {_some(sorted(rows.raters))}"
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
        raise UnreadableRatings(f"{source} is empty: expected a header and one row a rating")
    named = source if Path(source.removesuffix(".gz")).suffix.lower() in FORMATS else "ratings.csv"
    try:
        plain = plain_file(io.BytesIO(data), name=named, most_bytes=MOST_BYTES)
    except UnreadableFile as error:
        raise UnreadableRatings(f"{source} {error}") from None
    faults = _Faults(source)
    if plain.kind == "parquet":
        cells, lines = parquet_cells(plain.file, wanted, source)
    else:
        data = plain.file.read()
        _refuse_broken_text(data, source)
        if plain.kind == "jsonl":
            cells, lines = json_cells(data, wanted, source)
        else:
            cells, lines = _csv_cells(data, plain.delimiter, wanted, faults)
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
        raise UnreadableRatings(f"{source} has a header and no rows; expected one row a rating")
    rows = _Rows(raters.names, units.names, values.names, raters.codes, units.codes, values.codes, lines)
    return replace(rows, clusters=more[0].names, cluster=more[0].codes) if more else rows


def _refuse_broken_text(data: bytes, source: str) -> None:
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise UnreadableRatings(f"{source}, line {line}: a NUL byte; expected text")
    try:
        if not data.isascii():
            data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        at = error.start - data.rfind(b"\n", 0, error.start)
        raise UnreadableRatings(
            f"{source}, line {line}, byte {at}: not UTF-8 (0x{data[error.start]:02x}); save the file as UTF-8"
        ) from None


def _csv_cells(
    data: bytes, delimiter: str, wanted: tuple[str, ...], faults: _Faults
) -> tuple[list[Cells], Codes]:
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    reader = csv.reader(text, strict=True, delimiter=delimiter)
    try:
        header = next(reader)
        places = _places(header, wanted, faults.source)
        return _simple_cells(data, delimiter, header, places) or _cells(reader, len(header), places, faults)
    except csv.Error as error:
        raise UnreadableRatings(f"{faults.source}, line {reader.line_num}: not valid CSV: {error}") from None


def _places(header: Sequence[str], wanted: Sequence[str], source: str) -> list[int]:
    """Where the wanted columns are."""
    names = [cell.strip() for cell in header]
    if len(set(wanted)) < len(wanted):
        raise UnreadableRatings(
            f"rater, unit and value must be three columns (cluster a fourth), got {', '.join(wanted)}"
        )
    for column in wanted:
        found = names.count(column.strip())
        if found == 0:
            raise UnreadableRatings(
                f"{source}, line 1: there is no column {column!r}; there are {_some(names)}"
            )
        if found > 1:
            raise UnreadableRatings(f"{source}, line 1: {found} columns are called {column!r}; expected one")
    return [names.index(column.strip()) for column in wanted]


@dataclass(frozen=True, eq=False)
class _CodedColumn:
    """One column's texts, and the code of each row's text; blank cells are -1."""

    names: list[str]
    codes: Codes


def _column(cells: Sequence[str], codes: Codes, read: Callable[[str], str]) -> _CodedColumn:
    """From codes of cells as they stand in the file to codes of what ``read`` makes of them."""
    names: dict[str, int] = {}
    code = [names.setdefault(name, len(names)) if (name := read(cell)) else -1 for cell in cells]
    return _CodedColumn(list(names), np.array(code, dtype=np.int32)[codes])


def _cells(reader: Any, width: int, places: list[int], faults: _Faults) -> tuple[list[Cells], Codes]:
    """Code the cells of any CSV as they come, many rows at a time; only the codes are kept, not the rows."""
    seen: list[dict[str, int]] = [{} for _ in places]
    codes: list[list[Codes]] = [[np.zeros(0, dtype=np.int32)] for _ in seen]
    lines = [np.zeros(0, dtype=np.int32)]
    line = reader.line_num
    while chunk := list(islice(reader, _ROWS)):
        starts = _lines_of(chunk, line, reader.line_num)
        line = reader.line_num
        if set(map(len, chunk)) != {width}:
            for row, start in zip(chunk, starts.tolist(), strict=True):
                if row and len(row) != width:
                    faults.add(start, "", f"{len(row)} cells; expected {width}, as in the header")
            whole = [len(row) == width for row in chunk]
            chunk, starts = list(compress(chunk, whole)), starts[np.array(whole)]
        lines.append(starts)
        for known, parts, place in zip(seen, codes, places, strict=True):
            given = [row[place] for row in chunk]
            for cell in set(given).difference(known):  # not "-": that would walk through all that is known
                known[cell] = len(known)
            parts.append(np.fromiter(map(known.__getitem__, given), dtype=np.int32, count=len(given)))
    columns: list[Cells] = [
        (list(known), np.concatenate(parts)) for known, parts in zip(seen, codes, strict=True)
    ]
    return columns, np.concatenate(lines)


def _lines_of(chunk: list[list[str]], before: int, after: int) -> Codes:
    """The line that each row starts on, the rows taking lines ``before + 1`` to ``after``."""
    if after - before == len(chunk):
        return np.arange(before + 1, after + 1, dtype=np.int32)
    spans = np.array([1 + sum(len(_LINE_END.findall(cell)) for cell in row) for row in chunk], dtype=np.int32)
    return (before + 1 + np.cumsum(spans) - spans).astype(np.int32)


def _simple_cells(
    data: bytes, delimiter: str, header: Sequence[str], places: list[int]
) -> tuple[list[Cells], Codes] | None:
    """The same, several times faster, for a large file without quotes, blank lines and ragged rows; else None.

    In such a file every comma parts cells and every line is a row, so that any CSV reader reads it alike.
    """
    if len(data) < LARGE or b'"' in data or data.count(b"\r") != data.count(b"\r\n"):
        return None
    import pyarrow as pa  # a tenth of a second that small files need not wait for
    from pyarrow import csv as pyarrow_csv

    names = [str(place) for place in range(len(header))]
    wanted = [names[place] for place in places]
    kind = pa.dictionary(pa.int32(), pa.string())
    try:
        table = pyarrow_csv.read_csv(
            pa.py_buffer(data.removeprefix(codecs.BOM_UTF8)),
            read_options=pyarrow_csv.ReadOptions(column_names=names, skip_rows=1),
            parse_options=pyarrow_csv.ParseOptions(quote_char=False, delimiter=delimiter),
            convert_options=pyarrow_csv.ConvertOptions(
                include_columns=wanted,
                column_types=dict.fromkeys(wanted, kind),
                null_values=[],
                strings_can_be_null=False,
            ),
        ).unify_dictionaries()
    except pa.ArrowInvalid:  # ragged: the careful reader says where
        return None
    if table.num_rows + 1 != data.count(b"\n") + (not data.endswith(b"\n")):
        return None
    arrays = [table[name].combine_chunks() for name in wanted]
    columns: list[Cells] = [(found.dictionary.to_pylist(), found.indices.to_numpy()) for found in arrays]
    return columns, np.arange(2, table.num_rows + 2, dtype=np.int32)


def _clusters(rows: _Rows, faults: _Faults, column: str) -> Codes | None:
    """Shape (units,): each unit's cluster, as codes of the units in the order of the file; a unit in two is a fault."""
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


def _refuse_doubles(rows: _Rows, faults: _Faults, unit: str) -> None:
    """Every second rating of a unit by one rater, with the line of the first."""
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
    rows: _Rows, level: Level, order: Sequence[str], column: str, spelling: Spelling, faults: _Faults
) -> tuple[tuple[str, ...], Codes]:
    """The labels in order, and the code of each value that occurs."""
    if order and level in ("interval", "ratio"):
        raise UnreadableRatings(f"order: {level} labels are numbers, which have their order")
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


def _known(rows: _Rows, values: Sequence[str], labels: Sequence[str], column: str, faults: _Faults) -> Codes:
    place = {label: index for index, label in enumerate(labels)}
    code = np.array([place.get(label, -1) for label in values], dtype=np.int32)
    expected = f"one of the order's labels, {_some(labels)}; --recode OLD=NEW reads one label as another"
    _fault_values(rows, code < 0, expected, column, faults)
    return np.maximum(code, 0)


def _notes(ratings: Ratings, column: str) -> tuple[str, ...]:
    """Remarks on the labels that were given; numbers cannot be spelled in two ways."""
    if ratings.level in ("interval", "ratio"):
        return ()
    given = np.bincount(ratings.value, minlength=len(ratings.labels)).tolist()
    counts = {label: count for label, count in zip(ratings.labels, given, strict=True) if count}
    return tuple(remarks(column, counts))


def _numbers(rows: _Rows, level: Level, column: str, faults: _Faults) -> Floats:
    expected = "a number" if level != "ratio" else "a number, 0 or more"
    numbers: Floats = np.array([label_number(text) for text in rows.values], dtype=np.float64)
    bad = ~np.isfinite(numbers) | ((numbers < 0) if level == "ratio" else False)
    words = [text for text in rows.values if text.lower() in MISSING_WORDS]
    if words:
        expected += f"; --missing {words[0]} reads it as no answer"
    if level == "ordinal" and bad.any():
        raise UnreadableRatings(
            f"{faults.source}, column {column!r}: ordinal labels that are not numbers need their order, "
            f"from low to high: {_some(sorted(rows.values))}"
        )
    _fault_values(rows, bad, expected, column, faults)
    return np.where(bad, 0.0, numbers)


def _fault_values(
    rows: _Rows, bad: npt.NDArray[np.bool_], expected: str, column: str, faults: _Faults
) -> None:
    if not bad.any():
        return
    for row in np.flatnonzero((rows.value >= 0) & bad[np.maximum(rows.value, 0)]).tolist():
        faults.add(int(rows.line[row]), column, f"{rows.values[rows.value[row]]!r}; expected {expected}")


def _sorted_codes(names: list[str]) -> tuple[tuple[str, ...], Codes]:
    """The names in order, and the new code of each old one: results do not depend on the order of the rows."""
    order = sorted(range(len(names)), key=names.__getitem__)
    code = np.empty(len(names), dtype=np.int32)
    code[order] = np.arange(len(names), dtype=np.int32)
    return tuple(names[index] for index in order), code


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
