"""The Celery transport of this project against kombu's own, on a connection that was closed."""

from __future__ import annotations

import pytest
from django.conf import settings
from kombu import Connection
from kombu.transport import redis

from foretell.broker import Transport
from foretell.celery import app


def closed_channel(transport: str) -> redis.Channel:
    connection = Connection(settings.CELERY_BROKER_URL, transport=transport)
    channel = connection.channel()
    connection.transport.client = None  # as kombu's Connection does when Redis goes away
    channel._pool = channel._async_pool = None
    return channel


def test_celery_uses_our_transport() -> None:
    with app.connection_for_write() as connection:
        assert isinstance(connection.transport, Transport)
        assert isinstance(connection.default_channel, Transport.Channel)
        assert connection.transport.driver_type == "redis"


def test_kombu_by_itself_raises_an_attribute_error_on_a_closed_connection() -> None:
    """Fails when kombu is fixed; then foretell/broker.py can be removed."""
    with pytest.raises(AttributeError):
        closed_channel("redis").conn_or_acquire().__enter__()


def test_a_closed_connection_is_a_connection_error() -> None:
    channel = closed_channel("foretell.broker:Transport")
    with pytest.raises(ConnectionError, match="the connection to Redis is closed"):
        channel.conn_or_acquire().__enter__()
    with pytest.raises(ConnectionError, match="the connection to Redis is closed"):
        _ = channel.async_pool
    assert issubclass(ConnectionError, Transport.connection_errors), "Celery connects again after these"


def test_other_attribute_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Connection(settings.CELERY_BROKER_URL, transport="foretell.broker:Transport")
    channel = connection.channel()
    channel._pool = None

    def broken(*, asynchronous: bool = False) -> None:
        raise AttributeError("a mistake in the program")

    monkeypatch.setattr(channel, "_get_pool", broken)
    with pytest.raises(AttributeError, match="a mistake in the program"):
        channel.conn_or_acquire().__enter__()
