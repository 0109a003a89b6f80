"""A limit to the time that a block of code may take in the database, and in loops over its rows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from django.db import OperationalError, transaction
from psycopg.errors import QueryCanceled

Row = TypeVar("Row")
_until: ContextVar[float | None] = ContextVar("time_limit", default=None)


class TooSlow(Exception):
    """The block took longer than its limit."""


@contextmanager
def time_limit(seconds: float, *, using: Any) -> Iterator[None]:
    """Raise ``TooSlow`` in this block, a transaction of the connection ``using``, if a statement takes longer than ``seconds``, or a loop over
    ``in_time`` is still running by then."""
    token = _until.set(time.monotonic() + seconds)
    try:
        with transaction.atomic(using=using.alias):
            with using.cursor() as cursor:
                cursor.execute(f"SET LOCAL statement_timeout = {max(round(seconds * 1000), 1)}")
            yield
            with using.cursor() as cursor:  # this may be a savepoint of a longer transaction
                cursor.execute("SET LOCAL statement_timeout TO DEFAULT")
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        raise TooSlow from error
    finally:
        _until.reset(token)


def in_time(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, as long as the limit of the block around them lasts."""
    until = _until.get()
    for row in rows:
        if until is not None and time.monotonic() > until:
            raise TooSlow
        yield row
