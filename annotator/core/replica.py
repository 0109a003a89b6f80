"""Read from a replica of the database, if there is one: reports, exports, releases and live pages, never an annotator's page.

``DATABASE_REPLICA_URL`` names a streaming replica. Work that reads a lot and writes nothing goes through ``replica_read``, which
asks first whether the replica has everything that was committed until then: nobody sees less than what they have just saved.
Inside it, the router sends reads to the replica and writes to the primary, as it does everywhere else.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, connections

log = logging.getLogger(__name__)
T = TypeVar("T")

PRIMARY, REPLICA = "default", "replica"
#: How long a job waits until the replica has what was committed when it began, and how long a page does.
PATIENCE_SECONDS, PAGE_SECONDS = 20.0, 0.2
#: A replica that failed is left alone for this long.
AVOIDED_SECONDS = 30.0

_database: ContextVar[str] = ContextVar("database", default=PRIMARY)
_avoided_until = 0.0


class ReplicaRouter:
    """Reads go where ``replica_read`` says, and to the primary outside of it, wherever an object came from; writes never
    go to the replica."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return _database.get()

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return PRIMARY

    def allow_relation(self, one: Any, other: Any, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == PRIMARY


def reading_from() -> Any:
    """The connection for a statement of one's own that only reads."""
    return connections[_database.get()]


def replica_read(work: Callable[[], T], *, patience: float = PATIENCE_SECONDS) -> T:
    """Do work that reads, on the replica if it has everything that is committed now, or has it within ``patience`` seconds;
    otherwise on the primary.

    If the replica fails in the middle, or cancels a statement because it has to apply a change, the work is done again from its
    beginning on the primary: it must bear that. Inside a transaction it stays on the primary, which alone knows what the
    transaction has written.
    """
    if not replica_current(patience=patience):
        return work()
    try:
        with _from(REPLICA):
            return work()
    except (DatabaseError, InterfaceError) as error:
        _avoid(error)
    return work()


def replica_current(*, patience: float = 0.0) -> bool:
    """Whether there is a replica that has applied everything that was committed when this was called."""
    if REPLICA not in settings.DATABASES or time.monotonic() < _avoided_until or connection.in_atomic_block:
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_current_wal_insert_lsn(), (SELECT system_identifier FROM pg_control_system())"
        )
        wanted, system = cursor.fetchone()
    until = time.monotonic() + patience
    try:
        while not _has(wanted, system):
            if time.monotonic() >= until:
                log.info("The replica is behind; the primary is read instead.")
                return False
            time.sleep(0.01)
    except DatabaseError as error:
        _avoid(error)
        return False
    return True


def _has(wanted: str, system: int) -> bool:
    """Whether the replica has applied its log up to ``wanted``. A server that follows no other, or another one, is no replica."""
    with connections[REPLICA].cursor() as cursor:
        cursor.execute(
            "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::pg_lsn"
            " AND (SELECT system_identifier FROM pg_control_system()) = %s",
            [wanted, system],
        )
        return bool(cursor.fetchone()[0])


def _avoid(error: Exception) -> None:
    global _avoided_until
    _avoided_until = time.monotonic() + AVOIDED_SECONDS
    connections[REPLICA].close()
    log.warning("The replica failed and is left alone for %g s: %s", AVOIDED_SECONDS, error)


@contextmanager
def _from(database: str) -> Iterator[None]:
    token = _database.set(database)
    try:
        yield
    finally:
        _database.reset(token)
