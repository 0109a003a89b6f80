"""Who works on a slice of a run: whoever holds its lock in Postgres, which goes with the connection that took it.

So a worker that is killed is known to be gone at once, without a time limit that a slow one could exceed, and a
message that the broker delivers twice finds the lock taken and does nothing.
"""

from __future__ import annotations

from django.db import connection

#: Sets these locks apart from any other use of advisory locks.
SPACE = 0x464C0000


def _keys(run_pk: int, number: int) -> list[int]:
    return [SPACE + number, run_pk % 2**31]


def slice_lock(*, run_pk: int, number: int) -> bool:
    """Take a slice's lock for as long as this thread's connection lives; False where somebody has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", _keys(run_pk, number))
        return bool(cursor.fetchone()[0])


def slice_unlock(*, run_pk: int, number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s, %s)", _keys(run_pk, number))


def slice_lock_briefly(*, run_pk: int, number: int) -> bool:
    """Take it until the end of the transaction; False where a worker has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", _keys(run_pk, number))
        return bool(cursor.fetchone()[0])
