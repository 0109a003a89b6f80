"""Copy the ledger of a backup or a release, whose rows come in another order than they were earned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def ledger_copied() -> Iterator[None]:
    """Within this block, and at most until the transaction ends, new payments aren't compared with what was earned. Only for rows that were
    checked when they were first written."""
    _say("on")
    yield
    _say("off")  # after an error, the rollback does this


def _say(value: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('foretell.ledger_copied', %s, true)", [value])
