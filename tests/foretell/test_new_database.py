"""A new database gets its tables at once; ``tests/faults/test_upgrade.py`` compares it with one that was upgraded step by step."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from foretell.new_database import tables_create
from tests import databases

pytestmark = pytest.mark.django_db(transaction=True)
#: Before the tables of the other application.
EARLIER = [("annotator", "0001_initial_0_1")]
#: An initial migration is recorded as the ones that it replaces.
REPLACED = {name for _, name in import_module("annotator.migrations.0001_initial_0_1").Migration.replaces}


@pytest.fixture
def new() -> Iterator[str]:
    """An empty database, which Django's connection is to; the URL of the test's own, which has every table."""
    own = connection.settings_dict["NAME"]
    address = databases.address(own)
    with databases.empty_database("new") as url:
        connection.close()
        connection.settings_dict["NAME"] = url.rpartition("/")[2]
        try:
            yield address
        finally:
            connection.close()
            connection.settings_dict["NAME"] = own


def test_every_migration_is_recorded_and_nothing_is_left_to_do(new: str) -> None:
    assert tables_create(connection=connection)
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    assert databases.schema(databases.address(connection.settings_dict["NAME"])) == databases.schema(new)


def test_the_tables_of_an_earlier_version_are_those_before_its_next_migration(new: str) -> None:
    assert tables_create(connection=connection, targets=EARLIER)
    applied = MigrationRecorder(connection).applied_migrations()
    assert {one for one in applied if one[0] in ("annotator", "evaluation")} == {
        ("annotator", name) for name in REPLACED
    }
    tables = connection.introspection.table_names()
    assert "annotator_study" in tables
    assert "evaluation_run" not in tables
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    assert databases.schema(databases.address(connection.settings_dict["NAME"])) == databases.schema(new)


def test_a_database_with_tables_is_left_as_it_is(new: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE something (id int)")
    assert not tables_create(connection=connection)
    assert connection.introspection.table_names() == ["something"]
