"""Workers are woken through the broker. It may be away or forget: the sweeper wakes again what should be awake."""

from __future__ import annotations

import logging
from typing import Any

from django.utils import timezone
from kombu.exceptions import OperationalError

from evaluation.models import Run

log = logging.getLogger(__name__)


def run_wake(*, run: Run, numbers: list[int] | None = None, countdown: float = 0.0) -> None:
    """Ask for a worker for each slice of a run (or for some). A broker that is away is no error."""
    from evaluation.tasks.runs import run_work

    Run.objects.filter(pk=run.pk).update(woken_at=timezone.now())
    for number in numbers if numbers is not None else range(run.workers):
        _send(run_work, {"run_pk": run.pk, "number": number}, countdown)


def pipeline_wake(*, pipeline_pk: int) -> None:
    """Ask for the next step of a pipeline."""
    from evaluation.tasks.runs import pipeline_advance_task

    _send(pipeline_advance_task, {"pipeline_pk": pipeline_pk}, 0.0)


def _send(task: Any, arguments: dict[str, int], countdown: float) -> None:
    try:
        task.apply_async(kwargs=arguments, countdown=countdown or None, retry=False)
    except (OperationalError, OSError):
        log.warning("the broker is away; %s will be woken by the sweeper", arguments)
