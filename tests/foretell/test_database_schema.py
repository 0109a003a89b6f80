"""The database after all migrations has what the models declare: their columns and no others, constraints and indexes."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import CheckConstraint, UniqueConstraint


@pytest.mark.django_db
def test_every_column_of_the_database_belongs_to_a_model() -> None:
    """A later migration drops what an earlier one kept for the previous version."""
    with connection.cursor() as cursor:
        for model in (model for model in apps.get_models() if not model._meta.proxy):
            table = model._meta.db_table
            there = {column.name for column in connection.introspection.get_table_description(cursor, table)}
            assert there == {field.column for field in model._meta.local_concrete_fields}, table


NAMED = """
SELECT relname, indrelid::regclass::text, indpred IS NOT NULL, indisunique, indisvalid
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
UNION SELECT conname, conrelid::regclass::text, false, false, convalidated FROM pg_constraint WHERE contype = 'c'
"""


def missing_from_the_database() -> list[str]:
    """The constraints and indexes with names that models declare and the database doesn't have as declared."""
    with connection.cursor() as cursor:
        cursor.execute(NAMED)
        there = {name: tuple(rest) for name, *rest in cursor.fetchall()}
    missing = []
    for model in apps.get_models():
        table = model._meta.db_table
        for one in (*model._meta.constraints, *model._meta.indexes):
            partial = not isinstance(one, CheckConstraint) and getattr(one, "condition", None) is not None
            expected = (table, partial, isinstance(one, UniqueConstraint), True)
            if there.get(one.name) != expected:
                missing.append(f"{one.name}: expected {expected}, found {there.get(one.name)}")
    return missing


@pytest.mark.django_db
def test_every_constraint_and_index_of_the_models_is_in_the_database() -> None:
    """A migration can drop one unnoticed: ``AlterField`` drops every index on its field's column alone, also one that
    belongs to a constraint, when it drops the field's own (``assignment_one_of_a_guest`` on ``Assignment.rater``)."""
    assert missing_from_the_database() == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("DROP INDEX assignment_one_of_a_guest", "assignment_one_of_a_guest"),
        (
            "DROP INDEX assignment_one_of_a_guest;"
            " CREATE UNIQUE INDEX assignment_one_of_a_guest ON annotator_assignment (rater_id, id)",
            "assignment_one_of_a_guest",
        ),
        ("ALTER TABLE annotator_assignment DROP CONSTRAINT assignment_never_twice", "assignment_never_twice"),
    ],
    ids=["an index dropped", "a partial index made whole", "a constraint dropped"],
)
def test_a_dropped_constraint_is_noticed(statement: str, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
    (missing,) = missing_from_the_database()
    assert missing.startswith(f"{name}: ")
