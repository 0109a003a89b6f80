"""Fetch columns from Postgres in bulk: COPY into Arrow in pieces of limited size, with each name stored once and rows as codes."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from evaluation.core.names import NamesArray, in_order

if TYPE_CHECKING:
    import pyarrow as pa

Codes = npt.NDArray[np.int32]
Ids = npt.NDArray[np.int64]
Kind = str | Callable[[Ids], npt.NDArray[Any]]

#: How many bytes of COPY output are parsed at a time, which limits the memory of a fetch.
PIECE = 4_000_000


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of names: ``codes`` of shape (N,) are indices into ``names``; -1 for no name. They take as few bytes as the number of
    names allows: convert them before you calculate with them.

    >>> column = Coded(np.array([0, -1, 0], dtype=np.int32), ("gpt-4",))
    >>> column.values().tolist()
    ['gpt-4', None, 'gpt-4']
    """

    codes: npt.NDArray[Any]
    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: npt.NDArray[Any]) -> Coded:
        return self if is_all(rows, len(self)) else Coded(self.codes[rows], self.names)

    def values(self, missing: str | None = None) -> npt.NDArray[np.object_]:
        """Shape (N,): the names themselves; ``missing`` where there is none."""
        lookup = np.empty(len(self.names) + 1, dtype=object)
        lookup[:-1] = list(self.names)
        lookup[-1] = missing
        return lookup[self.codes]

    def among(self, wanted: Collection[str], missing: str = "") -> npt.NDArray[np.bool_]:
        """Shape (N,): which rows have one of these names; those without one count as ``missing``."""
        return np.array([*(name in wanted for name in self.names), missing in wanted], dtype=bool)[self.codes]

    def sort_names(self) -> Coded:
        """The same column with its names in sorted order, whatever order the rows came in."""
        if isinstance(self.names, NamesArray):
            order: Any = self.names.order()
        elif all(map(le, self.names, self.names[1:])):
            return self
        else:
            order = sorted(range(len(self.names)), key=self.names.__getitem__)
        place = np.empty(
            len(self.names) + 1, dtype=narrowed(np.zeros(0, dtype=np.int8), len(self.names)).dtype
        )
        place[order] = np.arange(len(order))
        place[-1] = -1
        return Coded(place[self.codes], in_order(self.names, order))

    def used(self, missing: str) -> tuple[Codes, tuple[str, ...]]:
        """Codes of shape (N,) in the sorted order of the names that occur, and those names; ``missing`` where there is none.

        >>> Coded(np.array([1, -1, 1], dtype=np.int32), ("a", "b")).used("")
        (array([1, 0, 1], dtype=int32), ('', 'b'))
        """
        column = self if (self.codes >= 0).all() else self._named(missing)
        column = column.sort_names()
        kept = np.bincount(column.codes, minlength=len(column.names)) > 0
        place = (np.cumsum(kept) - 1).astype(np.int32)
        return place[column.codes], tuple(name for name, keep in zip(column.names, kept, strict=True) if keep)

    def _named(self, missing: str) -> Coded:
        """The column with the name ``missing`` where there is none."""
        names = self.names if missing in self.names else (*self.names, missing)
        codes = np.where(self.codes >= 0, self.codes, names.index(missing))
        return Coded(codes.astype(np.int32), names)

    @property
    def nbytes(self) -> int:
        """Bytes of the codes, and of the names where there is about one for each row."""
        return self.codes.nbytes + (self.names.nbytes if isinstance(self.names, NamesArray) else 0)

    @classmethod
    def empty(cls, size: int) -> Coded:
        return cls(np.full(size, -1, dtype=np.int32), ())


def is_all(rows: npt.NDArray[Any], size: int) -> bool:
    """Whether ``rows`` are all of ``size`` rows in their order, so that taking them would copy a column.

    >>> is_all(np.array([0, 1, 2]), 3), is_all(np.array([0, 2, 1]), 3), is_all(np.array([True, True]), 2)
    (True, False, True)
    """
    if rows.shape != (size,):
        return False
    if rows.dtype == bool:
        return bool(rows.all())
    return not size or bool(rows[0] == 0 and rows[-1] == size - 1 and (rows[1:] > rows[:-1]).all())


