"""Fill large tables without their secondary indexes and foreign keys, and create these again afterwards in one pass each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connection

_CONSTRAINTS = """
SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = ANY(%s::regclass[]) AND contype IN ('f', 'u') ORDER BY contype DESC
"""
_INDEXES = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index i
WHERE indrelid = ANY(%s::regclass[]) AND NOT indisprimary
    AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype = 'u')
"""


@contextmanager
def bare_tables(tables: Sequence[str]) -> Iterator[None]:
    """In this block the tables have only their primary keys, checks and triggers. An exception leaves them so: begin a transaction around
    it, or throw the database away.

    The others' deferred constraints are checked at its end. With foreign keys in place, Postgres would remember a check for every row
    and every key until the transaction is committed, in memory: gigabytes for ten million judgments.
    """
    names = [f'"{table}"' for table in tables]
    with connection.cursor() as cursor:
        cursor.execute(_CONSTRAINTS, [names])
        constraints = cursor.fetchall()
        cursor.execute(_INDEXES, [names])
        indexes = cursor.fetchall()
        for table, name, _ in constraints:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {name}")
        yield
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for _, definition in indexes:
            cursor.execute(definition)
        for table, name, definition in constraints:
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
