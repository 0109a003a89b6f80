"""Take a pipeline through its steps, cancel it, resume it, or repeat one step. Safe to call again after a crash."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.core.errors import Conflict
from annotator.core.tables.faults import FileRefused
from annotator.hit_types.base import JSON
from annotator.models import Study
from evaluation.models import Call, Pipeline, Report, Run
from evaluation.pipelines.contract import CurrentStep, step_kind
from evaluation.pipelines.control import BY_RESEARCHER
from evaluation.pipelines.model_step import ModelStep
from evaluation.pipelines.moved import is_over, moves_confirm
from evaluation.pipelines.slots import left_out_for, slots_named
from evaluation.pipelines.training import tuning_work
from evaluation.pipelines.tuning_control import tunings_cancel, tunings_retry
from evaluation.runs.lifecycle import run_cancel, run_resume, run_retry_failed
from evaluation.runs.wake import pipeline_wake


def pipeline_advance(*, pipeline_pk: int) -> str:
    """Take as many steps as possible without waiting for calls. Returns the pipeline's state, or "waiting".

    If two workers call it at once, the second waits for the first and then finds nothing to do.
    """
    while True:
        state = _advance(pipeline_pk)
        if state == "on" or (state == "waiting" and tuning_work(pipeline_pk=pipeline_pk)):
            continue
        return state


def _advance(pipeline_pk: int) -> str:
    """Take one step; returns "on" if the next one can be taken at once."""
    with transaction.atomic():
        pipeline = Pipeline.objects.select_for_update(no_key=True).filter(pk=pipeline_pk).first()
        if pipeline is None or pipeline.state in (Pipeline.State.DONE, Pipeline.State.CANCELLED):
            return pipeline.state if pipeline else "gone"
        if pipeline.state == Pipeline.State.PAUSED and pipeline.reason == BY_RESEARCHER:
            return pipeline.state
        steps = pipeline.recipe.content["steps"]
        if pipeline.step >= len(steps):
            pipeline.state, pipeline.finished_at = Pipeline.State.DONE, timezone.now()
            pipeline.save(update_fields=["state", "finished_at"])
            return pipeline.state
        step = steps[pipeline.step]
        try:
            result = step_advance(pipeline, step)
        except (ValidationError, FileRefused, KeyError, ValueError) as error:
            result = None
            message = "; ".join(error.messages) if isinstance(error, ValidationError) else str(error)
            CurrentStep(pipeline, step).pause(message)
        if result is None:
            pipeline.save(update_fields=["state", "reason"])
            return pipeline.state if pipeline.state == Pipeline.State.PAUSED else "waiting"
        pipeline.results[step["name"]] = result
        pipeline.step += 1
        pipeline.state, pipeline.reason = Pipeline.State.RUNNING, ""
        pipeline.save(update_fields=["results", "step", "state", "reason", "study"])
        return "on"


def step_advance(pipeline: Pipeline, content: JSON) -> JSON | None:
    """Start a step of a pipeline, or check on it. Returns its result in numbers, or None while it is still going on."""
    if why := left_out_for(content, slots_named(pipeline.overrides)):
        return {"left_out": why}
    step, kind = CurrentStep(pipeline, content), step_kind(content["kind"])
    if kind.of_study and "study" not in pipeline.results[step.options["study"]]:
        return {"left_out": "its study was left out"}
    return kind.advance(step)


def pipeline_cancel(*, pipeline: Pipeline) -> Pipeline:
    """Cancel a pipeline for good, with the run or tuning job that it is waiting for."""
    with transaction.atomic():
        pipeline = Pipeline.objects.select_for_update(no_key=True).get(pk=pipeline.pk)
        if pipeline.state != Pipeline.State.DONE:
            pipeline.state, pipeline.finished_at = Pipeline.State.CANCELLED, timezone.now()
            pipeline.save(update_fields=["state", "finished_at"])
            for run in pipeline.runs.filter(state__in=[*Run.LIVE, Run.State.PAUSED]):
                run_cancel(run=run)
            tunings_cancel(pipeline=pipeline)
    return pipeline


def pipeline_resume(*, pipeline: Pipeline) -> Pipeline:
    """Resume a paused pipeline: continue the paused run, send the calls of one without any success again, or create a new
    one if that was cancelled or failed."""
    with transaction.atomic():
        row = Pipeline.objects.select_for_update(no_key=True).get(pk=pipeline.pk)
        if row.state in (Pipeline.State.DONE, Pipeline.State.CANCELLED):
            raise Conflict(f"{row} is {row.get_state_display()}.")
        for run in row.runs.filter(state=Run.State.PAUSED):
            run_resume(run=run)
        for run in row.runs.filter(state__in=[Run.State.RUNNING, Run.State.INCOMPLETE]):
            if not run.calls.filter(state=Call.State.DONE).exists():
                run_retry_failed(run=run)
        row.runs.filter(state__in=[Run.State.CANCELLED, Run.State.FAILED]).update(pipeline=None)
        tunings_retry(pipeline=row)
        row.state, row.reason = Pipeline.State.RUNNING, ""
        row.save(update_fields=["state", "reason"])
        transaction.on_commit(lambda: pipeline_wake(pipeline_pk=row.pk))
    return row


def pipeline_deployment_confirm(*, pipeline: Pipeline, deployments: Sequence[str]) -> Pipeline:
    """Confirm for all runs and fine-tuning jobs of a pipeline that where their endpoints are now is the same deployment,
    and resume it. Of a cancelled pipeline, confirm it for the jobs that are still being cancelled: the sweep cancels them there.

    ``deployments`` is what was shown to the person who confirms it: ``moved_to(moved_endpoints(pipeline))`` at that time.
    The audit trail records it for each of them. Raises ``Conflict`` if no endpoint has moved, if one has moved again, or if
    the pipeline is over.
    """
    with transaction.atomic():
        row = Pipeline.objects.select_for_update(no_key=True).get(pk=pipeline.pk)
        confirmed = moves_confirm(pipeline=row, deployments=deployments)
        if is_over(row) and confirmed:
            return row
        if is_over(row):
            raise Conflict(f"{row} is {row.get_state_display()}.")
        if not confirmed:
            raise Conflict("The endpoints are where this pipeline's answers come from. Resume the pipeline.")
        return pipeline_resume(pipeline=pipeline)


def pipeline_step_again(
    *, pipeline: Pipeline, name: str, choices: JSON | None = None
) -> Run | Study | Report:
    """Repeat one step of a pipeline: what exists is kept, and what is missing is asked for or added.

    ``choices`` replace the step's own this one time; only steps that start a run take them. Returns the started run, the
    study with the added items, or the new report. Raises ``ValidationError`` if there is no such step, if the pipeline
    has not reached it yet, or if nothing is missing.
    """
    step = next((step for step in pipeline.recipe.content["steps"] if step["name"] == name), None)
    if step is None:
        raise ValidationError({"name": f"{pipeline.recipe} has no step {name!r}"})
    if name not in pipeline.results:
        raise ValidationError({"name": f"{name}: the pipeline has not reached this step yet"})
    kind = step_kind(step["kind"])
    if choices and not isinstance(kind, ModelStep):
        raise ValidationError({"choices": f"{name} starts no run; only steps that do take other choices"})
    return kind.repeat(CurrentStep(pipeline, step), choices or {})
