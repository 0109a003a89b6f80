"""While Postgres refuses connections, as it does during a restart, replies are 503 and say when to retry."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from tests.factories import make_study
from tests.processes import WebProcess

pytestmark = [pytest.mark.fault, pytest.mark.django_db(transaction=True)]


@contextmanager
def database_unavailable() -> Iterator[None]:
    """Cut every connection to the test's database and refuse new ones."""
    settings = connection.settings_dict
    name = settings["NAME"]
    connection.close()
    with psycopg.connect(
        host=settings["HOST"],
        port=settings["PORT"],
        user=settings["USER"],
        password=settings["PASSWORD"],
        dbname="postgres",
        autocommit=True,
    ) as server:
        switch = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        server.execute(switch.format(sql.Identifier(name), sql.SQL("false")))
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND usename = current_user",
            [name],
        )
        try:
            yield
        finally:
            server.execute(switch.format(sql.Identifier(name), sql.SQL("true")))


def get(url: str, cookie: str = "") -> tuple[int, Message, str]:
    request = urllib.request.Request(url, headers={"Cookie": cookie})
    try:
        with urllib.request.urlopen(request, timeout=300) as reply:
            return reply.status, reply.headers, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def test_while_postgres_is_unavailable_replies_say_when_to_retry(web_process: WebProcess) -> None:
    study = make_study(items=1, launched=True)
    page = f"{web_process.url}/join/{study.join_token}/"
    session = "sessionid=0123456789abcdef0123456789abcdef"
    assert get(page)[0] == 200
    with database_unavailable():
        for _ in range(3):  # connections that were open, and new ones
            status, headers, text = get(page)
            assert (status, headers["Retry-After"]) == (503, "5")
            assert "The service is unavailable" in text
            status, headers, text = get(f"{web_process.url}/api/v1/studies/", session)
            assert (status, headers["Retry-After"]) == (503, "5")
            assert json.loads(text) == {"detail": "The database is unavailable. Try again."}
    assert get(page)[0] == 200
