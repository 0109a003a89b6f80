"""Runs: one task works on a slice of a run for a while; a sweeper queues runs without a worker."""

from __future__ import annotations

from django.conf import settings

from annotator.core.jobs import job
from evaluation.models import Run
from evaluation.runs.batch import batch_work
from evaluation.runs.lifecycle import run_finish
from evaluation.runs.sweep import runs_sweep
from evaluation.runs.wake import run_wake
from evaluation.runs.worker import SliceWorker


@job("evaluation.run_work")
def run_work(*, run_pk: int, number: int = 0) -> str:
    """Work on one slice of a run; does nothing if the run isn't running or another worker has the slice."""
    run = Run.objects.filter(pk=run_pk).first()
    if run is None or run.state != Run.State.RUNNING:
        return "not running"
    if run.mode == Run.Mode.BATCH:
        worked = batch_work(run_pk=run_pk)
    else:
        worked = SliceWorker(run_pk=run_pk, number=number, seconds=settings.RUN_SLICE_SECONDS).work()
    if worked.ended == "idle" and not run_finish(run=run) and number == 0:
        # Calls of another slice may still have to be retried.
        run_wake(run=run, numbers=[number], countdown=1.0)
    elif worked.ended == "time":
        run_wake(run=run, numbers=[number], countdown=min(worked.wait or 0.0, 60.0))
    return worked.ended


@job("evaluation.runs_sweep")
def runs_sweep_task() -> int:
    """Release the calls of dead workers and wake workers for runs that have none."""
    return runs_sweep()
