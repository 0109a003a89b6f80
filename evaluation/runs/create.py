"""New runs: described by a plan, checked as an unsaved draft, then saved with a row for each call.

A draft is all that a form, an estimate or a preview needs, so nothing is written until the run is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.canonical import text_digest
from annotator.models import Dataset, Rater, Study, User
from evaluation.models import Call, Endpoint, Pipeline, Run
from evaluation.providers.registry import titles_with
from evaluation.runs.endpoint_settings import settings_of
from evaluation.runs.registry import step_get
from evaluation.runs.request import parameters_check
from evaluation.runs.settle import call_of
from evaluation.runs.step import ClaimedCall, Job, Step
from evaluation.runs.text import clean
from evaluation.selectors.endpoint import endpoint_check, provider_check

#: Call rows inserted by one statement.
ROWS = 2000


class NothingToAsk(ValidationError):
    """A run would have no calls: everything its step asks about already exists, or there is no material for it."""


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """The settings of a run that don't depend on its step. The defaults are those of the ``Run`` model.

    ``model``: the endpoint's own if empty. ``prompt``: the step's own file if empty. ``parameters`` are sent with
    every call. Budgets of None have no limit; ``budget_cost`` is in the currency of the endpoint's prices.
    """

    model: str = ""
    prompt: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    samples: int = 1
    together: int = 1
    mode: str = Run.Mode.LIVE
    workers: int = 1
    use_cache: bool = True
    max_attempts: int = 6
    max_unparsable: int = 3
    max_failed_share: float = 0.5
    budget_calls: int | None = None
    budget_cost: Decimal | None = None
    pipeline: Pipeline | None = None
    created_by: User | None = None


def run_draft(
    *,
    kind: str,
    endpoint: Endpoint,
    plan: RunPlan,
    study: Study | None = None,
    dataset: Dataset | None = None,
    rater: Rater | None = None,
    options: dict[str, Any] | None = None,
) -> Run:
    """An unsaved run that has passed every check: its fields, and its prompt filled in for the first call.

    Nothing is written. Raises ``ValidationError`` keyed by field, and ``NothingToAsk``.
    """
    try:
        step = step_get(kind)
    except KeyError as error:
        raise ValidationError({"kind": str(error)}) from None
    chosen = {name: getattr(plan, name) for name in plan.__dataclass_fields__} | {
        "model": plan.model or endpoint.model
    }
    run = Run(
        kind=kind,
        endpoint=endpoint,
        study=study,
        dataset=dataset,
        rater=rater,
        options=options or {},
        prompt_digest=text_digest(plan.prompt),
        endpoint_settings=settings_of(endpoint),
        **chosen,
    )
    endpoint_check(endpoint=endpoint, workspace_id=run.workspace_id)
    provider = provider_check(endpoint)
    try:
        parameters_check(run.parameters)
    except ValueError as error:
        raise ValidationError({"parameters": str(error)}) from None
    if clean(run.options) != run.options:
        raise ValidationError({"options": "Contains an invalid character (NUL or half a surrogate pair)."})
    run.full_clean(exclude=["prompt_digest"])
    if run.mode == Run.Mode.BATCH and run.together > 1:
        raise ValidationError({"together": "The batch API takes one item per request. Set this to 1."})
    if run.mode == Run.Mode.BATCH and provider.batch_api is None:
        message = f"Batches need an endpoint that speaks the {titles_with('batch_api')} protocol. Choose one request per call."
        raise ValidationError({"mode": message})
    first = next(step.jobs(run), None)
    if first is None:
        raise NothingToAsk({"kind": f"{step.title}: {step.nothing(run)}"})
    _prompt_check(run, step, first)
    return run


def run_save(*, run: Run) -> Run:
    """Save a draft with a row for each of its calls, not yet started; all or nothing."""
    step = step_get(run.kind)
    with transaction.atomic():
        run.save()
        made = 0
        for rows in _in_rows(run, step):
            made += len(Call.objects.bulk_create(rows))
        if not made:
            raise NothingToAsk({"kind": f"{step.title}: {step.nothing(run)}"})
    return run


def all_jobs(run: Run, step: Step) -> Iterator[Job]:
    """The first-stage jobs, each repeated for every sample."""
    for job in step.jobs(run):
        for sample in range(run.samples):
            yield replace(job, sample=sample)


def _prompt_check(run: Run, step: Step, job: Job) -> None:
    """Fill in the prompt for the first call, so that a mistake in it is found now and not by a worker."""
    call = ClaimedCall.of_job(job)
    call = replace(call, thing=step.load(run, [call]).get(call.id))
    try:
        step.messages(run, call)
        problems = step.prompt_problems(run, call)
    except KeyError as error:
        raise ValidationError({"prompt": f"Unknown placeholder ${error.args[0]}."}) from None
    except ValueError as error:
        raise ValidationError({"prompt": str(error)}) from None
    if problems:
        raise ValidationError({"prompt": problems})


def _in_rows(run: Run, step: Step) -> Iterator[list[Call]]:
    jobs = all_jobs(run, step)
    while rows := [call_of(run, job) for job in islice(jobs, ROWS)]:
        yield rows
