"""Pipelines: one task takes the next step; a sweeper queues what waits for nothing."""

from __future__ import annotations

from annotator.core.jobs import job
from evaluation.pipelines.advance import pipeline_advance
from evaluation.pipelines.sweep import pipelines_sweep


@job("evaluation.pipeline_advance")
def pipeline_advance_task(*, pipeline_pk: int) -> str:
    """Take a pipeline as far as it can go without waiting for calls."""
    return pipeline_advance(pipeline_pk=pipeline_pk)


@job("evaluation.pipelines_sweep")
def pipelines_sweep_task() -> int:
    """Wake running pipelines that wait for no run."""
    return pipelines_sweep()
