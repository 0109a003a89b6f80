"""Columns of a file as codes, for files of millions of rows: each column's distinct cells, and a code for each row."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from itertools import filterfalse, islice
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from annotator.core.labels import cell_text, clean_label
from annotator.core.tables.faults import FaultLog
from annotator.core.tables.plain_file import Limits, plain_file
from annotator.core.tables.rows import csv_open, json_rows

Codes = npt.NDArray[np.int32]
#: A column's distinct cells as they are in the file, and the code of each row's cell.
Cells = tuple[Sequence[str], Codes]
#: Rows coded at once.
_ROWS = 1_000
#: From this size in bytes, importing pyarrow takes less time than it saves.
LARGE = 1_000_000
SHOWN_NAMES = 20


def columns_read(
    file: IO[bytes], *, name: str, wanted: Sequence[str], log: FaultLog, limits: Limits
) -> tuple[list[Cells], Codes]:
    """The wanted columns of a file of any format, and each row's line (Parquet: its number).

    Blank lines are skipped, and other columns are ignored, whatever they hold. A key that is missing on some lines of JSON is a
    blank cell there. Raises ``FileRefused`` with every fault.
    """
    plain = plain_file(file, name=name, limits=limits, log=log)
    if plain.kind == "parquet":
        from annotator.core.tables.parquet import parquet_columns  # it needs pyarrow

        names, columns, count = parquet_columns(plain.file, wanted, log, limits)
        _check_names(names, wanted, log, None)
        cells: list[Cells] = [
            ([*map(cell_text, values), ""], np.where(code < 0, len(values), code).astype(np.int32))
            for values, code in columns
        ]
        return cells, np.arange(1, count + 1, dtype=np.int32)
    if plain.kind == "jsonl":
        known: dict[str, None] = {}
        rows = _json_cells(plain.file, wanted, known, log, limits)
        cells, lines = _coded(rows, range(len(wanted)), log, limits)
        _check_names(list(known), wanted, log, None)
        return cells, lines
    return _csv_cells(plain.file, plain.delimiter, [clean_label(column) for column in wanted], log, limits)


def _check_names(names: Sequence[str], wanted: Sequence[str], log: FaultLog, line: int | None) -> None:
    for column in wanted:
        count = list(names).count(column)
        if count == 0:
            listed = some_names(names)
            log.refuse(f"there is no column {column!r}; the columns are {listed}", line=line)
        if count > 1:
            log.refuse(f"{count} columns are named {column!r}; expected one", line=line)


def some_names(names: Sequence[str]) -> str:
    listed = ", ".join(repr(name) for name in names[:SHOWN_NAMES])
    return listed + (f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else "")


def _coded(
    rows: Iterator[tuple[int, list[str]]], places: Sequence[int], log: FaultLog, limits: Limits
) -> tuple[list[Cells], Codes]:
    """Code the cells at some places of the rows, many rows at a time; only the codes are kept in memory. Raises
    ``FileRefused`` with the faults of the rows."""
    seen: list[dict[str, int]] = [{} for _ in places]
    codes: list[list[Codes]] = [[np.zeros(0, dtype=np.int32)] for _ in places]
    lines = [np.zeros(0, dtype=np.int32)]
    count = 0
    while chunk := list(islice(rows, _ROWS)):
        numbers, cells = zip(*chunk, strict=True)
        count += len(cells)
        if count > limits.rows:
            log.refuse(f"expected at most {limits.rows:,} rows", line=numbers[-1])
        lines.append(np.array(numbers, dtype=np.int32))
        for known, parts, place in zip(seen, codes, places, strict=True):
            given = [row[place] for row in cells]
            for cell in filterfalse(known.__contains__, dict.fromkeys(given)):
                known[cell] = len(known)
            parts.append(np.fromiter(map(known.__getitem__, given), dtype=np.int32, count=len(given)))
    log.check()
    columns: list[Cells] = [
        (list(known), np.concatenate(parts)) for known, parts in zip(seen, codes, strict=True)
    ]
    return columns, np.concatenate(lines)


def _json_cells(
    file: IO[bytes], wanted: Sequence[str], known: dict[str, None], log: FaultLog, limits: Limits
) -> Iterator[tuple[int, list[str]]]:
    for line, row in json_rows(file, log, limits, skip_blank=True):
        known.update(dict.fromkeys(row))
        for name in wanted:
            if isinstance(row.get(name), list | dict):
                log.add("expected text, a number, true or false", line=line, field=name, value=row[name])
        yield line, [cell_text(row.get(name)) for name in wanted]


def _csv_cells(
    file: IO[bytes], delimiter: str, wanted: Sequence[str], log: FaultLog, limits: Limits
) -> tuple[list[Cells], Codes]:
    start = file.tell()
    line, header, rows = csv_open(file, log, limits, delimiter=delimiter, skip_blank=True)
    log.check()
    _check_names(header, wanted, log, line)
    places = [header.index(name) for name in wanted]
    if line == 1:
        file.seek(start)
        columns = _simple_columns(file.read(), delimiter, len(header), places, limits)
        if columns is not None:
            return columns
        file.seek(start)
        _, _, rows = csv_open(file, log, limits, delimiter=delimiter, skip_blank=True)
    return _coded(rows, places, log, limits)


def _simple_columns(
    data: bytes, delimiter: str, width: int, places: Sequence[int], limits: Limits
) -> tuple[list[Cells], Codes] | None:
    """Read a large CSV several times faster with pyarrow; None if it has quotes, blank lines, rows of unequal length or text
    that must be refused.

    Without those, every delimiter separates two cells and every line is a row, so all CSV readers agree.
    """
    if len(data) < LARGE or b'"' in data or b"\0" in data or data.count(b"\r") != data.count(b"\r\n"):
        return None
    import pyarrow as pa  # imported late: it takes a tenth of a second
    from pyarrow import csv as pyarrow_csv

    names = [str(place) for place in range(width)]
    wanted = [names[place] for place in places]
    kind = pa.dictionary(pa.int32(), pa.string())
    # One thread and the system's allocator: a third less memory, and no more processor time.
    pool = pa.system_memory_pool()
    try:
        if not data.isascii():
            data.decode("utf-8")
        table = pyarrow_csv.read_csv(
            pa.py_buffer(data.removeprefix(codecs.BOM_UTF8)),
            read_options=pyarrow_csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False),
            parse_options=pyarrow_csv.ParseOptions(quote_char=False, delimiter=delimiter),
            convert_options=pyarrow_csv.ConvertOptions(
                include_columns=wanted,
                column_types=dict.fromkeys(wanted, kind),
                null_values=[],
                strings_can_be_null=False,
            ),
            memory_pool=pool,
        ).unify_dictionaries(memory_pool=pool)
    except (pa.ArrowInvalid, UnicodeDecodeError):  # ``_coded`` reports the lines
        return None
    rows: int = table.num_rows
    if rows + 1 != data.count(b"\n") + (not data.endswith(b"\n")) or rows > limits.rows:
        return None
    columns: list[Cells] = []
    for name in wanted:
        chunks = table[name].chunks
        codes = np.empty(rows, dtype=np.int32)
        # Not ``to_numpy``: it imports pandas, which takes 40 MB.
        np.concatenate([np.from_dlpack(chunk.indices) for chunk in chunks] or [codes], out=codes)
        texts: list[Any] = chunks[0].dictionary.to_pylist() if chunks else []
        if max(map(len, texts), default=0) > limits.cell:
            return None
        columns.append((texts, codes))
        del chunks
        table = table.drop_columns(name)
    return columns, np.arange(2, rows + 2, dtype=np.int32)
