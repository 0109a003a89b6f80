"""Pipelines: one task takes the next steps; a sweeper queues pipelines that aren't waiting for anything."""

from __future__ import annotations

from annotator.core.jobs import job
from evaluation.pipelines.advance import pipeline_advance
from evaluation.pipelines.sweep import pipelines_sweep


@job("evaluation.pipeline_advance")
def pipeline_advance_task(*, pipeline_pk: int) -> str:
    """Take a pipeline's next steps, as many as possible without waiting for calls."""
    return pipeline_advance(pipeline_pk=pipeline_pk)


@job("evaluation.pipelines_sweep")
def pipelines_sweep_task() -> int:
    """Wake running pipelines that aren't waiting for a run."""
    return pipelines_sweep()
