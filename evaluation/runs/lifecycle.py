"""A run's life: made, started, paused, resumed, cancelled, finished. Each may be called twice."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.core.canonical import text_digest
from annotator.core.errors import Conflict
from annotator.models import Dataset, Rater, Study, User
from evaluation.models import Call, Endpoint, Pipeline, Run
from evaluation.pipelines.registry import step_get
from evaluation.pipelines.step import Asked, Job, Step
from evaluation.runs.request import parameters_check
from evaluation.runs.settle import call_of
from evaluation.runs.text import clean
from evaluation.runs.wake import pipeline_wake, run_wake

log = logging.getLogger(__name__)
#: Call rows made in one statement.
ROWS = 2000
OVER = frozenset({Run.State.DONE, Run.State.CANCELLED, Run.State.FAILED})


def run_create(
    *,
    kind: str,
    endpoint: Endpoint,
    prompt: str,
    model: str = "",
    study: Study | None = None,
    dataset: Dataset | None = None,
    pipeline: Pipeline | None = None,
    rater: Rater | None = None,
    parameters: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    samples: int = 1,
    together: int = 1,
    mode: str = Run.Mode.LIVE,
    workers: int = 1,
    use_cache: bool = True,
    max_attempts: int = 6,
    max_unparsable: int = 3,
    budget_calls: int | None = None,
    budget_cost: Decimal | None = None,
    created_by: User | None = None,
) -> Run:
    """A run with a row for each of its calls, not yet started; all or nothing.

    Raises ``ValidationError`` keyed by field, also where the step finds nothing to ask about.
    """
    try:
        step = step_get(kind)
    except KeyError as error:
        raise ValidationError({"kind": str(error)}) from None
    run = Run(
        kind=kind,
        endpoint=endpoint,
        model=model or endpoint.model,
        study=study,
        dataset=dataset,
        pipeline=pipeline,
        rater=rater,
        parameters=parameters or {},
        options=options or {},
        prompt=prompt,
        prompt_digest=text_digest(prompt),
        samples=samples,
        together=together,
        mode=mode,
        workers=workers,
        use_cache=use_cache,
        max_attempts=max_attempts,
        max_unparsable=max_unparsable,
        budget_calls=budget_calls,
        budget_cost=budget_cost,
        created_by=created_by,
    )
    try:
        parameters_check(run.parameters)
    except ValueError as error:
        raise ValidationError({"parameters": str(error)}) from None
    if clean(run.options) != run.options:
        raise ValidationError({"options": "holds a character that is no text (NUL or half a pair)"})
    run.full_clean(exclude=["prompt_digest"])
    if mode == Run.Mode.BATCH and together > 1:
        raise ValidationError({"together": "in a batch every item is a request of its own"})
    with transaction.atomic():
        run.save()
        made = 0
        for rows in _in_rows(run, step):
            made += len(Call.objects.bulk_create(rows))
        if not made:
            raise ValidationError({"kind": f"{step.title}: there is nothing to ask about"})
        _prompt_check(run, step)
    return run


def _prompt_check(run: Run, step: Step) -> None:
    """Fill the prompt in for the first call, so that a slip in it is met now and not by a worker."""
    first = Call.objects.filter(run=run).order_by("pk")[0]
    call = Asked(
        first.pk, first.key, first.item_id, first.subject, first.sample, first.stage, first.context, 0, 0, 0
    )
    call = replace(call, thing=step.load(run, [call]).get(call.id))
    try:
        step.messages(run, call)
    except KeyError as error:
        raise ValidationError({"prompt": f"there is no ${error.args[0]} to put in"}) from None
    except ValueError as error:
        raise ValidationError({"prompt": str(error)}) from None


def _in_rows(run: Run, step: Step) -> Iterator[list[Call]]:
    jobs = all_jobs(run, step)
    while rows := [call_of(run, job) for job in islice(jobs, ROWS)]:
        yield rows


def all_jobs(run: Run, step: Step) -> Iterator[Job]:
    """Each first-stage job once for each sample."""
    for job in step.jobs(run):
        for sample in range(run.samples):
            yield Job(job.key, job.item_id, job.subject, sample, job.stage, job.context)


def run_start(*, run: Run) -> Run:
    """Begin, or go on after a pause. A run that is under way is only woken."""
    with transaction.atomic():
        run = _locked(run)
        if run.state in OVER:
            raise Conflict(f"{run} is {run.get_state_display()} and cannot be started.")
        run.state, run.reason = Run.State.RUNNING, ""
        run.started_at = run.started_at or timezone.now()
        run.save(update_fields=["state", "reason", "started_at"])
        transaction.on_commit(lambda: run_wake(run=run))
    return run


def run_resume(*, run: Run, budget_calls: int | None = None, budget_cost: Decimal | None = None) -> Run:
    """Go on after a pause, with a larger budget if one is given. Nothing that is answered is asked again."""
    with transaction.atomic():
        row = _locked(run)
        for name, amount in (("budget_calls", budget_calls), ("budget_cost", budget_cost)):
            if amount is not None:
                setattr(row, name, amount)
        row.full_clean()
        row.save(update_fields=["budget_calls", "budget_cost"])
        return run_start(run=row)


def run_pause(*, run: Run, reason: str = "Paused by hand.") -> Run:
    """Send nothing more; what is in flight is still kept."""
    with transaction.atomic():
        run = _locked(run)
        if run.state in (Run.State.RUNNING, Run.State.QUEUED):
            run.state, run.reason = Run.State.PAUSED, reason
            run.save(update_fields=["state", "reason"])
    return run


def run_cancel(*, run: Run, reason: str = "Cancelled by hand.") -> Run:
    """Send nothing more, for good; what has come back stays."""
    with transaction.atomic():
        run = _locked(run)
        if run.state not in OVER:
            run.state, run.reason, run.finished_at = Run.State.CANCELLED, reason, timezone.now()
            run.save(update_fields=["state", "reason", "finished_at"])
    return run


def run_retry_failed(*, run: Run) -> int:
    """Ask again what failed or could not be read; returns how many. The run goes on."""
    with transaction.atomic():
        run = _locked(run)
        if run.state == Run.State.CANCELLED:
            raise Conflict(f"{run} is cancelled.")
        again = Call.objects.filter(run=run, state__in=[Call.State.FAILED, Call.State.UNPARSABLE]).update(
            state=Call.State.PENDING, attempts=0, unparsable=0, lost=0, not_before=None, finished_at=None
        )
        if again:
            run.state, run.finished_at = Run.State.RUNNING, None
            run.save(update_fields=["state", "finished_at"])
            transaction.on_commit(lambda: run_wake(run=run))
    return again


def run_finish(*, run: Run) -> bool:
    """Close the run if every call is settled and every result is where it belongs; says whether it is closed."""
    with transaction.atomic():
        run = _locked(run)
        if run.state in OVER:
            return True
        left = Call.objects.filter(run=run, state__in=[Call.State.PENDING, Call.State.IN_FLIGHT])
        if left.exists() or Call.objects.filter(run=run, state=Call.State.DONE, applied=False).exists():
            return False
        run.state, run.reason, run.finished_at = Run.State.DONE, "", timezone.now()
        run.save(update_fields=["state", "reason", "finished_at"])
        if run.pipeline_id:
            transaction.on_commit(partial(pipeline_wake, pipeline_pk=run.pipeline_id))
    return True


def _locked(run: Run) -> Run:
    return Run.objects.select_for_update(no_key=True).get(pk=run.pk)
