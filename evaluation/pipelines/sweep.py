"""The sweeper of pipelines: it queues those whose message was lost, as Postgres shows."""

from __future__ import annotations

from django.db.models import Exists, OuterRef

from evaluation.models import Pipeline, Run
from evaluation.pipelines.tuning_control import tunings_sweep
from evaluation.runs.wake import pipeline_wake


def pipelines_sweep() -> int:
    """Wake a worker for every running pipeline that isn't waiting for a run, and cancel fine-tuning jobs. Returns how
    many were woken."""
    tunings_sweep()
    waits_for = Run.objects.filter(pipeline=OuterRef("pk"), state__in=[Run.State.RUNNING, Run.State.QUEUED])
    running = Pipeline.objects.filter(~Exists(waits_for), state=Pipeline.State.RUNNING)
    pks = list(running.values_list("pk", flat=True))
    for pk in pks:
        pipeline_wake(pipeline_pk=pk)
    return len(pks)
