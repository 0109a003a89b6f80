"""What a test has committed is deleted after it, from the tables that have rows only."""

from __future__ import annotations

from functools import cache

from django.db import connection, transaction
from django.test import TransactionTestCase
from psycopg import sql

#: Written by ``migrate``, and the same for every test.
KEPT = {"django_migrations", "django_content_type", "auth_permission"}
#: Its rows can't be deleted one by one; ``conftest.django_db_setup`` allows to empty it.
APPEND_ONLY = "annotator_auditentry"
#: Its rows can only be deleted with their study.
LEDGER = "annotator_ledgerentry"
#: More rows than this are deleted faster with their files.
MANY = 2000


@cache
def _tables() -> list[str]:
    found = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return sorted(set(found) - KEPT)


def rows_delete() -> None:
    """Empty the tables. Sequences continue, as with Django's ``flush``.

    ``flush`` truncates every table, which makes about 500 new files, and then writes content types and permissions
    again: half a second for each test that commits.
    """
    names = [sql.Identifier(table) for table in _tables()]
    counts = sql.SQL(" UNION ALL ").join(
        sql.SQL("SELECT {}, count(*) FROM (SELECT FROM {} LIMIT {}) AS rows").format(
            sql.Literal(table), sql.Identifier(table), sql.Literal(MANY)
        )
        for table in _tables()
    )
    with transaction.atomic(), connection.cursor() as cursor:
        # Waits for whoever is still writing, as TRUNCATE does.
        cursor.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(sql.SQL(", ").join(names)))
        cursor.execute(counts)
        filled = {table: count for table, count in cursor.fetchall() if count}
        if MANY in filled.values():
            cursor.execute(sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(names)))
            return
        if filled.pop(APPEND_ONLY, 0):
            cursor.execute(sql.SQL("TRUNCATE {}").format(sql.Identifier(APPEND_ONLY)))
        if LEDGER in filled:
            cursor.execute("UPDATE annotator_study SET deleted_at = now()")
        for table in filled:  # in any order, because foreign keys are checked at the end of the transaction
            cursor.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))


def install() -> None:
    """Use ``rows_delete`` after each test that commits, also after pytest-django's."""
    TransactionTestCase._fixture_teardown = lambda self: rows_delete()  # type: ignore[attr-defined]
