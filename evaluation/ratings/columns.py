"""Fetch columns from Postgres in bulk: COPY into Arrow in pieces of limited size, with each name stored once and rows as codes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import le
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import psycopg
from django.db import DatabaseError, OperationalError
from django.db.models import QuerySet
from psycopg import pq

from annotator.core.replica import reading_from
from evaluation.core.free_memory import return_free_memory

if TYPE_CHECKING:
    import pyarrow as pa

Codes = npt.NDArray[np.int32]
Ids = npt.NDArray[np.int64]

#: How many bytes of COPY output are parsed at a time, which limits the memory of a fetch.
PIECE = 4_000_000


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of names: ``codes`` of shape (N,) are indices into ``names``; -1 for no name.

    >>> column = Coded(np.array([0, -1, 0], dtype=np.int32), ("gpt-4",))
    >>> column.values().tolist()
    ['gpt-4', None, 'gpt-4']
    """

    codes: Codes
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: npt.NDArray[Any]) -> Coded:
        return Coded(self.codes[rows], self.names)

    def values(self, missing: str | None = None) -> npt.NDArray[np.object_]:
        """Shape (N,): the names themselves; ``missing`` where there is none."""
        lookup = np.empty(len(self.names) + 1, dtype=object)
        lookup[:-1] = self.names
        lookup[-1] = missing
        return lookup[self.codes]

    def sort_names(self) -> Coded:
        """The same column with its names in sorted order, whatever order the rows came in."""
        if all(map(le, self.names, self.names[1:])):
            return self
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        place = np.empty(len(self.names) + 1, dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        place[-1] = -1
        return Coded(place[self.codes], tuple(self.names[i] for i in order))

    def used(self, missing: str) -> tuple[Ids, tuple[str, ...]]:
        """Codes of shape (N,) in the sorted order of the names that occur, and those names; ``missing`` where there is none.

        >>> Coded(np.array([1, -1, 1], dtype=np.int32), ("a", "b")).used("")
        (array([1, 0, 1]), ('', 'b'))
        """
        column = self if (self.codes >= 0).all() else self._named(missing)
        column = column.sort_names()
        kept = np.bincount(column.codes, minlength=len(column.names)) > 0
        place = np.cumsum(kept) - 1
        return place[column.codes], tuple(name for name, keep in zip(column.names, kept, strict=True) if keep)

    def _named(self, missing: str) -> Coded:
        """The column with the name ``missing`` where there is none."""
        names = self.names if missing in self.names else (*self.names, missing)
        codes = np.where(self.codes >= 0, self.codes, names.index(missing))
        return Coded(codes.astype(np.int32), names)

    @classmethod
    def empty(cls, size: int) -> Coded:
        return cls(np.full(size, -1, dtype=np.int32), ())


def distinct(values: npt.NDArray[Any]) -> tuple[Ids, Ids]:
    """The sorted distinct values, and each value's index among them. Values that are already sorted, as most are here,
    need only a comparison with their neighbour.

    >>> distinct(np.array([4, 4, 9]))
    (array([4, 9]), array([0, 0, 1]))
    """
    values = values.astype(np.int64, copy=False)
    steps = np.diff(values)
    if not values.size or (steps < 0).any():
        return np.unique(values, return_inverse=True)
    new = np.concatenate(([True], steps > 0))
    return values[new], np.cumsum(new) - 1


def copy_rows(queryset: QuerySet[Any, Any], kinds: Mapping[str, str]) -> dict[str, Ids | Coded]:
    """Fetch the columns of a ``values_list`` queryset through COPY.

    ``kinds`` names each selected column in order and says how it is stored: ``id`` as int64 (-1 for NULL),
    ``name`` as ``Coded`` (-1 for NULL). COPY rows reach Python as bytes, are parsed ``PIECE`` bytes at a
    time and kept as codes, so that a long column of few distinct texts costs four bytes a row.
    """
    parts: dict[str, list[Any]] = {name: [] for name in kinds}
    for batch in _batches(queryset, kinds):
        for number, (name, kind) in enumerate(kinds.items()):
            column = batch.column(number)
            parts[name].append(column if kind == "name" else _ids(column))
    found: dict[str, Ids | Coded] = {}
    for name, kind in kinds.items():
        columns = parts.pop(name)
        if not columns:
            found[name] = Coded.empty(0) if kind == "name" else np.zeros(0, dtype=np.int64)
        else:
            found[name] = _coded(columns) if kind == "name" else np.concatenate(columns)
    return_free_memory()
    return found


def _batches(queryset: QuerySet[Any, Any], kinds: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import csv

    # Arrow's own pool doesn't return memory: a hundred megabytes after a million rows.
    pa.set_memory_pool(pa.system_memory_pool())
    types = {
        name: pa.int64() if kind == "id" else pa.dictionary(pa.int32(), pa.string())
        for name, kind in kinds.items()
    }
    parse = csv.ParseOptions(newlines_in_values=True)
    # An unquoted empty field is NULL and a quoted one an empty text: Postgres writes them differently.
    convert = csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    for piece, size in _pieces(queryset):
        read = csv.ReadOptions(column_names=list(kinds), use_threads=False, block_size=size + 1)
        table = csv.read_csv(piece, read_options=read, parse_options=parse, convert_options=convert)
        yield from table.to_batches()


def _pieces(queryset: QuerySet[Any, Any]) -> Iterator[tuple[io.BytesIO, int]]:
    """Whole rows in pieces of about ``PIECE`` bytes, each with its size.

    Each row is a separate message. They are read through ``psycopg.pq``, the driver's documented wrapper of libpq: its
    ``Copy`` objects take longer for a million rows than all later processing together.
    """
    sql, params = queryset.query.sql_with_params()
    # COPY takes no parameters: the driver's own quoting puts them into the text.
    connection = reading_from()
    query = connection.ops.compose_sql(sql, params)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1"
        )  # in a transaction, the driver sends BEGIN only together with a statement that it runs itself
        pgconn = cursor.connection.pgconn
        started = pgconn.exec_(f"COPY ({query}) TO STDOUT (FORMAT csv)".encode())
        if started.status != pq.ExecStatus.COPY_OUT:
            raise _failed(started)
        over = False
        try:
            buffer, size = io.BytesIO(), 0
            while (row := pgconn.get_copy_data(0))[0] > 0:
                size += buffer.write(row[1])
                if size >= PIECE:
                    buffer.seek(0)
                    yield buffer, size
                    buffer, size = io.BytesIO(), 0
            over = True
        finally:
            if not over:  # the consumer stopped early or failed: read the rest and discard it
                while pgconn.get_copy_data(0)[0] > 0:
                    pass
            found = pgconn.get_result()
            while pgconn.get_result():
                pass
        if found is None or found.status != pq.ExecStatus.COMMAND_OK:
            raise _failed(found)
    if size:
        buffer.seek(0)
        yield buffer, size


def _failed(result: Any) -> Exception:
    """Postgres's error, as the exception that Django raises for any other query."""
    if result is None:
        return OperationalError("the connection was lost during COPY")
    code = result.error_field(pq.DiagnosticField.SQLSTATE) or b""
    kind = psycopg.errors.lookup(code.decode()) if code else psycopg.OperationalError
    error: type[Exception] = OperationalError if issubclass(kind, psycopg.OperationalError) else DatabaseError
    return error(result.error_message.decode("utf-8", "replace").strip())


def _ids(column: Any) -> Ids:
    return column.fill_null(-1).to_numpy(zero_copy_only=False)


def _coded(columns: list[Any]) -> Coded:
    """Join pieces, each with its own names and codes, into one column."""
    import pyarrow as pa

    chunks = pa.chunked_array(columns).unify_dictionaries().chunks
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
    return Coded(np.concatenate(codes), tuple(chunks[0].dictionary.to_pylist()))
