"""Runs: one task works on a slice of a run for a while; a sweeper queues runs without a worker."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from annotator.core.jobs import job
from annotator.services.turns import KINDS, Kind, Work, in_turn
from evaluation.models import Run
from evaluation.runs.batch import batch_work
from evaluation.runs.lifecycle import run_finish
from evaluation.runs.sweep import runs_sweep
from evaluation.runs.turns import run_workspace, runs_waiting
from evaluation.runs.wake import run_wake
from evaluation.runs.worker import SliceWorker


def slice_work(work: Work, *, woken: bool) -> str:
    """Work on one slice of a run; does nothing if the run isn't running or another worker has the slice.

    ``woken``: by a message of its own, so what is left gets another one. Else its own message is still to come.
    """
    run = Run.objects.filter(pk=work.pk).first()
    if run is None or run.state != Run.State.RUNNING:
        return "not running"
    if run.mode == Run.Mode.BATCH:
        worked = batch_work(run_pk=work.pk)
    else:
        worked = SliceWorker(run_pk=work.pk, number=work.number, seconds=settings.RUN_SLICE_SECONDS).work()
    if worked.ended == "idle" and not run_finish(run=run) and work.number == 0 and woken:
        # Calls of another slice may still have to be retried.
        run_wake(run=run, numbers=[work.number], countdown=1.0)
    elif worked.ended == "time" and woken:
        run_wake(run=run, numbers=[work.number], countdown=min(worked.wait or 0.0, 60.0))
    return worked.ended


def _again(work: Work) -> None:
    run_wake(run=Run(pk=work.pk), numbers=[work.number])


KINDS["evaluation.run_work"] = Kind(
    workspace=run_workspace,
    waiting=runs_waiting,
    carry_out=lambda work: slice_work(work, woken=False),
    again=_again,
    later=True,
)


@job("evaluation.run_work")
def run_work(*, run_pk: int, number: int = 0) -> Any:
    """Work on one slice of a run."""
    work = Work("evaluation.run_work", run_pk, number)
    return in_turn(work, lambda: slice_work(work, woken=True))


@job("evaluation.runs_sweep")
def runs_sweep_task() -> int:
    """Release the calls of dead workers and wake workers for runs that have none."""
    return runs_sweep()
