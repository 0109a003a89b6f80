"""``manage.py migrate`` beside somebody who reads a table for long: nobody has to wait behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.core.management.commands import migrate as of_django
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from annotator.migrations._indexes import AddIndexWhilePeopleWork
from annotator.models import Judgment
from foretell.management.commands import migrate
from tests.databases import address

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def backup() -> Iterator[psycopg.Connection[Any]]:
    """Another connection that reads the judgments in a transaction."""
    with psycopg.connect(address(connection.settings_dict["NAME"])) as other:
        other.execute("SELECT FROM annotator_judgment LIMIT 1")
        yield other


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A migration that adds a column to the judgments; how long its statements may wait, in each attempt."""
    found: list[str] = []

    def handle(self: Any, *args: Any, **options: Any) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT setting FROM pg_settings WHERE name = 'lock' || '_timeout'")
            found.append(cursor.fetchone()[0])
            cursor.execute("ALTER TABLE annotator_judgment ADD COLUMN soon integer")
            cursor.execute("ALTER TABLE annotator_judgment DROP COLUMN soon")

    monkeypatch.setattr(of_django.Command, "handle", handle)
    return found


def _shown() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        return str(cursor.fetchone()[0])


def test_a_migration_gives_way_and_is_begun_again(
    backup: psycopg.Connection[Any], waits: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(migrate.time, "sleep", lambda seconds: backup.rollback())
    call_command("migrate", verbosity=0)
    assert waits == ["500", "500"]
    assert "A table is in use" in capsys.readouterr().err
    assert _shown() == "0"


def test_a_table_that_is_always_in_use_is_named_as_the_reason(
    backup: psycopg.Connection[Any], waits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "ATTEMPTS", 2)
    monkeypatch.setattr(migrate.time, "sleep", lambda seconds: None)
    with pytest.raises(CommandError, match="in use all the time"):
        call_command("migrate", verbosity=0)
    assert len(waits) == 2


def test_an_index_that_is_built_while_people_work_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []

    def handle(self: Any, *args: Any, **options: Any) -> None:
        with connection.cursor() as cursor:
            for statement in ("SELECT", "SELECT /* CREATE INDEX CONCURRENTLY */"):
                cursor.execute(f"{statement} setting FROM pg_settings WHERE name = 'lock' || '_timeout'")
                found.append(cursor.fetchone()[0])

    monkeypatch.setattr(of_django.Command, "handle", handle)
    call_command("migrate", verbosity=0)
    assert found == ["500", "0"]


def test_an_index_is_built_anew_where_one_of_its_name_stands() -> None:
    """An interrupted attempt leaves an invalid index of the same name."""
    index = next(one for one in Judgment._meta.indexes if one.name == "judgment_by_study")
    state = MigrationExecutor(connection).loader.project_state()

    def number() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 'judgment_by_study'::regclass::oid::bigint")
            return int(cursor.fetchone()[0])

    before = number()
    with connection.schema_editor(atomic=False) as editor:
        AddIndexWhilePeopleWork("judgment", index).database_forwards("annotator", editor, state, state)
    assert number() != before
