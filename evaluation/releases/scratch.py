"""A release's rows in temporary tables that hide the real ones, so that a report on them is computed as on any study.

Inside ``scratch``, a query finds the rows of the release and no others: each table of both applications is hidden by a
temporary table or view of the same name, which Postgres looks for first. At the end everything is rolled back. No row of the
installation is read, changed or locked.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.models import NOT_PROVIDED, Field, JSONField, Model

from annotator.models import Study
from evaluation.releases.tables import TABLES, ReleasedTable, refers_to

#: The least id in temporary tables. Processes remember some rows by their ids (versions of studies): none of those is so large.
_LEAST = 2**60


@contextmanager
def scratch(rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Iterator[list[Study]]:
    """The studies of a release, in temporary tables; ``rows`` maps the name of each table to its rows, in order."""
    least = _LEAST + secrets.randbelow(2**30) * 2**29
    with transaction.atomic():
        try:
            schema = _hide_tables()
            for table in TABLES:
                _fill(table, schema, rows.get(table.name, ()), least)
            yield list(Study.objects.order_by("pk"))
        finally:
            transaction.set_rollback(True)


def _hide_tables() -> str:
    """Hide the tables of which nothing is released by empty views: a temporary table takes files, and four times as long. Whatever is
    updated or deleted through a view is no row, and an insertion is an error. Returns the quoted schema of the real tables."""
    quote = connection.ops.quote_name
    filled = {table.model for table in TABLES}
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        schema = quote(cursor.fetchone()[0])
        views = []
        for label in ("annotator", "evaluation"):
            for model in apps.get_app_config(label).get_models(include_auto_created=True):
                name = quote(model._meta.db_table)
                if model not in filled and not model._meta.proxy:
                    views.append(
                        f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM {schema}.{name} WHERE false WITH CHECK OPTION"  # noqa: S608
                    )
        # Prepared statements would otherwise continue to read the tables that they were prepared for.
        cursor.execute("; ".join([*views, "DISCARD PLANS"]))
    return schema


def _fill(table: ReleasedTable, schema: str, rows: Iterable[Mapping[str, Any]], least: int) -> None:
    """Hide a table by a temporary one with these rows. One without rows needs no index but its key, by which queries group."""
    quote = connection.ops.quote_name
    fields = {field.attname: field for field in table.model._meta.concrete_fields}
    rows = iter(rows)
    first = next(rows, None)
    # A setting that is newer than the archive has its default in the database; other columns that it lacks are empty.
    columns = (
        "id",
        *(
            name
            for name in table.columns
            if first is None or name in first or not (_has_default(fields[name]) or fields[name].null)
        ),
    )
    rest = [field for name, field in fields.items() if name not in columns and not field.null]
    references = {name for name in columns if name == "id" or refers_to(fields[name])}
    documents = {name for name in columns if isinstance(fields[name], JSONField)}
    name = quote(table.model._meta.db_table)
    with connection.cursor() as cursor:
        indexes = ", PRIMARY KEY (id)" if first is None else " INCLUDING INDEXES"
        cursor.execute(
            f"CREATE TEMPORARY TABLE {name} (LIKE {schema}.{name} INCLUDING DEFAULTS INCLUDING IDENTITY{indexes}) ON COMMIT DROP"
        )
        if first is None:
            return
        if rest:
            empty = (f"ALTER COLUMN {quote(str(field.column))} DROP NOT NULL" for field in rest)
            cursor.execute(f"ALTER TABLE {name} {', '.join(empty)}")
        listed = ", ".join(quote(str(fields[column].column)) for column in columns)
        with cursor.copy(f"COPY {name} ({listed}) FROM STDIN") as copy:
            for row in chain([first], rows):
                copy.write_row(
                    tuple(
                        _cell(column, row[column], references, documents, least, table.model)
                        for column in columns
                    )
                )
        cursor.execute(f"ANALYZE {name}")


def _has_default(field: Field[Any, Any]) -> bool:
    return field.db_default is not NOT_PROVIDED


def _cell(
    column: str, value: Any, references: set[str], documents: set[str], least: int, model: type[Model]
) -> Any:
    if value is None:
        return None
    if column in references:
        return least + int(value)
    if column == "parts" and model._meta.model_name == "item":
        return json.dumps({suffix: least + int(number) for suffix, number in value.items()})
    return json.dumps(value) if column in documents else value
