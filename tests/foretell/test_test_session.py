"""The servers and the network block of the test session."""

from __future__ import annotations

import socket

import pytest
import redis
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from annotator.models import Item
from annotator.models.audit import AuditAction
from annotator.services.audit import audit_write
from foretell import env
from foretell.celery import app
from tests.emptying import KEPT, MANY, rows_delete
from tests.factories import make_study, make_user
from tests.network import NetworkBlocked
from tests.processes import shared_environment


@pytest.mark.django_db
def test_the_database_is_a_postgres_on_loopback_with_a_password() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT version(), inet_server_addr()::text, current_setting('password_encryption')")
        version, address, encryption = cursor.fetchone()
    assert version.startswith("PostgreSQL")
    assert address.startswith("127.0.0.1")
    assert encryption == "scram-sha-256"
    assert connection.settings_dict["PASSWORD"]


def test_redis_refuses_a_client_without_the_password() -> None:
    url = settings.CELERY_BROKER_URL
    assert redis.Redis.from_url(url).ping() is True
    anonymous = redis.Redis.from_url("redis://" + url.partition("@")[2])
    with pytest.raises(redis.AuthenticationError):
        anonymous.ping()


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "example.org"])
def test_connections_to_other_machines_are_blocked(host: str) -> None:
    with pytest.raises(NetworkBlocked):
        socket.create_connection((host, 80), timeout=1)


def test_a_process_started_by_a_test_uses_the_same_redis_and_files() -> None:
    """Also in xdist's workers, which read their settings after they are given their own Redis and files."""
    environment = shared_environment()
    assert environment["REDIS_URL"] == settings.CELERY_BROKER_URL == app.conf.broker_url
    assert environment["DATA_DIR"] == str(env.DATA_DIR)


COMMITTED = ("annotator_user", "annotator_study", "annotator_item", "annotator_place", "annotator_auditentry")


def rows() -> dict[str, int]:
    found = {}
    with connection.cursor() as cursor:
        for table in (*COMMITTED, *KEPT):
            cursor.execute(f"SELECT count(*) FROM {table}")
            found[table] = cursor.fetchone()[0]
    return found


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("many", [False, True])
def test_what_a_test_has_committed_is_deleted_after_it(many: bool) -> None:
    """Rows that refer to each other, the audit trail, and more rows than are deleted one by one."""
    study = make_study(items=3, launched=True, by=make_user(staff=True))
    audit_write(action=AuditAction.STUDY_LAUNCHED, study=study)
    if many:
        Item.objects.bulk_create(Item(study=study, key=f"more-{n}", payload={}) for n in range(MANY + 1))
    before = rows()
    assert all(before.values()), before
    assert (before["annotator_item"] > MANY) == many
    rows_delete()
    after = rows()
    assert {table: after[table] for table in COMMITTED} == dict.fromkeys(COMMITTED, 0)
    assert {table: after[table] for table in KEPT} == {table: before[table] for table in KEPT}
    assert ContentType.objects.get_for_model(Item) == ContentType.objects.get(
        app_label="annotator", model="item"
    )
    assert make_study(slug="next").pk > study.pk
