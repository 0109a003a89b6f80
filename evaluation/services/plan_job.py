"""Calculations on a study's plan in the background: requested, carried out one at a time in a workspace, cancelled, found again by a sweep."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotator.core import jobs
from annotator.core.canonical import digest_of
from annotator.core.errors import Conflict
from annotator.models import Study, User
from evaluation.models import AnalysisPlan, PlanJob

log = logging.getLogger(__name__)
#: How long a calculation may wait before a sweep queues it again.
LOST_AFTER = timedelta(minutes=2)
#: How often its progress is stored, and a cancellation noticed.
_SECONDS = 1.0
Progress = Callable[[int, int], None]


class _Cancelled(Exception):
    """Somebody has cancelled the calculation."""


@transaction.atomic
def plan_power_request(
    *, study: Study, assumed: dict[str, float], runs: int = 0, user: User | None = None, send: bool = True
) -> PlanJob:
    """Ask for the power of the study's plan under these assumptions.

    A result of the same plan, structure and assumptions is kept and shown again, without a calculation. Raises ``Conflict`` without a plan
    or items, or while the study's power is being computed with other assumptions. Without ``send``, the caller carries it out.
    """
    from evaluation.services.plan_power import SEED, power_kept, structure_of

    row = AnalysisPlan.objects.filter(study=study).first()
    if row is None:
        raise Conflict("The study has no analysis plan yet.")
    inputs = {
        "plan": row.document, "structure": vars(structure_of(study)), "assumed": assumed, "runs": runs, "seed": SEED,
    }  # fmt: skip
    found = plan_job_request(study, PlanJob.Kind.POWER, inputs, user, send)
    if found.state == PlanJob.State.DONE:
        power_kept(study=study, inputs=inputs, result=found.result)
    return found


def plan_job_request(
    study: Study, kind: PlanJob.Kind, inputs: dict[str, Any], user: User | None, send: bool
) -> PlanJob:
    """A calculation of these inputs within the caller's transaction: the one that is kept, or a new one. Raises ``Conflict`` while another
    of its kind is under way."""
    digest = digest_of(inputs)
    Study.objects.select_for_update().only("pk").get(pk=study.pk)  # one request of a study at a time
    own = PlanJob.objects.filter(study=study, kind=kind)
    kept = own.filter(digest=digest, state__in=[PlanJob.State.DONE, *PlanJob.OPEN]).first()
    if kept is not None:
        return kept
    if own.filter(state__in=PlanJob.OPEN).exists():
        raise Conflict("The power is being computed with other assumptions. Cancel that calculation first.")
    made = PlanJob(study=study, kind=kind, digest=digest, inputs=inputs, created_by=user)
    made.full_clean()
    made.save()
    if send:
        transaction.on_commit(lambda: _send(made.pk))
    return made


def _send(job_pk: int) -> None:
    jobs.enqueue("evaluation.plan_job_run", job_pk=job_pk)


def plan_job_cancel(*, study: Study, kind: str = PlanJob.Kind.POWER) -> bool:
    """Cancel what waits or is being computed; its worker stops within some seconds. False if there was nothing to cancel."""
    waiting = PlanJob.objects.filter(study=study, kind=kind, state__in=PlanJob.OPEN)
    return bool(waiting.update(state=PlanJob.State.CANCELLED, finished_at=timezone.now()))


def plan_job_run(*, job_pk: int) -> bool:
    """Carry out a calculation and store its result; True if this call did.

    Called twice, or for one that is done or cancelled, it changes nothing; nor does it while another one of the workspace is being computed,
    whose worker wakes the next. A calculation whose worker was killed is still ``running`` without its lock, and starts again: the same
    inputs give the same result.
    """
    found = PlanJob.objects.filter(pk=job_pk).values_list("study__workspace_id").first()
    if found is None:
        return False
    (workspace,) = found
    with jobs.lock_held("plan-job", workspace or 0) as mine:
        rows = PlanJob.objects.filter(pk=job_pk, state__in=PlanJob.OPEN)
        row = rows.select_related("study").first() if mine else None
        if row is None:
            return False
        rows.update(state=PlanJob.State.RUNNING, started_at=timezone.now(), done=0, total=0)
        _carry_out(row)
    for following in _free_of(workspace)[:1]:
        _send(following)
    return True


def _carry_out(row: PlanJob) -> None:
    rows = PlanJob.objects.filter(pk=row.pk, state=PlanJob.State.RUNNING)
    told = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal told
        if done < total and time.monotonic() - told < _SECONDS:
            return
        told = time.monotonic()
        if not rows.update(done=done, total=total):
            raise _Cancelled

    try:
        result = _COMPUTED[row.kind](row, progress)
    except _Cancelled:
        return
    except Exception as error:
        if not isinstance(error, ValueError | Conflict):
            log.exception("plan job %s failed", row.pk)
        text = str(error) or type(error).__name__
        rows.update(state=PlanJob.State.FAILED, error=text, finished_at=timezone.now())
        return
    with transaction.atomic():
        kept = rows.update(state=PlanJob.State.DONE, result=result, error="", finished_at=timezone.now())
        if kept and row.kind == PlanJob.Kind.POWER:
            from evaluation.services.plan_power import power_kept

            power_kept(study=row.study, inputs=row.inputs, result=result)


def _power(row: PlanJob, progress: Progress) -> dict[str, Any]:
    from evaluation.services.plan_power import power_of

    return power_of(row.inputs, progress)


def _look(row: PlanJob, progress: Progress) -> dict[str, Any]:
    from evaluation.reports.plan_so_far import planned_so_far

    found = planned_so_far(study=row.study)
    return {"values": [{"name": one.name} | value.to_dict() for one, value in found or ()]}


_COMPUTED: dict[str, Callable[[PlanJob, Progress], dict[str, Any]]] = {"power": _power, "look": _look}


def _free_of(workspace: int | None) -> list[int]:
    """Those of a workspace that wait, in their order; None: of the studies of no workspace."""
    waiting = PlanJob.objects.filter(study__workspace=workspace, state=PlanJob.State.QUEUED)
    return list(waiting.order_by("pk").values_list("pk", flat=True))


def plan_jobs_sweep() -> int:
    """Queue calculations again that no worker is carrying out: the message was lost, or the worker was killed."""
    before = timezone.now() - LOST_AFTER
    lost = PlanJob.objects.filter(state=PlanJob.State.QUEUED, created_at__lt=before)
    lost |= PlanJob.objects.filter(state=PlanJob.State.RUNNING, started_at__lt=before)
    sent = 0
    for pk, workspace in lost.order_by("pk").values_list("pk", "study__workspace_id"):
        if jobs.locks_free([("plan-job", workspace or 0)]):
            _send(pk)
            sent += 1
    return sent
