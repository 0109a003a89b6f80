"""The database after all migrations has the models' columns and no others."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone
from rest_framework.authtoken.models import Token

from annotator.models import ApiToken
from tests.factories import make_user


@pytest.mark.django_db
def test_every_column_of_the_database_belongs_to_a_model() -> None:
    """A later migration drops what an earlier one kept for the previous version."""
    with connection.cursor() as cursor:
        for model in (model for model in apps.get_models() if not model._meta.proxy):
            table = model._meta.db_table
            there = {column.name for column in connection.introspection.get_table_description(cursor, table)}
            assert there == {field.column for field in model._meta.local_concrete_fields}, table


@pytest.mark.django_db
def test_tokens_of_an_early_version_are_taken_over_as_digests() -> None:
    migration = import_module("annotator.migrations.0014_api_token")
    user = make_user("rosa")
    old = Token.objects.create(user=user)
    migration.take_over(apps, SimpleNamespace(connection=connection))
    taken = ApiToken.objects.get()
    assert (taken.user, taken.digest, taken.may_write) == (user, sha256(old.key.encode()).hexdigest(), True)
    assert timedelta(days=364) < taken.expires_at - timezone.now() <= timedelta(days=365)
    assert not Token.objects.exists()
    connection.check_constraints()
    with connection.cursor() as cursor:
        cursor.execute(
            "DROP TABLE authtoken_token"
        )  # a new installation, on which its migration hasn't run yet
    migration.take_over(apps, SimpleNamespace(connection=connection))
    assert ApiToken.objects.count() == 1
