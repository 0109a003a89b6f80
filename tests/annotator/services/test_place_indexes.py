"""The migration that builds the indexes of free places while people work."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import DatabaseError, connection

from annotator.models import Place
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ("place_open_in_layer", "place_freed_in_layer")
migration = import_module("annotator.migrations.0029_place_indexes")


def definitions() -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
            " WHERE indrelid = 'annotator_place'::regclass AND relname LIKE 'place\\_%%' AND indisvalid"
        )
        return dict(cursor.fetchall())


def test_it_builds_what_the_model_declares_and_removes_the_earlier_ones() -> None:
    declared = [index for index in Place._meta.indexes if index.name in NAMES]
    assert len(declared) == 2
    with connection.schema_editor() as editor:
        for index in declared:
            editor.remove_index(Place, index)
            editor.add_index(Place, index)
    expected = definitions()
    with connection.cursor() as cursor:
        for name in NAMES:
            cursor.execute(f"DROP INDEX {name}")
        for name in migration.OLD:
            cursor.execute(f"CREATE INDEX {name} ON annotator_place (study_id)")
    for _ in range(2):  # also where the indexes are there already
        with connection.schema_editor(atomic=False) as editor:
            migration.build(None, editor)
        assert definitions() == expected


def test_an_index_that_an_interrupted_attempt_left_invalid_is_built_again() -> None:
    make_study(items=1, launched=True)
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX place_open_in_layer")
        # An index that fails while it's built stays, invalid.
        cursor.execute(
            "CREATE FUNCTION fails(bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE 'no'; END$$"
        )
    try:
        with connection.cursor() as cursor, pytest.raises(DatabaseError, match="no"):
            cursor.execute("CREATE INDEX CONCURRENTLY place_open_in_layer ON annotator_place (fails(id))")
        assert "place_open_in_layer" not in definitions(), "invalid"
        with connection.schema_editor(atomic=False) as editor:
            migration.build(None, editor)
        assert set(NAMES) <= set(definitions())
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION fails(bigint) CASCADE")
