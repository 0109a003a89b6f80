"""Cancel fine-tuning jobs, here and at their endpoints, and detach those that have ended so that their steps start again.

A job that is cancelled here waits until its endpoint confirms it: until then it may still be trained, and paid for.
"""

from __future__ import annotations

import logging

from django.db import transaction
from django.utils import timezone

from annotator.core import jobs
from annotator.core.errors import Conflict
from annotator.models import AuditAction
from annotator.services.audit import audit_write
from evaluation.models import FineTuning, Pipeline
from evaluation.pipelines.training import ENDED, failed_lately, is_unknown_job, tuner_ask, tuning_settle
from evaluation.providers.base import ProviderError
from evaluation.providers.keys import KeyRefused
from evaluation.runs.endpoint_settings import deployment_of, is_elsewhere

log = logging.getLogger(__name__)
State = FineTuning.State
_OVER = (State.FAILED, State.CANCELLED)


def tunings_cancel(*, pipeline: Pipeline) -> int:
    """Mark the pipeline's open jobs as being cancelled; returns how many. ``tunings_sweep`` cancels them at the endpoint.

    Also one that hasn't been sent: a worker may be sending it at this moment.
    """
    return FineTuning.objects.filter(pipeline=pipeline, state__in=FineTuning.OPEN).update(
        state=State.CANCELLING, error=""
    )


def tuning_cancel(*, pipeline: Pipeline) -> None:
    """Cancel the pipeline's open job without cancelling the pipeline, which pauses when the endpoint has confirmed it.

    Raises ``Conflict`` if no job is open.
    """
    if not tunings_cancel(pipeline=pipeline):
        raise Conflict("No fine-tuning job of this pipeline is waiting or running, so none was cancelled.")


def tuning_give_up(*, pipeline: Pipeline) -> None:
    """Take the jobs that are being cancelled as cancelled, without the endpoint's confirmation; recorded in the audit trail.

    For an endpoint that is gone, or a job that somebody has cancelled there. Raises ``Conflict`` if no job is being cancelled.
    """
    with transaction.atomic():
        waiting = list(
            FineTuning.objects.select_for_update(no_key=True, of=("self",))
            .select_related("endpoint")
            .defer("file")
            .filter(pipeline=pipeline, state=State.CANCELLING)
        )
        if not waiting:
            raise Conflict("No fine-tuning job of this pipeline is being cancelled.")
        for tuning in waiting:
            tuning.state, tuning.finished_at = State.CANCELLED, timezone.now()
            # What it cost isn't known; for the budget, it's the most that it can have cost.
            tuning.cost = tuning.most_cost
            tuning.error = (
                "Taken as cancelled without the endpoint's confirmation. If the endpoint still has the job, it may go on and "
                "be charged: cancel it there."
            )
            tuning.save(update_fields=["state", "finished_at", "cost", "error"])
            audit_write(
                action=AuditAction.FINE_TUNING_GIVEN_UP,
                workspace=pipeline.dataset.workspace,
                target=f"fine-tuning of {tuning.step} in pipeline {pipeline.pk}, endpoint {tuning.endpoint}",
                after={"job": tuning.job_id},
            )


def tunings_sweep() -> int:
    """Cancel jobs at their endpoints that were cancelled here; returns how many are cancelled. The next sweep tries the others
    again.

    A job whose endpoint has moved waits until it's changed back or confirmed to be the same: at another deployment, its number
    may be somebody else's. One that had ended before is stored with what it left.
    """
    cancelled = 0
    open_ones = FineTuning.objects.filter(state=State.CANCELLING).values_list("pk", "pipeline_id")
    for pk, pipeline_pk in list(open_ones):
        with jobs.lock_held("tuning", pipeline_pk) as mine:
            cancelled += mine and _cancel(pk)
    return cancelled


def _cancel(pk: int) -> bool:
    """Cancel one job at its endpoint; needs the lock of its pipeline's job."""
    tuning = FineTuning.objects.select_related("endpoint").filter(pk=pk, state=State.CANCELLING).first()
    if tuning is None:
        return False
    if is_elsewhere(tuning.endpoint, than=tuning.deployments):
        _waits(
            tuning,
            f"The job is at {' and '.join(tuning.deployments)}, and the endpoint {tuning.endpoint} is at "
            f"{deployment_of(tuning.endpoint)} now. To have the job cancelled, change the endpoint back, or confirm that it's "
            "the same deployment.",
            asked=False,
        )
        return False
    if failed_lately(tuning):
        return False
    try:
        return _cancel_there(tuning)
    except (ProviderError, KeyRefused) as error:
        log.warning("fine-tuning %s can't be cancelled: %s", tuning.job_id or tuning.pk, error)
        if not is_unknown_job(error):
            _waits(tuning, str(error))
            return False
        _cancelled(tuning, f"The endpoint doesn't know this job: {error}"[:2000])
        return True


def _cancel_there(tuning: FineTuning) -> bool:
    """Ask the endpoint to cancel the job. Raises ``ProviderError`` and ``KeyRefused``."""
    if not tuning.job_id:
        # A worker may have started it, and been killed before it stored the job's number.
        job = (
            tuner_ask(tuning.endpoint, lambda tuner: tuner.job_find(tuning.file_id))
            if tuning.file_id
            else None
        )
        if job is None:
            _cancelled(tuning, "")
            return True
        tuning.job_id = job.id
        FineTuning.objects.filter(pk=tuning.pk).update(job_id=job.id)
    try:
        job = tuner_ask(tuning.endpoint, lambda tuner: tuner.job_cancel(tuning.job_id))
    except ProviderError as error:
        if not error.fatal or is_unknown_job(error):
            raise
        # Some endpoints refuse to cancel a job that has ended.
        job = tuner_ask(tuning.endpoint, lambda tuner: tuner.job_read(tuning.job_id))
        if job.state == "running":
            raise
    if job.state == "running":
        _waits(tuning, "", reported=job.reported)
        return False
    tuning_settle(tuning, ENDED[job.state], job)
    return True


def _waits(tuning: FineTuning, error: str, *, asked: bool = True, reported: str = "") -> None:
    """Store why the job isn't cancelled yet. ``asked``: whether the endpoint was asked just now; ``reported`` is the job's state
    there, if that's known."""
    looked_at = timezone.now() if asked else None
    FineTuning.objects.filter(pk=tuning.pk).update(
        error=error[:2000], looked_at=looked_at, reported_state=reported or tuning.reported_state
    )


def _cancelled(tuning: FineTuning, error: str) -> None:
    FineTuning.objects.filter(pk=tuning.pk, state=State.CANCELLING).update(
        state=State.CANCELLED, finished_at=timezone.now(), looked_at=timezone.now(), error=error
    )


def tunings_retry(*, pipeline: Pipeline) -> None:
    """Put failed and cancelled jobs on record as replaced, so that their steps start again, and have the others checked at
    once."""
    FineTuning.objects.filter(pipeline=pipeline, state__in=FineTuning.UNDECIDED).update(looked_at=None)
    FineTuning.objects.filter(pipeline=pipeline, state__in=_OVER, replaced_at=None).update(
        replaced_at=timezone.now()
    )
