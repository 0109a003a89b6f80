"""The ground the other tests stand on."""

from __future__ import annotations

import socket

import pytest
import redis
from django.conf import settings
from django.db import connection

from foretell import env
from foretell.celery import app
from tests.network import NetworkBlocked
from tests.processes import shared_environment


@pytest.mark.django_db
def test_the_database_is_a_real_postgres_reached_with_a_password_on_loopback() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT version(), inet_server_addr()::text, current_setting('password_encryption')")
        version, address, encryption = cursor.fetchone()
    assert version.startswith("PostgreSQL")
    assert address.startswith("127.0.0.1")
    assert encryption == "scram-sha-256"
    assert connection.settings_dict["PASSWORD"]


def test_redis_is_real_and_refuses_a_client_without_the_password() -> None:
    url = settings.CELERY_BROKER_URL
    assert redis.Redis.from_url(url).ping() is True
    stranger = redis.Redis.from_url("redis://" + url.partition("@")[2])
    with pytest.raises(redis.AuthenticationError):
        stranger.ping()


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "example.org"])
def test_nothing_leaves_the_machine(host: str) -> None:
    with pytest.raises(NetworkBlocked):
        socket.create_connection((host, 80), timeout=1)


def test_a_process_that_a_test_starts_shares_its_redis_and_its_files() -> None:
    """In xdist's workers too, whose settings must be read after each got its own share."""
    environment = shared_environment()
    assert environment["REDIS_URL"] == settings.CELERY_BROKER_URL == app.conf.broker_url
    assert environment["DATA_DIR"] == str(env.DATA_DIR)
