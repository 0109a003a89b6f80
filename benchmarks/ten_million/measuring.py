"""Time, processor and memory of one operation, and the turns of somebody who works beside it."""

from __future__ import annotations

import os
import resource
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks.ten_million.waits import Waits

PAUSE_SECONDS = 0.1


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def postgres_seconds() -> float:
    """Seconds of processor time that this connection's Postgres process has used, if it runs on this machine."""
    fields = Path(f"/proc/{_backend()}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def measured(operation: Callable[[], Any]) -> dict[str, Any]:
    """What an operation took in this process. What it returns says what it did."""
    idle, used, theirs = peak_mb(), time.process_time(), postgres_seconds()
    start = time.perf_counter()
    did = operation()
    seconds = time.perf_counter() - start
    return {
        "seconds": round(seconds, 2),
        "processor": round(time.process_time() - used, 2),
        "postgres": round(postgres_seconds() - theirs, 2),
        "mb": peak_mb() - idle,
        "did": str(did),
    }


class Annotator:
    """Somebody who works in a study, by the product's own services."""

    def __init__(self, study: Any) -> None:
        from annotator.models import User
        from annotator.services.assignment import assignment_next
        from annotator.services.participation import instructions_finish, participation_join

        self.user, _ = User.objects.get_or_create(username=f"works-in-{study.slug}-{time.time_ns()}")
        participation = participation_join(study=study, user=self.user)
        instructions_finish(participation=participation)
        self.assignment: Any = assignment_next(participation=participation)

    def turn(self) -> float:
        """Submit and take the next task; the seconds that it took."""
        from annotator.services.submit_and_next import turn_take

        began = time.perf_counter()
        turn = turn_take(
            user_id=self.user.pk, assignment_pk=self.assignment.pk, stage=0, raw={"helpful": "no"}
        )
        seconds = time.perf_counter() - began
        assert turn.refusal is None, turn.refusal
        self.assignment = turn.assignment
        return seconds


class Beside(threading.Thread):
    """Takes a turn every tenth of a second until it's stopped, and says what the longest one waited for."""

    def __init__(self, study: Any) -> None:
        super().__init__(daemon=True)
        self.study, self.over = study, threading.Event()
        self.seconds: list[float] = []
        self.longest, self.waited = 0.0, ""
        self.fault = ""

    def run(self) -> None:
        try:
            person = Annotator(self.study)
            waits = Waits(_backend())
            waits.start()
            while not self.over.wait(PAUSE_SECONDS):
                if person.assignment is None:  # a small study has few items left for one person
                    person = Annotator(self.study)
                self.seconds.append(person.turn())
                self._note(waits)
            waits.over.set()
        except Exception as error:
            self.fault = f"{type(error).__name__}: {error}"
        finally:
            connection.close()

    def _note(self, waits: Waits) -> None:
        """Keep what the last turn waited for if it was the longest; forget what was seen."""
        ended = time.perf_counter()
        if self.seconds[-1] > self.longest:
            self.longest = self.seconds[-1]
            self.waited = waits.between(ended - self.longest, ended)
        waits.seen.clear()

    def stop(self) -> str:
        self.over.set()
        self.join()
        if self.fault:
            return self.fault
        if not self.seconds:
            return "none"
        return f"{len(self.seconds):,}: median {1000 * statistics.median(self.seconds):.0f} ms, longest {1000 * self.longest:,.0f} ms ({self.waited})"
