"""Cells of Parquet and JSON lines for the reader of ratings: each column's distinct cells, and a code a row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from annotator.core.labels import cell_text
from evaluation.core.ratings_table import Codes

#: A column's distinct cells as they are in the file, and the code of each row's cell.
Cells = tuple[Sequence[str], Codes]


class UnreadableRatings(ValueError):
    """A file that is no ratings table; the message names file, line, column, what is there and what was expected."""


def parquet_cells(file: IO[bytes], wanted: Sequence[str], source: str) -> tuple[list[Cells], Codes]:
    """Columns of a Parquet file; a row's line is its number, counted from 1."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        parquet = pq.ParquetFile(file)
        _check_names(list(parquet.schema_arrow.names), wanted, source)
        table = parquet.read(columns=list(wanted))
    except (pa.ArrowException, OSError) as error:
        raise UnreadableRatings(f"{source} is not a readable Parquet file: {error}") from None
    cells: list[Cells] = []
    for name in wanted:
        column = table[name].combine_chunks()
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        texts = [cell_text(value) for value in column.dictionary.to_pylist()]
        codes = column.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
        cells.append(([*texts, ""], codes.astype(np.int32)))
    return cells, np.arange(1, table.num_rows + 1, dtype=np.int32)


def json_cells(data: bytes, wanted: Sequence[str], source: str) -> tuple[list[Cells], Codes]:
    """Keys of JSON lines, one object a line; a key that a line lacks is a blank cell, one that all lack a fault."""
    seen: list[dict[str, int]] = [{} for _ in wanted]
    codes: list[list[int]] = [[] for _ in wanted]
    lines: list[int] = []
    names: set[str] = set()
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        row = _object(line, f"{source}, line {number}")
        names.update(row)
        lines.append(number)
        for known, found, name in zip(seen, codes, wanted, strict=True):
            found.append(known.setdefault(cell_text(row.get(name)), len(known)))
    _check_names(sorted(names), wanted, source)
    cells: list[Cells] = [
        (list(known), np.array(found, dtype=np.int32)) for known, found in zip(seen, codes, strict=True)
    ]
    return cells, np.array(lines, dtype=np.int32)


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UnreadableRatings(f"{where}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise UnreadableRatings(f"{where}: expected one JSON object a line")
    return found


def _check_names(names: Sequence[str], wanted: Sequence[str], source: str) -> None:
    for column in wanted:
        if column not in names:
            listed = ", ".join(map(repr, names[:20]))
            raise UnreadableRatings(f"{source}: there is no column {column!r}; there are {listed}")
