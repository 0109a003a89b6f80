"""Background jobs: how a Celery task is declared, how a worker is woken for it, and a lock that dies with its worker.

Postgres holds the truth: a job is a row, and its task takes the row's id, reads its state again and returns if
there is nothing left to do. Redis only wakes workers. A lost message costs time, not work: a periodic task (a sweeper)
finds rows that no worker is working on and wakes one again.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from celery import current_app, shared_task
from django.conf import settings
from django.db import connection, connections
from kombu.exceptions import OperationalError

from annotator.core.acting import JOB, Acting, acting_as

log = logging.getLogger(__name__)
#: The name of a lock: the kind of thing, its id, and what else tells it from others.
Name = tuple[str | int, ...]
# A lock's key is 64 bits, which Postgres shows in two halves.
_FREE = """
SELECT key FROM unnest(%s::bigint[]) AS key EXCEPT
SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def job(name: str) -> Callable[[Callable[..., Any]], Any]:
    """Declare a task: acknowledged when it has ended, handed out again if its worker is lost, result not kept.

    It may therefore run twice, also at the same time; see ``lock_take``.
    """
    task = shared_task(name=name, acks_late=True, reject_on_worker_lost=True, ignore_result=True)

    def declare(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def run(*args: Any, **arguments: Any) -> Any:
            with acting_as(Acting(via=JOB)):
                return function(*args, **arguments)

        return task(run)

    return declare


def enqueue(name: str, *, countdown: float = 0.0, **arguments: Any) -> bool:
    """Wake a worker for the task ``name``; call it once the row is committed.

    Returns False if the broker is unavailable. The message is then lost, and the sweeper of that kind of row
    sends another one.
    """
    try:
        current_app.send_task(name, kwargs=arguments, countdown=countdown or None, retry=False)
    except (OperationalError, OSError) as error:
        log.warning("%s %s was not queued; a sweeper will queue it later: %s", name, arguments, error)
        return False
    return True


def lock_take(*name: str | int) -> bool:
    """Take a lock that lasts as long as this thread's database connection; False if another connection has it.

    A killed worker loses its connection and with it its locks, at once. There is no time limit that a slow worker could
    exceed. ``name`` is the kind of thing and its id: ``lock_take("report", 7)``. Taken twice by one
    connection, it must be released twice.
    """
    return _ask("SELECT pg_try_advisory_lock(%s)", name, session=True)


def lock_take_briefly(*name: str | int) -> bool:
    """The same lock until the end of the transaction; False if another connection has it."""
    return _ask("SELECT pg_try_advisory_xact_lock(%s)", name)


def locks_take_briefly(names: Collection[Name]) -> set[Name]:
    """``lock_take_briefly`` for many locks in one statement; returns those that were taken."""
    keys = {lock_key(*name): name for name in names}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT key FROM unnest(%s::bigint[]) AS key WHERE pg_try_advisory_xact_lock(key)", [list(keys)]
        )
        return {keys[key] for (key,) in cursor.fetchall()}


def locks_free(names: Collection[Name]) -> set[Name]:
    """Those of the locks that no connection has at present. Takes none, so it's in nobody's way."""
    keys = {lock_key(*name): name for name in names}
    with connection.cursor() as cursor:
        cursor.execute(_FREE, [list(keys)])
        return {keys[key] for (key,) in cursor.fetchall()}


def lock_wait_briefly(*name: str | int) -> None:
    """Wait for the same lock, and hold it until the end of the transaction."""
    _ask("SELECT pg_advisory_xact_lock(%s)::text IS NOT NULL", name)


def lock_share_briefly(*name: str | int) -> None:
    """Hold the same lock together with others who share it, until the end of the transaction; nobody can take it meanwhile."""
    _ask("SELECT pg_advisory_xact_lock_shared(%s)::text IS NOT NULL", name)


def lock_release(*name: str | int) -> None:
    """Release a lock taken with ``lock_take``."""
    _ask("SELECT pg_advisory_unlock(%s)", name, session=True)


@contextmanager
def lock_held(*name: str | int) -> Iterator[bool]:
    """``with lock_held("report", 7) as mine:`` takes the lock; ``mine`` says whether it succeeded. The lock is released
    at the end of the block."""
    mine = lock_take(*name)
    try:
        yield mine
    finally:
        if mine:
            lock_release(*name)


def lock_key(*name: str | int) -> int:
    """The 64-bit key of an advisory lock.

    >>> lock_key("report", 7) == lock_key("report", "7") != lock_key("report", 77)
    True
    """
    text = "\x1f".join(["foretell", *map(str, name)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def _ask(sql: str, name: tuple[str | int, ...], *, session: bool = False) -> bool:
    """Ask on this thread's connection; for a lock that outlasts a transaction, past a pooler that would lend it on."""
    asked = connections["session"] if session and "session" in settings.DATABASES else connection
    with asked.cursor() as cursor:
        cursor.execute(sql, [lock_key(*name)])
        return bool(cursor.fetchone()[0])
