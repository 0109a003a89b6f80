"""Rows of a Parquet file, and its columns as codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, time, timedelta
from decimal import Decimal
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.core.tables.json_lines import unstorable
from annotator.core.tables.plain_file import Limits

BATCH = 1_000
#: Values of all lists of a file: a few bytes can stand for millions of equal ones, which a row holds all at once.
MOST_LIST_VALUES = 20_000_000


@contextmanager
def _readable(log: FaultLog) -> Iterator[None]:
    try:
        yield
    except FileRefused:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        log.refuse(f"is not a readable Parquet file: {error}")


def _open(file: IO[bytes], log: FaultLog, limits: Limits) -> Any:
    """The file, after checking how large it says that it is. Texts stay dictionary-encoded as in the file, so that a small file
    can't expand to a large one in memory."""
    if file.read(4) != b"PAR1":
        log.refuse("is not a Parquet file")
    file.seek(0)
    with _readable(log):
        parquet = pq.ParquetFile(file)
        meta = parquet.metadata
        groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        if size > limits.size or meta.num_rows > limits.rows:
            log.refuse(f"unpacks to {size / 1e6:,.0f} MB and {meta.num_rows:,} rows: too large")
        if len(parquet.schema_arrow.names) > limits.columns:
            log.refuse(f"expected at most {limits.columns} columns, got {len(parquet.schema_arrow.names)}")
        leaves = [parquet.schema.column(i) for i in range(meta.num_columns)]
        lists = [place for place, leaf in enumerate(leaves) if leaf.max_repetition_level]
        values = sum(group.column(place).num_values for group in groups for place in lists)
        if values > MOST_LIST_VALUES:
            log.refuse(f"holds lists with {values:,} values; expected at most {MOST_LIST_VALUES:,}")
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        return pq.ParquetFile(file, read_dictionary=texts)


def parquet_open(
    file: IO[bytes], log: FaultLog, limits: Limits
) -> tuple[list[str], Iterator[tuple[int, dict[str, Any]]]]:
    """The names of the columns, and the rows; the line of a row is its number, counted from 1."""
    parquet = _open(file, log, limits)
    return list(parquet.schema_arrow.names), _rows(parquet, log, limits)


def _rows(parquet: Any, log: FaultLog, limits: Limits) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    with _readable(log):
        for batch in parquet.iter_batches(batch_size=BATCH):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if _longest(column) > limits.cell:
                    log.refuse(
                        f"expected cells of at most {limits.cell:,} characters", line=number + 1, field=name
                    )
            names = batch.schema.names
            for cells in zip(*map(_plain_values, batch.columns), strict=True):
                number += 1
                values = dict(zip(names, cells, strict=True))
                faults = [(name, fault) for name, value in values.items() if (fault := unstorable(value))]
                for name, fault in faults[:1]:
                    log.add(f"holds {fault}", line=number, field=name)
                if not faults:
                    yield number, values


def plain_value(value: Any) -> Any:
    """Dates, times, durations and exact decimals as text, as workbooks and CSV files have them; bytes as the text that they
    encode, None if they encode none. Inside lists and objects too; anything else as it is.

    >>> from datetime import datetime
    >>> plain_value(datetime(2024, 1, 31, 12)), plain_value([date(2024, 1, 31)]), plain_value(Decimal("1.50"))
    ('2024-01-31 12:00:00', ['2024-01-31'], '1.50')
    >>> plain_value(b"yes"), plain_value(b"\\xff"), plain_value(timedelta(seconds=90))
    ('yes', None, '0:01:30')
    """
    if isinstance(value, date | time | timedelta | Decimal):  # a datetime is a date
        return str(value)
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            text = value.decode()
            return None if "\0" in text else text
        return None
    if isinstance(value, list):
        return [plain_value(one) for one in value]
    if isinstance(value, dict):
        return {plain_value(key): plain_value(one) for key, one in value.items()}
    return value


def _plain_values(column: Any) -> list[Any]:
    """The values of an Arrow column. Dates beyond those of Python are text as Arrow writes it."""
    try:
        return [plain_value(value) for value in column.to_pylist()]
    except (OverflowError, pa.ArrowInvalid):
        if pa.types.is_temporal(column.type):
            return list(pc.cast(column, pa.string()).to_pylist())
        return [None] * len(column)


def _longest(column: Any) -> int:
    """The length of the longest text or list of an Arrow column, in bytes or values; texts in lists too."""
    longest = 0
    while pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        longest = max(longest, pc.max(pc.list_value_length(column)).as_py() or 0)
        column = column.flatten()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        longest = max(longest, pc.max(pc.binary_length(column)).as_py() or 0)
    return longest


def parquet_columns(
    file: IO[bytes], wanted: Sequence[str], log: FaultLog, limits: Limits
) -> tuple[list[str], list[tuple[list[Any], Any]], int]:
    """The names of all columns; the distinct values of each wanted one (if all exist) with each row's code, -1 where it has
    none; and the number of rows. A column of lists, objects or bytes is a fault."""
    parquet = _open(file, log, limits)
    names = list(parquet.schema_arrow.names)
    if not set(wanted) <= set(names):
        return names, [], 0
    for name in wanted:
        kind = parquet.schema_arrow.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            log.add(f"is a column of type {kind}; expected text, numbers, true or false", field=name)
    log.check()
    columns = []
    with _readable(log):
        table = parquet.read(columns=list(wanted))
        for name in wanted:
            column = table[name].combine_chunks()
            column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            values = _plain_values(column.dictionary)
            columns.append((values, column.indices.fill_null(-1).to_numpy(zero_copy_only=False)))
    return names, columns, table.num_rows
