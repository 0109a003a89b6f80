"""Work on a run in this process, without Celery, for commands and the demo."""

from __future__ import annotations

import time

from evaluation.models import Run
from evaluation.runs.batch import batch_work
from evaluation.runs.lifecycle import OVER, run_finish
from evaluation.runs.worker import SliceWorker


def run_inline(*, run: Run, seconds: float = 3600.0) -> Run:
    """Work until the run is over or paused, or the time is up. Celery workers may work on it at the same time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        run.refresh_from_db()
        if run.state in OVER or run.state == Run.State.PAUSED:
            break
        if run.mode == Run.Mode.BATCH:
            worked = batch_work(run_pk=run.pk)
        else:
            worked = SliceWorker(run_pk=run.pk, seconds=max(0.1, end - time.monotonic())).work()
        if worked.ended == "idle" and run_finish(run=run):
            break
        if worked.ended in ("busy", "idle", "time"):
            time.sleep(min(worked.wait or 0.3, 1.0))
    run.refresh_from_db()
    return run
