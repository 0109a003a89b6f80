"""Readers of import files: JSON lines, CSV, Parquet and Excel. Each yields rows with their line numbers. Readers
stream: only one row (Parquet: one batch) is in memory at a time. Files are unpacked and decoded as
``annotator.core.plain_file`` lists; otherwise reading is strict. A fault goes to the log with its line, and reading
continues if possible.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.conf import settings

from annotator.core.json_lines import UnreadableLine, json_object, unstorable
from annotator.core.labels import clean_label
from annotator.core.plain_file import FORMATS as plain_file_formats
from annotator.core.plain_file import UnreadableFile, plain_file
from annotator.services.imports.faults import FaultLog, UnreadableRest

Values = dict[str, Any]
Line = tuple[int, Values]

MAX_LINE = 1_000_000
MAX_CELL = 131_072
MAX_COLUMNS = 500
#: File extensions that an import accepts, for the file field of a form.
FORMATS = (*plain_file_formats, ".gz")


def max_bytes() -> int:
    """The largest file that can be imported, in bytes (setting ``IMPORT_MAX_BYTES``)."""
    return int(getattr(settings, "IMPORT_MAX_BYTES", 500_000_000))


def max_rows() -> int:
    """The most rows that can be imported (setting ``IMPORT_MAX_ROWS``)."""
    return int(getattr(settings, "IMPORT_MAX_ROWS", 2_000_000))


@dataclass
class ImportTable:
    """An opened file: its columns if the format has a header (JSON lines doesn't), and its rows, which can be read
    once."""

    columns: tuple[str, ...] | None
    rows: Iterator[Line]


def table_open(file: IO[bytes], *, name: str, log: FaultLog) -> ImportTable:
    """Open an import file by its extension; size and format are checked before anything is read. ``file`` is a seekable
    binary file. Raises ``UnreadableRest``, after logging the fault, if it can't be read at all.
    """
    _check_size(file, log)
    try:
        plain = plain_file(file, name=name, most_bytes=max_bytes())
    except UnreadableFile as error:
        log.add(str(error), field="file name", value=Path(name).name)
        raise UnreadableRest from None
    if plain.kind == "parquet":
        return _parquet(plain.file, log)
    if plain.kind == "jsonl":
        return ImportTable(columns=None, rows=_limited(_json_lines(plain.file, log), log))
    return _csv(plain.file, log, delimiter=plain.delimiter)


def _check_size(file: IO[bytes], log: FaultLog) -> None:
    file.seek(0, 2)
    size = file.tell()
    file.seek(0)
    if size > max_bytes():
        log.add(f"is {size / 1e6:,.0f} MB; expected at most {max_bytes() / 1e6:,.0f} MB, in several files")
        raise UnreadableRest
    if size == 0:
        log.add("is empty")
        raise UnreadableRest


def _limited(rows: Iterator[Line], log: FaultLog) -> Iterator[Line]:
    for number, row in enumerate(rows):
        if number >= max_rows():
            log.add(f"expected at most {max_rows():,} rows", line=row[0])
            return
        yield row


# -- text ----------------------------------------------------------------------------------------------


def _text_lines(file: IO[bytes], log: FaultLog) -> Iterator[tuple[int, str | None]]:
    """Lines as text, with their numbers; None for a line that isn't text (the fault is logged)."""
    number = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        if len(raw) > MAX_LINE:
            log.add(f"expected lines of at most {MAX_LINE:,} bytes", line=number)
            raise UnreadableRest
        if b"\x00" in raw:
            log.add(f"has a NUL byte at byte {raw.index(0) + 1} of the line", line=number)
            yield number, None
            continue
        try:
            yield number, raw.decode("utf-8")
        except UnicodeDecodeError as error:
            log.add(
                f"is not UTF-8 at byte {error.start + 1} of the line",
                line=number,
                value=raw[max(error.start - 10, 0) : error.end + 10].decode("utf-8", "backslashreplace"),
            )
            yield number, None


# -- JSON lines ----------------------------------------------------------------------------------------


def _json_lines(file: IO[bytes], log: FaultLog) -> Iterator[Line]:
    blank: int | None = None
    for number, text in _text_lines(file, log):
        if text is None:
            continue
        if not text.strip():
            blank = blank or number
            continue
        if blank:
            log.add("is blank; expected one JSON object per line", line=blank)
            blank = None
        try:
            value = json_object(text)
        except UnreadableLine as error:
            said = str(error)
            if text.strip() in _OPENS:
                said = (
                    "begins a JSON document of several lines; expected one JSON object per line (pandas: to_json(..., "
                    "orient='records', lines=True); jq: jq -c '.[]')"
                )
            log.add(said, line=number, value=text.strip() if error.show else None)
            if text.strip() in _OPENS:
                raise UnreadableRest from None
        else:
            if fault := _no_row(value):
                log.add(fault, line=number)
                raise UnreadableRest
            yield number, value


#: A first line that begins a JSON document of several lines.
_OPENS = ("[", "{", "[{")


def _no_row(value: Values) -> str:
    """Why an object can't be a row; empty if it can: one object that holds the whole file has no value of its own."""
    if len(value) < 2 or not all(isinstance(one, list | dict) for one in value.values()):
        return ""
    return (
        f"is one JSON object with {len(value):,} keys that hold lists and objects; expected one object per row, with a key for each "
        "column"
    )


# -- CSV -----------------------------------------------------------------------------------------------


def _csv(file: IO[bytes], log: FaultLog, *, delimiter: str) -> ImportTable:
    rows = _csv_rows(file, log, delimiter)
    try:
        number, header = next(rows)
    except StopIteration:
        log.add("has no header")
        raise UnreadableRest from None
    header = [clean_label(name) for name in header]
    _check_header(header, number, log)
    return ImportTable(tuple(filter(None, header)), _limited(_csv_records(rows, header, log), log))


def _csv_rows(file: IO[bytes], log: FaultLog, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line on which each begins. A row that includes an undecodable line is left out."""
    last = 0
    broken = False

    def lines() -> Iterator[str]:
        nonlocal last, broken
        for number, text in _text_lines(file, log):
            last = number
            if text is None:
                broken = True
                yield "\n"
            else:
                yield text

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    csv.field_size_limit(MAX_CELL)
    begin = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            log.add(_csv_fault(str(error)), line=begin)
            raise UnreadableRest from None
        if not broken:
            yield begin, row
        broken = False
        begin = last + 1


def _csv_fault(message: str) -> str:
    if "unexpected end of data" in message:
        return "a quoted cell begins here and never ends"
    if "field larger than" in message:
        return f"expected cells of at most {MAX_CELL:,} characters; is a quote left open?"
    if "expected after" in message:
        return "a quote inside a quoted cell; write it twice"
    return f"is not CSV: {message}"


def _check_header(header: list[str], line: int, log: FaultLog) -> None:
    """Columns without a name can't be chosen and are ignored: R and pandas write the rows' numbers into one."""
    before = log.total
    if len(header) > MAX_COLUMNS:
        log.add(f"expected at most {MAX_COLUMNS} columns, got {len(header)}", line=line)
        raise UnreadableRest
    if not any(header):
        log.add("is blank; expected a header: the columns' names", line=line)
        raise UnreadableRest
    if len(header) == 1 and "|" in header[0]:
        log.add(
            "the columns look divided by bars; expected commas, semicolons or tabs",
            line=line,
            value=header[0],
        )
        raise UnreadableRest
    for position, name in enumerate(header, start=1):
        if name and name in header[: position - 1]:
            log.add("two columns have this name", line=line, field=name)
    if log.total > before:
        raise UnreadableRest


def _csv_records(
    rows: Iterator[tuple[int, list[str]]], header: list[str], log: FaultLog
) -> Iterator[tuple[int, Values]]:
    blank: int | None = None
    for number, row in rows:
        if not row:
            blank = blank or number
            continue
        if blank:
            log.add(f"is blank; expected {len(header)} cells", line=blank)
            blank = None
        if len(row) != len(header):
            log.add(f"expected {len(header)} cells, got {len(row)}", line=number)
            continue
        yield number, {name: cell for name, cell in zip(header, row, strict=True) if name}


# -- Parquet -------------------------------------------------------------------------------------------


def _parquet(file: IO[bytes], log: FaultLog) -> ImportTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.read(4) != b"PAR1":
        log.add("is not a Parquet file")
        raise UnreadableRest
    file.seek(0)
    try:
        parquet = pq.ParquetFile(file)
        meta = parquet.metadata
        size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
        names = list(parquet.schema_arrow.names)
        # Texts stay dictionary-encoded as in the file, so that a small file can't expand to a large one in memory.
        leaves = [parquet.schema.column(i) for i in range(meta.num_columns)]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        parquet = pq.ParquetFile(file, read_dictionary=texts)
    except (pa.ArrowException, OSError, ValueError) as error:
        log.add(f"is not a readable Parquet file: {error}")
        raise UnreadableRest from None
    if size > max_bytes() or meta.num_rows > max_rows():
        log.add(f"unpacks to {size / 1e6:,.0f} MB and {meta.num_rows:,} rows: too large")
        raise UnreadableRest
    _check_header(names, 1, log)
    return ImportTable(columns=tuple(names), rows=_limited(_parquet_rows(parquet, log), log))


def _parquet_rows(parquet: Any, log: FaultLog) -> Iterator[Line]:
    import pyarrow as pa

    number = 0
    try:
        for batch in parquet.iter_batches(batch_size=1_000):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if _longest(column) > MAX_CELL:
                    log.add(f"expected cells of at most {MAX_CELL:,} characters", line=number + 1, field=name)
                    raise UnreadableRest
            for row in batch.to_pylist():
                number += 1
                found = next(((k, w) for k, v in row.items() if (w := unstorable(v))), None)
                if found:
                    log.add(f"holds {found[1]}", line=number, field=found[0])
                else:
                    yield number, row
    except (pa.ArrowException, OSError, ValueError) as error:
        log.add(f"is not a readable Parquet file: {error}", line=number + 1)


def _longest(column: Any) -> int:
    """The length of the longest text of an Arrow column, in bytes; texts in lists too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    while pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        column = column.flatten()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pc.max(pc.binary_length(column)).as_py() or 0
    return 0
