from __future__ import annotations

import pytest
from django.test import Client

from foretell import health


@pytest.mark.django_db
def test_both_servers_respond(client: Client) -> None:
    response = client.get("/healthz", headers={"host": "not-an-allowed-host"})
    assert response.status_code == 200
    assert response.json() == {"database": "ok", "redis": "ok"}


@pytest.mark.django_db
def test_without_redis_the_installation_is_healthy(client: Client, settings) -> None:
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    response = client.get("/healthz")
    assert (response.status_code, response.json()["redis"]) == (200, "down")


def test_without_postgres_the_installation_is_unhealthy(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    class Unavailable:
        def cursor(self) -> None:
            raise OperationalError("connection refused, password is hunter2")

        def close(self) -> None: ...

    monkeypatch.setattr(health, "connection", Unavailable())
    response = client.get("/healthz")
    assert (response.status_code, response.json()["database"]) == (503, "down")
    assert b"hunter2" not in response.content
