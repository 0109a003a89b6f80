"""Waking workers for a run. A message may be lost; the sweeper queues it again."""

from __future__ import annotations

from django.utils import timezone

from annotator.core import jobs
from evaluation.models import Run


def run_wake(*, run: Run, numbers: list[int] | None = None, countdown: float = 0.0) -> None:
    """Queue a task for each slice of a run, or for the slices with these numbers."""
    Run.objects.filter(pk=run.pk).update(woken_at=timezone.now())
    for number in numbers if numbers is not None else range(run.workers):
        jobs.enqueue("evaluation.run_work", countdown=countdown, run_pk=run.pk, number=number)


def pipeline_wake(*, pipeline_pk: int) -> None:
    """Queue a task for the next step of a pipeline."""
    jobs.enqueue("evaluation.pipeline_advance", pipeline_pk=pipeline_pk)
