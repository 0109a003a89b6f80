"""Databases beside the one that Django creates for the tests, on the same server."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection
from psycopg import sql

#: What `deploy/initial-migrations` has stored.
STORED = Path(__file__).parent / "faults" / "earlier_database.sql.gz"


def address(name: str) -> str:
    """The URL of a database on the test's server."""
    settings = connection.settings_dict
    return (
        f"postgres://{settings['USER']}:{settings['PASSWORD']}@{settings['HOST']}:{settings['PORT']}/{name}"
    )


@contextmanager
def empty_database(suffix: str) -> Iterator[str]:
    """The URL of a new database, which is dropped at the end, whoever is connected to it."""
    name = f"{connection.settings_dict['NAME']}_{suffix}"
    with psycopg.connect(address("postgres"), autocommit=True) as server:
        _drop(server, name)
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield address(name)
        _drop(server, name)


def stored_load(url: str) -> None:
    """Fill an empty database with that of the last version before the initial migrations, in use."""
    with psycopg.connect(url) as database:
        database.execute(gzip.decompress(STORED.read_bytes()))


def _drop(server: psycopg.Connection[Any], name: str) -> None:
    # DROP DATABASE ... WITH (FORCE) fails while autovacuum works in the database, because the autovacuum
    # process belongs to a superuser. Without FORCE, Postgres ends autovacuum itself and waits five seconds.
    server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND usename = current_user",
        [name],
    )
    server.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))


#: Everything that migrations make, one row each: columns with type and default, constraints, indexes, triggers, functions.
_SCHEMA = """
SELECT concat_ws(' ', 'column', table_name, column_name, data_type, character_maximum_length, numeric_precision, numeric_scale,
    is_nullable, is_identity, column_default) FROM information_schema.columns WHERE table_schema = 'public'
UNION SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION SELECT concat_ws(' ', 'index', indexdef) FROM pg_indexes WHERE schemaname = 'public'
UNION SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal
UNION SELECT concat_ws(' ', 'function', pg_get_functiondef(oid)) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
"""


def schema(url: str) -> set[str]:
    """A line for everything that the migrations of a database have made, but its rows."""
    with psycopg.connect(url) as database:
        return {_normal(line) for (line,) in database.execute(_SCHEMA)}


def _normal(line: str) -> str:
    """Without what Postgres writes differently after ``pg_dump``: casts, brackets, and the order of a condition's parts."""
    line = re.sub(r"::(text|character varying)(\[\])?|[()]", "", line).replace(" WHERE ", " AND ")
    return " AND ".join(sorted(line.split(" AND ")))
