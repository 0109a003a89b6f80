"""Queries that every judgment needs: their SQL is compiled once, and Postgres plans it once per connection.

Django compiles a queryset's SQL each time it is evaluated (a millisecond for a join of five tables), and Postgres plans
it each time (another). A ``Prepared`` query is an ordinary queryset whose SQL is kept and which runs as a prepared
statement; it reads into the same model instances. `make bench ARGS=parts` measures what that saves. Django has no
public way to do this for single queries (``server_side_binding`` changes every query of the product), so this file uses
undocumented parts of its compiler and its Postgres backend. A test fails when Django is
upgraded to a version for which that hasn't been checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import InterfaceError, OperationalError, connection
from django.db.backends.postgresql.base import ServerBindingCursor
from django.db.backends.utils import CursorWrapper
from django.db.models import Model, QuerySet
from django.db.models.query import get_related_populators

M = TypeVar("M", bound=Model)


class _Cursor(ServerBindingCursor):
    def _convert_query(self, query: Any, params: Any = None) -> Any:
        self._query: Any = super()._convert_query(query, params)  # type: ignore[misc] # for Django's log
        return self._query


def prepared_cursor() -> CursorWrapper:
    """A cursor whose statements Postgres prepares and keeps; counted and logged like any other of Django's."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    cursor = _Cursor(connection.connection)  # type: ignore[call-arg]
    return connection._prepare_cursor(cursor)  # type: ignore[attr-defined]


class Prepared(Generic[M]):
    """``Prepared(lambda pk: Item.objects.filter(pk=pk), 1).first(item_pk)``: at most one row.

    ``make`` returns the queryset for given values. ``like`` holds placeholder values of the same types, different from
    each other and from every constant of the query.
    """

    def __init__(self, make: Callable[..., QuerySet[M]], *like: Any) -> None:
        self.make, self.like = make, like

    @cached_property
    def _compiled(self) -> tuple[str, list[tuple[bool, Any]], Callable[[Sequence[Any]], M]]:
        compiler = self.make(*self.like).query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        slots = [
            (value in self.like, self.like.index(value) if value in self.like else value) for value in params
        ]
        select, info = compiler.select, compiler.klass_info
        own = info["select_fields"]
        first, last = own[0], own[-1] + 1
        names = [column[0].target.attname for column in select[first:last]]
        populators = get_related_populators(info, select, connection.alias)  # type: ignore[call-arg]
        converters = compiler.get_converters([column[0] for column in select])

        def read(row: Sequence[Any]) -> M:
            values = list(row)
            for position, (functions, expression) in converters.items():
                for convert in functions:
                    values[position] = convert(values[position], expression, connection)
            instance = info["model"].from_db(connection.alias, names, values[first:last])
            for populator in populators:
                populator.populate(values, instance)
            return instance

        return sql, slots, read

    def first(self, *values: Any) -> M | None:
        """The row for these values, or None."""
        unchecked = connection.connection is not None and not connection.health_check_done  # type: ignore[attr-defined]
        # Django would send a statement of its own to see whether the connection still works. This one shows it as well.
        connection.health_check_done = True  # type: ignore[attr-defined]
        try:
            return self._first(values)
        except (InterfaceError, OperationalError):
            if not unchecked or connection.is_usable():
                raise
            connection.close()
            return self._first(values)

    def _first(self, values: Sequence[Any]) -> M | None:
        sql, slots, read = self._compiled
        with prepared_cursor() as cursor:
            cursor.execute(sql, [values[at] if given else at for given, at in slots])
            row = cursor.fetchone()
        return read(row) if row else None
