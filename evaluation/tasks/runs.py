"""Runs: one task works at a slice of a run for a while, one sweeps up what nobody works at."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings

from evaluation.models import Run
from evaluation.runs.batch import batch_work
from evaluation.runs.lifecycle import run_finish
from evaluation.runs.sweep import runs_sweep
from evaluation.runs.wake import run_wake
from evaluation.runs.worker import SliceWorker


@shared_task(name="evaluation.run_work", acks_late=True, reject_on_worker_lost=True, ignore_result=True)
def run_work(*, run_pk: int, number: int = 0) -> str:
    """Work at one slice of a run; does nothing where the run does not run or another worker has the slice."""
    run = Run.objects.filter(pk=run_pk).first()
    if run is None or run.state != Run.State.RUNNING:
        return "not running"
    if run.mode == Run.Mode.BATCH:
        worked = batch_work(run_pk=run_pk)
    else:
        worked = SliceWorker(run_pk=run_pk, number=number, seconds=settings.RUN_SLICE_SECONDS).work()
    if worked.why == "idle" and not run_finish(run=run) and number == 0:
        run_wake(
            run=run, numbers=[number], countdown=1.0
        )  # another slice's calls may come back to be tried again
    elif worked.why == "time":
        run_wake(run=run, numbers=[number], countdown=min(worked.wait or 0.0, 60.0))
    return worked.why


@shared_task(name="evaluation.runs_sweep", ignore_result=True)
def runs_sweep_task() -> int:
    """Give back what dead workers held, wake runs that nobody works at, go on with pipelines; every few seconds."""
    return runs_sweep()


@shared_task(
    name="evaluation.pipeline_advance", acks_late=True, reject_on_worker_lost=True, ignore_result=True
)
def pipeline_advance_task(*, pipeline_pk: int) -> str:
    """Go on with a pipeline as far as it can go without waiting for calls."""
    from evaluation.pipelines.advance import pipeline_advance

    return pipeline_advance(pipeline_pk=pipeline_pk)
