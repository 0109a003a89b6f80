"""Cells of Parquet and JSON Lines files of ratings: each column's distinct cells, and a code for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

import numpy as np

from annotator.core.json_lines import UnreadableLine, json_object
from annotator.core.labels import cell_text
from evaluation.agreement.reading_faults import Cells, UnreadableRatings
from evaluation.core.ratings_table import Codes


def parquet_cells(file: IO[bytes], wanted: Sequence[str], source: str) -> tuple[list[Cells], Codes]:
    """Read columns of a Parquet file; the line of a row is its number, counted from 1."""
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
    """Read keys of JSON Lines. A key missing on a line is a blank cell; a key missing on all lines is an error."""
    seen: list[dict[str, int]] = [{} for _ in wanted]
    codes: list[list[int]] = [[] for _ in wanted]
    lines: list[int] = []
    names: set[str] = set()
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json_object(line.decode())
        except UnreadableLine as error:
            raise UnreadableRatings(f"{source}, line {number}: {error}") from None
        names.update(row)
        lines.append(number)
        for known, found, name in zip(seen, codes, wanted, strict=True):
            cell = row.get(name)
            if isinstance(cell, list | dict):
                raise UnreadableRatings(
                    f"{source}, line {number}, column {name!r}: expected text, a number, true or false; got {cell!r:.80}"
                )
            found.append(known.setdefault(cell_text(cell), len(known)))
    _check_names(sorted(names), wanted, source)
    cells: list[Cells] = [
        (list(known), np.array(found, dtype=np.int32)) for known, found in zip(seen, codes, strict=True)
    ]
    return cells, np.array(lines, dtype=np.int32)


def _check_names(names: Sequence[str], wanted: Sequence[str], source: str) -> None:
    for column in wanted:
        if column not in names:
            listed = ", ".join(map(repr, names[:20]))
            raise UnreadableRatings(f"{source}: there is no column {column!r}; the columns are {listed}")
