"""A run's life: started, paused, resumed, cancelled, finished. Each may be called twice."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from annotator.core.errors import Conflict
from evaluation.models import Call, Run
from evaluation.runs.wake import pipeline_wake, run_wake

OVER = frozenset({Run.State.DONE, Run.State.INCOMPLETE, Run.State.CANCELLED, Run.State.FAILED})
#: Why a run is incomplete: at most so many kinds of failures are named.
KINDS_NAMED = 4


def run_start(*, run: Run) -> Run:
    """Begin, or go on after a pause. A run that is under way is only woken."""
    with transaction.atomic():
        run = _locked(run)
        if run.state in OVER:
            raise Conflict(f"{run} is {run.get_state_display()} and cannot be started.")
        run.state, run.reason = Run.State.RUNNING, ""
        run.resumed_at = timezone.now()
        run.started_at = run.started_at or run.resumed_at
        run.save(update_fields=["state", "reason", "started_at", "resumed_at"])
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
            run.resumed_at = timezone.now()
            run.save(update_fields=["state", "reason", "finished_at", "resumed_at"])
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
    named = ", ".join(f"{kind or 'unknown'} {n}" for kind, n in kinds[:KINDS_NAMED])
    others = f" and {len(kinds) - KINDS_NAMED} more kinds" if len(kinds) > KINDS_NAMED else ""
    return f"{total} {'call' if total == 1 else 'calls'} failed: {named}{others}."


def _locked(run: Run) -> Run:
    return Run.objects.select_for_update(no_key=True).get(pk=run.pk)
