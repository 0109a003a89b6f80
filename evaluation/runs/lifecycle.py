"""Start, pause, resume, cancel and finish runs. Calling a function twice has the same effect as calling it once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from functools import partial

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from annotator.core.errors import Conflict
from annotator.models import AuditAction
from annotator.services.audit import audit_write
from evaluation.core.failure_words import failure_words
from evaluation.models import Call, Endpoint, Run
from evaluation.runs.endpoint_settings import DEPLOYMENTS, confirmed_check, deployments_set, has_moved
from evaluation.runs.settle import too_many_failed
from evaluation.runs.wake import pipeline_wake, run_wake
from evaluation.selectors.endpoint import endpoints_usable_in

OVER = frozenset({Run.State.DONE, Run.State.INCOMPLETE, Run.State.CANCELLED, Run.State.FAILED})
#: The most kinds of failure that the reason of an incomplete run names.
KINDS_NAMED = 4


def run_start(*, run: Run) -> Run:
    """Start a run, or continue it after a pause. If it is running already, wake its workers.

    Raises ``Conflict`` if the run is over, or if its workspace may not use the endpoint any more.
    """
    with transaction.atomic():
        run = _locked(run)
        if run.state in OVER:
            raise Conflict(f"{run} is {run.get_state_display()} and cannot be started.")
        if not endpoints_usable_in(run.workspace_id).filter(pk=run.endpoint_id).exists():
            raise Conflict(
                f"{run.endpoint} isn't shared with this workspace any more. Ask its owner to share it, or make a run "
                "with another endpoint."
            )
        run.state, run.reason = Run.State.RUNNING, ""
        run.resumed_at = timezone.now()
        run.started_at, run.latest_attempts = run.started_at or run.resumed_at, ""
        run.save(update_fields=["state", "reason", "started_at", "resumed_at", "latest_attempts"])
        transaction.on_commit(lambda: run_wake(run=run))
    return run


def run_resume(*, run: Run) -> Run:
    """Continue after a pause. No call that has been answered is sent again."""
    return run_start(run=run)


def run_deployment_confirm(*, run: Run, deployments: Sequence[str]) -> Run:
    """Confirm that the endpoint's new address, or new deployment name, is the same deployment, and resume the run.

    ``deployments`` is what was shown to the person who confirms it: ``[deployment_of(endpoint)]`` at that time. Its answers
    count as those of one simulator then; the audit trail records who said so. Raises ``Conflict`` if the endpoint hasn't
    moved or has moved again, and like ``run_start``.
    """
    with transaction.atomic():
        endpoint = Endpoint.objects.select_for_update(no_key=True).get(pk=run.endpoint_id)
        if has_moved(_locked(run), endpoint):
            confirmed_check(endpoints=[endpoint], deployments=deployments)
        if not deployment_confirm(run=run):
            raise Conflict(f"The endpoint of {run} is where this run's answers come from. Resume the run.")
        return run_start(run=run)


def deployment_confirm(*, run: Run) -> bool:
    """``run_deployment_confirm`` without resuming the run; returns whether its endpoint has moved."""
    with transaction.atomic():
        endpoint = Endpoint.objects.select_for_update(no_key=True).get(pk=run.endpoint_id)
        run = _locked(run)
        if not has_moved(run, endpoint):
            return False
        before = run.endpoint_settings[DEPLOYMENTS]
        deployments_set(run, endpoint, also=before)
        run.save(update_fields=["endpoint_settings"])
        owner = run.study or run.dataset
        audit_write(
            action=AuditAction.DEPLOYMENT_CONFIRMED,
            study=run.study,
            workspace=owner.workspace if owner else None,
            target=f"run {run.pk}, endpoint {endpoint}",
            before={DEPLOYMENTS: before},
            after={DEPLOYMENTS: run.endpoint_settings[DEPLOYMENTS]},
        )
    return True


def run_budget_set(
    *,
    run: Run,
    budget_calls: int | None,
    budget_cost: Decimal | None,
    max_failed_share: float | None = None,
) -> Run:
    """Raise or lower the budgets of a run in any state; None removes a limit.

    ``max_failed_share`` is the largest share of failed calls, from 0 to 1, above which the run pauses; None leaves it as it is. Raises ``ValidationError`` keyed by field if a budget is less than what has already been used.
    """
    with transaction.atomic():
        run = _locked(run)
        used = run.spent_cost + run.lost_cost + run.reserved_cost
        if budget_calls is not None and budget_calls < run.sent_calls:
            message = f"{run.sent_calls} requests have been sent. Enter that number or more."
            raise ValidationError({"budget_calls": message})
        if budget_cost is not None and budget_cost < used:
            message = f"{used:.4f} has been spent or reserved. Enter that amount or more."
            raise ValidationError({"budget_cost": message})
        run.budget_calls, run.budget_cost = budget_calls, budget_cost
        if max_failed_share is not None:
            run.max_failed_share = max_failed_share
        names = ["budget_calls", "budget_cost", "max_failed_share"]
        run.clean_fields(exclude={field.name for field in Run._meta.fields}.difference(names))
        run.save(update_fields=names)
    return run


def run_pause(*, run: Run, reason: str = "Paused by a researcher.") -> Run:
    """Send no further requests. Replies to those in flight are still stored."""
    with transaction.atomic():
        run = _locked(run)
        if run.state in (Run.State.RUNNING, Run.State.QUEUED):
            run.state, run.reason = Run.State.PAUSED, reason
            run.save(update_fields=["state", "reason"])
    return run


def run_cancel(*, run: Run, reason: str = "Cancelled by a researcher.") -> Run:
    """End a run for good. The replies that have been stored stay."""
    with transaction.atomic():
        run = _locked(run)
        if run.state not in OVER:
            run.state, run.reason, run.finished_at = Run.State.CANCELLED, reason, timezone.now()
            run.save(update_fields=["state", "reason", "finished_at"])
    return run


def run_retry_failed(*, run: Run, calls: Collection[int] | None = None) -> int:
    """Send failed and unparsable calls again: all, or those with these primary keys. Returns how many.

    The run continues. Raises ``Conflict`` if it is cancelled.
    """
    with transaction.atomic():
        run = _locked(run)
        if run.state == Run.State.CANCELLED:
            raise Conflict(f"{run} is cancelled. Create a new run to ask again.")
        failed = Call.objects.filter(run=run, state__in=[Call.State.FAILED, Call.State.UNPARSABLE])
        if calls is not None:
            failed = failed.filter(pk__in=calls)
        again = failed.update(
            state=Call.State.PENDING,
            attempts=0,
            unparsable=0,
            lost=0,
            excused=0,
            not_before=None,
            finished_at=None,
        )
        if again:
            run.state, run.reason, run.finished_at = Run.State.RUNNING, "", None
            run.resumed_at, run.latest_attempts = timezone.now(), ""
            run.save(update_fields=["state", "reason", "finished_at", "resumed_at", "latest_attempts"])
            transaction.on_commit(lambda: run_wake(run=run))
    return again


def calls_held(run: Run) -> QuerySet[Call]:
    """The calls of a run that were sent, failed, and wait to be sent again."""
    waiting = Call.objects.filter(run=run, state=Call.State.PENDING, attempts__gt=0)
    return waiting.exclude(error_kind__in=["", "lost", "rate_limit", "cancelled"])


def run_give_up(*, run: Run, calls: Collection[int] | None = None) -> int:
    """Let calls that failed and wait to be sent again fail for good, with their last error: all, or those with these primary
    keys. Returns how many.

    The run ends if no call is left; otherwise it stays as it is. Failed calls can be retried later. Raises ``Conflict`` if it
    is over, or if there are no such calls.
    """
    with transaction.atomic():
        run = _locked(run)
        if run.state in OVER:
            raise Conflict(f"{run} is {run.get_state_display()}.")
        held = calls_held(run) if calls is None else calls_held(run).filter(pk__in=calls)
        given_up = held.update(state=Call.State.FAILED, finished_at=timezone.now(), not_before=None)
        if not given_up:
            raise Conflict("No call of this run has failed and waits to be sent again.")
        run_finish(run=run, accept_failures=True)
    return given_up


def run_continue_without(*, run: Run, calls: Collection[int] | None = None) -> int:
    """Leave out the items whose calls failed and wait to be sent again, with all their samples, and resume the run.

    ``calls``: the primary keys of calls of these items; None for all. Returns how many calls were given up. Raises like
    ``run_give_up``, and like ``run_start``.
    """
    with transaction.atomic():
        row = _locked(run)
        held = calls_held(row) if calls is None else calls_held(row).filter(pk__in=calls)
        keys = list(held.values_list("key", flat=True).distinct())
        given_up = run_give_up(run=row, calls=calls)
        others = Call.objects.filter(run=row, state=Call.State.PENDING, key__in=keys)
        given_up += others.update(
            state=Call.State.FAILED,
            error_kind="left_out",
            error="The run continued without this item.",
            finished_at=timezone.now(),
            not_before=None,
        )
        if not run_finish(run=row, accept_failures=True):
            run_start(run=row)
    return given_up


def run_finish(*, run: Run, accept_failures: bool = False) -> bool:
    """End the run if every call has ended and every result has been applied. Returns whether the run is over.

    If too many of its calls have failed since its last start, it pauses instead, as it would have with calls left: its failed calls can
    be retried, and it ends when it is resumed. With ``accept_failures`` it ends whatever has failed.
    """
    with transaction.atomic():
        run = _locked(run)
        if run.state in OVER:
            return True
        left = Call.objects.filter(run=run, state__in=[Call.State.PENDING, Call.State.IN_FLIGHT])
        if left.exists() or Call.objects.filter(run=run, state=Call.State.DONE, applied=False).exists():
            return False
        if not accept_failures and (reason := too_many_failed(run)):
            if run.state != Run.State.PAUSED:
                run.state, run.reason = Run.State.PAUSED, reason
                run.save(update_fields=["state", "reason"])
            return False
        run.reason = _failures(run)
        run.state = Run.State.INCOMPLETE if run.reason else Run.State.DONE
        run.finished_at = timezone.now()
        run.save(update_fields=["state", "reason", "finished_at"])
        if run.pipeline_id:
            transaction.on_commit(partial(pipeline_wake, pipeline_pk=run.pipeline_id))
    return True


def _failures(run: Run) -> str:
    """How many calls of a run failed, by kind; empty if none did."""
    failed = Call.objects.filter(run=run, state__in=[Call.State.FAILED, Call.State.UNPARSABLE])
    kinds = list(failed.values_list("error_kind").annotate(n=Count("id")).order_by("-n", "error_kind"))
    if not kinds:
        return ""
    total = sum(n for _, n in kinds)
    named = ", ".join(f"{failure_words(kind)} ({n:,})" for kind, n in kinds[:KINDS_NAMED])
    others = f" and {len(kinds) - KINDS_NAMED} more kinds" if len(kinds) > KINDS_NAMED else ""
    return f"{total:,} {'call' if total == 1 else 'calls'} failed: {named}{others}."


def _locked(run: Run) -> Run:
    return Run.objects.select_for_update(no_key=True).get(pk=run.pk)