def taken(column: npt.NDArray[Any], rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Some rows of a column; the column itself, not a copy, if they are all."""
    return column if is_all(rows, len(column)) else column[rows]


def narrowed(values: npt.NDArray[Any], most: int | None = None) -> npt.NDArray[Any]:
    """Whole numbers of -1 or more in as few bytes as the largest of them (or ``most``) allows.

    >>> narrowed(np.array([-1, 3])).dtype, narrowed(np.array([70_000])).dtype, narrowed(np.array([1]), 300).dtype
    (dtype('int8'), dtype('int32'), dtype('int16'))
    """
    largest = int(values.max(initial=-1)) if most is None else most
    kinds: tuple[Any, ...] = (np.int8, np.int16, np.int32, np.int64)
    return values.astype(next(kind for kind in kinds if largest <= np.iinfo(kind).max), copy=False)


def distinct(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Codes]:
    """The sorted distinct values, and each value's index among them. Values that are already sorted, as most are here,
    need only a comparison with their neighbour.

    >>> distinct(np.array([4, 4, 9]))
    (array([4, 9]), array([0, 0, 1], dtype=int32))
    """
    if not values.size or (values[1:] < values[:-1]).any():
        found, codes = np.unique(values, return_inverse=True)
        return found, codes.astype(np.int32)
    new = np.concatenate(([True], values[1:] > values[:-1]))
    last: Codes = np.cumsum(new, dtype=np.int32)
    np.subtract(last, 1, out=last)
    return values[new], last


class Numbering:
    """Numbers ids in the order in which they are first seen, piece by piece, so that a long column of ids never exists.

    >>> numbering = Numbering()
    >>> numbering(np.array([9, 4])), numbering(np.array([4, 7]))
    (array([1, 0], dtype=int32), array([0, 2], dtype=int32))
    >>> numbering.in_order(np.array([1, 0, 0, 2], dtype=np.int32))
    (array([4, 7, 9]), array([2, 0, 0, 1], dtype=int32))
    """

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def __call__(self, ids: Ids) -> Codes:
        values, codes = np.unique(ids, return_inverse=True)
        known = self._known
        return np.array([known.setdefault(pk, len(known)) for pk in values.tolist()], dtype=np.int32)[codes]

    def in_order(self, codes: Codes) -> tuple[Ids, Codes]:
        """All ids, sorted, and the codes of a column as indices into them."""
        ids = np.array(list(self._known), dtype=np.int64)
        order = np.argsort(ids)
        place = np.empty(ids.size, dtype=np.int32)
        place[order] = np.arange(ids.size, dtype=np.int32)
        return ids[order], place[codes]


def copy_rows(queryset: QuerySet[Any, Any], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Fetch the columns of a ``values_list`` queryset through COPY.

    ``kinds`` names each selected column in order and says how it is stored: ``id`` as int64 (-1 for NULL),
    ``name`` as ``Coded`` (-1 for NULL), ``text`` as ``NamesArray`` (no NULL, few repetitions), and a function's results for the ids of each
    piece. COPY rows reach Python as bytes, are parsed ``PIECE`` bytes at a time and kept as codes, so that a long column of few
    distinct texts costs at most four bytes a row.
    """
    parts: dict[str, list[Any]] = {name: [] for name in kinds}
    for batch in _batches(queryset, kinds):
        for number, (name, kind) in enumerate(kinds.items()):
            column = batch.column(number)
            if callable(kind):
                parts[name].append(kind(_ids(column)))
            else:
                parts[name].append(_ids(column) if kind == "id" else column)
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        found[name] = _joined(kind, parts.pop(name))
    return_free_memory()
    return found


def _joined(kind: Kind, columns: list[Any]) -> Any:
    """One column from those of all pieces."""
    if kind == "text":
        return NamesArray.joined(columns)
    if kind == "name":
        return _coded(columns) if columns else Coded.empty(0)
    if columns:
        return np.concatenate(columns)
    none = np.zeros(0, dtype=np.int64)
    return kind(none) if callable(kind) else none


def _batches(queryset: QuerySet[Any, Any], kinds: Mapping[str, Kind]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import csv

    # Arrow's own pool doesn't return memory: a hundred megabytes after a million rows.
    pa.set_memory_pool(pa.system_memory_pool())
    texts = {"name": pa.dictionary(pa.int32(), pa.string()), "text": pa.string()}
    types = {
        name: pa.int64() if callable(kind) else texts.get(kind, pa.int64()) for name, kind in kinds.items()
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
    names = tuple(chunks[0].dictionary.to_pylist())
    return Coded(np.concatenate([narrowed(part, len(names)) for part in codes]), names)
