"""Celery's Redis transport, with one error made into the kind that Celery handles.

When Redis goes away while a task runs, kombu closes the connection and then asks the closed connection for its address.
That raises ``AttributeError``, which ends the worker. As a connection error it is handled: the worker connects again, and
the sweepers find the tasks that it couldn't return to the queue. ``tests/foretell/test_broker.py`` shows what kombu does
by itself; when that test fails, kombu has changed and this file may no longer be needed.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import redis


class Channel(redis.Channel):
    @property
    def pool(self) -> Any:
        try:
            return super().pool
        except AttributeError as error:
            raise self._explained(error) from error

    @property
    def async_pool(self) -> Any:
        try:
            return super().async_pool
        except AttributeError as error:
            raise self._explained(error) from error

    def _explained(self, error: AttributeError) -> Exception:
        """The same error, unless its cause is a closed connection."""
        closed = self.connection.client is None
        return ConnectionError("the connection to Redis is closed") if closed else error


class Transport(redis.Transport):
    """Named by ``CELERY_BROKER_TRANSPORT``."""

    Channel = Channel
