"""The schedule of the periodic tasks, kept in memory.

Celery's own default writes a pickle, which runs code when it's read, to a file that another user of the machine may have put there.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from celery.beat import Scheduler

from foretell import env

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def alive_file() -> Path:
    """Touched every three minutes; the health check of the Compose file looks at its age."""
    return env.DATA_DIR / "beat-alive"


class MemoryScheduler(Scheduler):
    """Every task is due at the start, so that restarts never postpone the hourly ones. Tasks may run twice."""

    def setup_schedule(self) -> None:
        super().setup_schedule()
        for entry in self.schedule.values():
            entry.last_run_at = LONG_AGO

    def sync(self) -> None:
        env.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        alive_file().touch()
