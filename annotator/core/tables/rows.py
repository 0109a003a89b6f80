"""The rows of a file, with their line numbers: CSV, JSON lines and lists, Parquet and Excel.

Only one row (Parquet: one batch) is in memory at a time. Files are unpacked and decoded as
``plain_file`` lists; otherwise reading is strict. A fault goes to the log with its line, and reading continues if possible.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from annotator.core.labels import clean_label
from annotator.core.tables.faults import FaultLog
from annotator.core.tables.json_lines import UnreadableLine, json_object, unstorable
from annotator.core.tables.json_stream import UnreadableElement, json_elements
from annotator.core.tables.plain_file import Limits, plain_file

Values = dict[str, Any]
Line = tuple[int, Values]
#: A row of a CSV: the line on which it begins, and its cells.
CsvRow = tuple[int, list[str]]

#: A first line that begins a JSON document of several lines.
_DOCUMENT_STARTS = ("[", "{", "[{")
_PIECE = 1 << 18


@dataclass
class TableFile:
    """An opened file: its columns if the format has a header (JSON lines don't), and its rows, which can be read once."""

    columns: tuple[str, ...] | None
    rows: Iterator[Line]


def table_open(
    file: IO[bytes],
    *,
    name: str,
    log: FaultLog,
    limits: Limits,
    lists: bool = False,
    skip_blank: bool = False,
) -> TableFile:
    """Open a file of rows by the extension of ``name``; size and format are checked before anything is read.

    ``file`` is a seekable binary file. ``lists``: JSON may be a list of objects, whose lines are their numbers.
    ``skip_blank``: blank lines between rows are no faults. Raises ``FileRefused`` if the file can't be read at all; other
    faults go to ``log`` while the rows are read.
    """
    plain = plain_file(file, name=name, limits=limits, log=log)
    if plain.kind == "parquet":
        from annotator.core.tables.parquet import parquet_open  # it needs pyarrow

        names, rows = parquet_open(plain.file, log, limits)
        _refuse_duplicates(names, 1, log)
        return TableFile(tuple(names), _limited(rows, log, limits))
    if plain.kind == "jsonl":
        start = plain.file.tell()
        if lists and plain.file.read(1_000).lstrip().startswith(b"["):
            plain.file.seek(start)
            return TableFile(None, _limited(json_list(plain.file, log, limits), log, limits))
        plain.file.seek(start)
        return TableFile(
            None, _limited(json_rows(plain.file, log, limits, skip_blank=skip_blank), log, limits)
        )
    line, header, cells = csv_open(plain.file, log, limits, delimiter=plain.delimiter, skip_blank=skip_blank)
    _refuse_duplicates(header, line, log)
    records = (
        (number, {name: cell for name, cell in zip(header, row, strict=True) if name})
        for number, row in cells
    )
    return TableFile(tuple(filter(None, header)), _limited(records, log, limits))


def _limited(rows: Iterator[Any], log: FaultLog, limits: Limits) -> Iterator[Any]:
    for number, row in enumerate(rows):
        if number >= limits.rows:
            log.add(f"expected at most {limits.rows:,} rows", line=row[0])
            return
        yield row


def _check_header(header: Sequence[str], line: int, log: FaultLog, limits: Limits) -> None:
    """Columns without a name can't be chosen and are ignored: R and pandas write the rows' numbers into one."""
    if len(header) > limits.columns:
        log.refuse(f"expected at most {limits.columns} columns, got {len(header)}", line=line)
    if not any(header):
        log.refuse("is blank; expected a header: the columns' names", line=line)
    if len(header) == 1 and "|" in header[0]:
        log.refuse(
            "the columns seem to be separated by |; use commas, semicolons or tabs",
            line=line,
            value=header[0],
        )


def _refuse_duplicates(header: Sequence[str], line: int, log: FaultLog) -> None:
    for position, name in enumerate(header):
        if name and name in header[:position]:
            log.add("two columns have this name", line=line, field=name)
    log.check()


def _text_lines(file: IO[bytes], log: FaultLog, limits: Limits, broken: set[int]) -> Iterator[str]:
    """The lines as text, each with its end. One that isn't text is a fault; it is yielded as a blank line, and its number is
    added to ``broken`` just before."""
    number, begun = 0, b""
    while True:
        piece = file.read(_PIECE)
        block = begun + piece
        end = block.rfind(b"\n") + 1 if piece else len(block)
        block, begun = block[:end], block[end:]
        lines = block.count(b"\n")
        if len(begun) > limits.line:
            log.refuse(f"expected lines of at most {limits.line:,} bytes", line=number + lines + 1)
        text = _text(block) if len(block) <= limits.line else None
        if text is not None:
            yield from io.StringIO(text, newline="\n")
        else:
            for place, line in enumerate(io.BytesIO(block), start=number + 1):
                yield _line_text(line, place, log, limits, broken)
        if not piece:
            return
        number += lines


def _text(block: bytes) -> str | None:
    try:
        return None if b"\x00" in block else block.decode()
    except UnicodeDecodeError:
        return None


def _line_text(line: bytes, number: int, log: FaultLog, limits: Limits, broken: set[int]) -> str:
    if len(line) > limits.line:
        log.refuse(f"expected lines of at most {limits.line:,} bytes", line=number)
    try:
        if b"\x00" not in line:
            return line.decode()
        log.add(f"has a NUL byte at byte {line.index(0) + 1} of the line", line=number)
    except UnicodeDecodeError as error:
        log.add(
            f"is not UTF-8 at byte {error.start + 1} of the line; save the file as UTF-8 (in Excel: CSV UTF-8)",
            line=number,
            value=line[max(error.start - 10, 0) : error.end + 10].decode("utf-8", "backslashreplace"),
        )
    broken.add(number)
    return "\n"


# -- JSON lines ----------------------------------------------------------------------------------------


def json_rows(file: IO[bytes], log: FaultLog, limits: Limits, *, skip_blank: bool = False) -> Iterator[Line]:
    blank: int | None = None
    broken: set[int] = set()
    for number, text in enumerate(_text_lines(file, log, limits, broken), start=1):
        if number in broken:
            continue
        if not text.strip():
            blank = blank or number
            continue
        if blank and not skip_blank:
            log.add("is blank; expected one JSON object per line", line=blank)
        blank = None
        if number == 1 and text.strip() in _DOCUMENT_STARTS:
            log.refuse(
                "begins a JSON document of several lines; expected one JSON object per line (pandas: to_json(..., "
                "orient='records', lines=True); jq: jq -c '.[]')",
                line=number,
                value=text.strip(),
            )
        try:
            value = json_object(text)
        except UnreadableLine as error:
            log.add(str(error), line=number, value=text.strip() if error.show else None)
            continue
        if len(value) > 1 and all(isinstance(cell, list | dict) for cell in value.values()):
            log.refuse(
                f"is one JSON object with {len(value):,} keys that hold lists and objects; expected one object per row, with a "
                "key for each column",
                line=number,
            )
        yield number, value


def json_list(file: IO[bytes], log: FaultLog, limits: Limits) -> Iterator[Line]:
    """The objects of a file that is one JSON list, numbered from 1. Raises ``FileRefused`` if it isn't one."""
    try:
        for number, value in enumerate(json_elements(file, most=limits.line), start=1):
            if not isinstance(value, dict):
                log.add(f"expected a JSON object, got {type(value).__name__}", line=number)
            elif fault := unstorable(value):
                log.add(f"holds {fault}", line=number)
            else:
                yield number, value
    except UnreadableElement as error:
        log.refuse(f"is not a JSON array of objects: {error}", line=error.number or None)


# -- CSV -----------------------------------------------------------------------------------------------


def csv_open(
    file: IO[bytes], log: FaultLog, limits: Limits, *, delimiter: str, skip_blank: bool
) -> tuple[int, list[str], Iterator[CsvRow]]:
    """The header's line, the columns' names, and the rows, all as wide as the header."""
    rows = _csv_rows(file, log, limits, delimiter, skip_blank=skip_blank)
    try:
        number, header = next(rows)
    except StopIteration:
        log.refuse("has no header")
    names = [clean_label(name) for name in header]
    _check_header(names, number, log, limits)
    return number, names, rows


def _csv_rows(
    file: IO[bytes], log: FaultLog, limits: Limits, delimiter: str, *, skip_blank: bool
) -> Iterator[CsvRow]:
    """The header, then the rows that are as wide, each with the line on which it begins. A row that includes an undecodable
    line is left out."""
    broken: set[int] = set()
    csv.field_size_limit(limits.cell)
    reader = csv.reader(_text_lines(file, log, limits, broken), delimiter=delimiter, strict=True)
    begin, blank, width = 1, 0, -1
    try:
        for row in reader:
            if broken:
                broken.clear()
            elif width < 0:
                width = len(row)
                yield begin, row
            elif not row:
                blank = blank or begin
            else:
                if blank:
                    if not skip_blank:
                        log.add(f"is blank; expected {width} cells", line=blank)
                    blank = 0
                if len(row) == width:
                    yield begin, row
                else:
                    log.add(f"expected {width} cells, got {len(row)}", line=begin)
            begin = reader.line_num + 1
    except csv.Error as error:
        log.refuse(_csv_fault(str(error), limits), line=begin)


def _csv_fault(message: str, limits: Limits) -> str:
    if "unexpected end of data" in message:
        return "a quoted cell begins here and never ends"
    if "field larger than" in message:
        return f"expected cells of at most {limits.cell:,} characters; is a quote left open?"
    if "expected after" in message:
        return "a quote inside a quoted cell; write it twice"
    return f"is not CSV: {message}"
