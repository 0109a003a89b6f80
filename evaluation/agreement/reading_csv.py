"""Cells of a CSV file of ratings: each column's distinct cells, and a code for each row."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from itertools import compress, islice
from typing import Any

import numpy as np

from annotator.core.labels import clean_label
from evaluation.agreement.reading_faults import Cells, ReadFaults, UnreadableRatings, some_names
from evaluation.core.free_memory import return_free_memory
from evaluation.core.ratings_table import Codes

#: Rows coded at once.
_ROWS = 1_000
#: From this size in bytes, importing pyarrow takes less time than it saves.
LARGE = 1_000_000
_LINE_END = re.compile("\r\n|\r|\n")


def csv_cells(
    data: bytes, delimiter: str, wanted: tuple[str, ...], faults: ReadFaults
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
    """The positions of the wanted columns."""
    names = [clean_label(cell) for cell in header]
    if len(set(wanted)) < len(wanted):
        raise UnreadableRatings(
            f"rater, unit, value and cluster must be different columns, got {', '.join(wanted)}"
        )
    for column in wanted:
        found = names.count(clean_label(column))
        if found == 0:
            raise UnreadableRatings(
                f"{source}, line 1: there is no column {column!r}; the columns are {some_names(names)}"
            )
        if found > 1:
            raise UnreadableRatings(f"{source}, line 1: {found} columns are named {column!r}; expected one")
    return [names.index(clean_label(column)) for column in wanted]


def _cells(reader: Any, width: int, places: list[int], faults: ReadFaults) -> tuple[list[Cells], Codes]:
    """Code the cells of any CSV, many rows at a time; only the codes are kept in memory, not the rows."""
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
            for cell in set(given).difference(known):  # ``set - dict`` would iterate over all known cells
                known[cell] = len(known)
            parts.append(np.fromiter(map(known.__getitem__, given), dtype=np.int32, count=len(given)))
    columns: list[Cells] = [
        (list(known), np.concatenate(parts)) for known, parts in zip(seen, codes, strict=True)
    ]
    return columns, np.concatenate(lines)


def _lines_of(chunk: list[list[str]], before: int, after: int) -> Codes:
    """The line on which each row starts; the rows occupy lines ``before + 1`` to ``after``."""
    if after - before == len(chunk):
        return np.arange(before + 1, after + 1, dtype=np.int32)
    spans = np.array([1 + sum(len(_LINE_END.findall(cell)) for cell in row) for row in chunk], dtype=np.int32)
    return (before + 1 + np.cumsum(spans) - spans).astype(np.int32)


def _simple_cells(
    data: bytes, delimiter: str, header: Sequence[str], places: list[int]
) -> tuple[list[Cells], Codes] | None:
    """Read a large file several times faster with pyarrow; None if it has quotes, blank lines or rows of unequal length.

    Without those, every delimiter separates two cells and every line is a row, so all CSV readers agree.
    """
    if len(data) < LARGE or b'"' in data or data.count(b"\r") != data.count(b"\r\n"):
        return None
    import pyarrow as pa  # imported late: it takes a tenth of a second
    from pyarrow import csv as pyarrow_csv

    names = [str(place) for place in range(len(header))]
    wanted = [names[place] for place in places]
    kind = pa.dictionary(pa.int32(), pa.string())
    # One thread and the system's allocator: a third less memory, and no more processor time.
    pool = pa.system_memory_pool()
    try:
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
    except pa.ArrowInvalid:  # rows of unequal length: ``_cells`` reports the lines
        return None
    if table.num_rows + 1 != data.count(b"\n") + (not data.endswith(b"\n")):
        return None
    rows: int = table.num_rows
    columns: list[Cells] = []
    for name in wanted:
        chunks = table[name].chunks
        codes = np.empty(rows, dtype=np.int32)
        # Not ``to_numpy``: it imports pandas, which takes 40 MB.
        np.concatenate([np.from_dlpack(chunk.indices) for chunk in chunks] or [codes], out=codes)
        columns.append((chunks[0].dictionary.to_pylist() if chunks else [], codes))
        del chunks
        table = table.drop_columns(name)
    del table
    return_free_memory()
    return columns, np.arange(2, rows + 2, dtype=np.int32)
