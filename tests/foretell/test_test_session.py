"""The servers and the network block of the test session."""

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
