"""The sweeper of runs: it releases the calls of dead workers and wakes workers for runs that have none, as Postgres
shows."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotator.core import jobs
from evaluation.models import Call, Run
from evaluation.runs.lifecycle import run_finish
from evaluation.runs.settle import give_back_lost
from evaluation.runs.wake import run_wake


def runs_sweep() -> int:
    """Check every run that is running or has calls in flight. Returns how many were woken."""
    woken = 0
    held = Call.objects.filter(state=Call.State.IN_FLIGHT).values("run").distinct()
    for run in Run.objects.filter(Q(state=Run.State.RUNNING) | Q(pk__in=held)):
        free = _sweep(run)
        if run.state == Run.State.RUNNING and free and not run_finish(run=run) and _asleep(run):
            run_wake(run=run, numbers=free)
            woken += 1
    return woken


def _sweep(run: Run) -> list[int]:
    """Release the calls of slices that no worker has; returns the numbers of those slices."""
    free = []
    for number in range(run.workers):
        with transaction.atomic():
            if jobs.lock_take_briefly("run-slice", run.pk, number):
                free.append(number)
                if run.mode == Run.Mode.LIVE:
                    give_back_lost(run=run, slice_number=number)
    return free


def _asleep(run: Run) -> bool:
    """Whether the last message is so old that it is either lost, or in a queue where another one does no harm."""
    limit = timezone.now() - timedelta(seconds=settings.RUN_WAKE_SECONDS)
    return run.woken_at is None or run.woken_at < limit
