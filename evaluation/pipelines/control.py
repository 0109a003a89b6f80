"""Pause a pipeline, change its budget, and retry the failed calls of its runs."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.errors import Conflict
from evaluation.models import Pipeline, Run
from evaluation.pipelines.budget import smaller_budget, tuning_spent
from evaluation.pipelines.endpoints import ALL_STEPS
from evaluation.pipelines.options import step_options
from evaluation.runs.lifecycle import run_budget_set, run_pause, run_retry_failed

#: The reason shown for a pipeline that a person has paused; only a person can resume it.
BY_RESEARCHER = "Paused by a researcher."
_OVER = (Pipeline.State.DONE, Pipeline.State.CANCELLED)


def pipeline_pause(*, pipeline: Pipeline) -> Pipeline:
    """Pause a pipeline and the runs that it waits for. Replies to requests in flight are still stored.

    Raises ``Conflict`` if it is over.
    """
    with transaction.atomic():
        row = _locked(pipeline)
        if row.state in _OVER:
            raise Conflict(f"{row} is {row.get_state_display()}.")
        row.state, row.reason = Pipeline.State.PAUSED, BY_RESEARCHER
        row.save(update_fields=["state", "reason"])
        for run in row.runs.filter(state__in=Run.LIVE):
            run_pause(run=run)
    return row


def pipeline_budget_set(*, pipeline: Pipeline, budget: Decimal | None) -> Pipeline:
    """Raise or lower what all runs of a pipeline may cost together; None removes the limit.

    A run under way gets what is left. Raises ``ValidationError`` (budget) if more has been spent or reserved
    already, and ``Conflict`` if the pipeline is over.
    """
    with transaction.atomic():
        row = _locked(pipeline)
        if row.state in _OVER:
            raise Conflict(f"{row} is {row.get_state_display()}.")
        used = {run.pk: run.spent_cost + run.lost_cost + run.reserved_cost for run in row.runs.all()}
        total = sum(used.values(), tuning_spent(row))
        if budget is not None and budget < total:
            raise ValidationError(
                {"budget": f"{total:.4f} has been spent or reserved. Enter that amount or more."}
            )
        whole = {key: value for key, value in row.overrides.get(ALL_STEPS, {}).items() if key != "budget"}
        if budget is not None:
            whole["budget"] = str(budget)
        row.overrides = {key: value for key, value in row.overrides.items() if key != ALL_STEPS}
        if whole:
            row.overrides[ALL_STEPS] = whole
        row.save(update_fields=["overrides"])
        for run in row.runs.filter(state__in=[*Run.LIVE, Run.State.PAUSED]):
            left = None if budget is None else budget - (total - used[run.pk])
            run_budget_set(run=run, budget_calls=run.budget_calls, budget_cost=_run_budget(row, run, left))
    return row


def pipeline_retry_failed(*, pipeline: Pipeline, calls: Collection[int] | None = None) -> int:
    """Send the failed and unparsable calls of a pipeline's runs again, or only those with these keys; returns how many.

    Their results are added to the material; repeat later steps to use them. Raises ``Conflict`` if there are none.
    """
    runs = pipeline.runs.exclude(state=Run.State.CANCELLED).order_by("pk")
    again = sum(run_retry_failed(run=run, calls=calls) for run in runs)
    if not again:
        raise Conflict("No call of this pipeline has failed.")
    return again


def _run_budget(pipeline: Pipeline, run: Run, left: Decimal | None) -> Decimal | None:
    """What a run under way may cost in all: what is left of the pipeline's budget, or its step's own if that is less."""
    steps = {step["name"]: step for step in pipeline.recipe.content["steps"]}
    step = steps.get(str(run.options.get("step", "")))
    own = step_options(pipeline, step).get("budget") if step else None
    return smaller_budget(own, left)


def _locked(pipeline: Pipeline) -> Pipeline:
    return Pipeline.objects.select_for_update(no_key=True, of=("self",)).get(pk=pipeline.pk)
