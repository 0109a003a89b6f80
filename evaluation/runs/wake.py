"""Waking workers for a run. A message may be lost; the sweeper queues it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.utils import timezone

from annotator.core import jobs
from evaluation.models import Run


def run_wake(*, run: Run, numbers: list[int] | None = None, countdown: float = 0.0) -> None:
    """Queue a task for each slice of a run, or for the slices with these numbers."""
    runs_wake(slices={run.pk: range(run.workers) if numbers is None else numbers}, countdown=countdown)


def runs_wake(*, slices: Mapping[int, Iterable[int]], countdown: float = 0.0) -> None:
    """Queue a task for each of these slices: primary key of a run -> numbers."""
    Run.objects.filter(pk__in=slices).update(woken_at=timezone.now())
    for run_pk, numbers in slices.items():
        for number in numbers:
            jobs.enqueue("evaluation.run_work", countdown=countdown, run_pk=run_pk, number=number)


def pipeline_wake(*, pipeline_pk: int) -> None:
    """Queue a task for the next step of a pipeline."""
    jobs.enqueue("evaluation.pipeline_advance", pipeline_pk=pipeline_pk)
