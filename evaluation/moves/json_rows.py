"""Rows as Postgres itself writes and reads them in JSON: every digit of numbers and times, and times of creation as they were."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection
from django.db.models import JSONField, Model
from psycopg import sql

_BATCH = 200


def rows_get(model: type[Model], pks: Sequence[int], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """These columns of the rows with these numbers, in the order of the numbers; at most ``_BATCH`` are in memory."""
    pk = sql.Identifier("id")
    query = sql.SQL("SELECT to_jsonb(t)::text FROM {} t WHERE {} = ANY(%s) ORDER BY {}").format(
        sql.Identifier(model._meta.db_table), pk, pk
    )
    names = set(columns)
    if not isinstance(pks, array):  # the numbers of a whole table are ascending
        pks = sorted(pks)
    for start in range(0, len(pks), _BATCH):
        with connection.cursor() as cursor:
            cursor.execute(query, [list(pks[start : start + _BATCH])])
            for (text,) in cursor.fetchall():
                yield {name: value for name, value in json.loads(text).items() if name in names}


def rows_put(model: type[Model], rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """Insert rows, which all have these columns. Postgres checks every value; ``DatabaseError`` if one doesn't fit."""
    if not rows:
        return
    fields = {field.attname: field for field in model._meta.concrete_fields}
    names = [sql.Identifier(str(fields[name].column)) for name in columns]
    values = [
        # A JSON null, where the column may not be empty.
        sql.SQL("COALESCE({}, 'null'::jsonb)").format(column)
        if isinstance(fields[name], JSONField) and not fields[name].null
        else column
        for name, column in zip(columns, names, strict=True)
    ]
    table, comma = sql.Identifier(model._meta.db_table), sql.SQL(", ")
    query = sql.SQL(
        "INSERT INTO {} ({}) SELECT {} FROM jsonb_populate_recordset(NULL::{}, %s::jsonb)"
    ).format(table, comma.join(names), comma.join(values), table)
    with connection.cursor() as cursor:
        cursor.execute(query, [json.dumps(rows, ensure_ascii=False)])


def default_of(model: type[Model], column: str) -> Any:
    """The value in JSON of a column that a row doesn't have; raises ``KeyError`` if it must have one."""
    field = next(
        concrete_field for concrete_field in model._meta.concrete_fields if concrete_field.attname == column
    )
    if field.has_default():
        found = field.get_default()
        return "" if isinstance(found, bytes) else json.loads(json.dumps(found, cls=DjangoJSONEncoder))
    if field.null:
        return None
    if field.blank and field.empty_strings_allowed:
        return ""
    raise KeyError(column)
