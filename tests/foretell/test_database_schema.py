"""The database after all migrations has the models' columns and no others."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection


@pytest.mark.django_db
def test_every_column_of_the_database_belongs_to_a_model() -> None:
    """What a migration keeps for the previous version is dropped by a later one."""
    with connection.cursor() as cursor:
        for model in (model for model in apps.get_models() if not model._meta.proxy):
            table = model._meta.db_table
            there = {column.name for column in connection.introspection.get_table_description(cursor, table)}
            assert there == {field.column for field in model._meta.local_concrete_fields}, table
