"""What a connection waits for: its state in ``pg_stat_activity``, looked at every few milliseconds from another connection."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter

import psycopg

EVERY_SECONDS = 0.02
_STATE = "SELECT state, wait_event_type, wait_event FROM pg_stat_activity WHERE pid = %s"


class Waits(threading.Thread):
    """Looks at the connection of ``pid`` until it's stopped.

    Postgres says ``Client`` while the connection waits for its program, a lock or file while it waits for that, and nothing while it
    computes or waits for a processor.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.over = pid, threading.Event()
        self.seen: list[tuple[float, str]] = []

    def run(self) -> None:
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as looking:
            while not self.over.wait(EVERY_SECONDS):
                row = looking.execute(_STATE, [self.pid]).fetchone()
                if row is not None:
                    state, kind, event = row
                    told = "Python" if kind == "Client" else f"{kind} {event}" if kind else "computing"
                    self.seen.append((time.perf_counter(), told if state != "idle" else "Python"))

    def between(self, began: float, ended: float) -> str:
        """What it waited for from ``began`` to ``ended``, the most frequent first, each with its share."""
        found = Counter(event for at, event in self.seen if began <= at <= ended)
        whole = sum(found.values())
        return ", ".join(f"{event} {100 * n / whole:.0f} %" for event, n in found.most_common(3))
