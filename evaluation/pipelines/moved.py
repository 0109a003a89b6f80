"""Endpoints that have become another deployment in the middle of a pipeline: refuse to continue there, or confirm it."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet

from annotator.models import AuditAction
from annotator.services.audit import audit_write
from evaluation.models import Endpoint, FineTuning, Pipeline
from evaluation.runs.endpoint_settings import (
    DEPLOYMENTS,
    confirmed_check,
    deployment_of,
    deployments_of,
    has_moved,
    is_answered,
    is_elsewhere,
    moved_reason,
)
from evaluation.runs.lifecycle import deployment_confirm


def moved_refuse(*, pipeline: Pipeline, endpoint: Endpoint, model: str) -> None:
    """Raise ``ValidationError`` if this model has answered earlier steps at another deployment, or was trained at one."""
    earlier = pipeline.runs.filter(endpoint=endpoint, model=model).order_by("-pk").first()
    if earlier is not None and has_moved(earlier, endpoint) and is_answered(earlier):
        raise ValidationError(moved_reason(endpoint, since=deployments_of(earlier), other="pipeline"))
    tuning = FineTuning.objects.filter(pipeline=pipeline, endpoint=endpoint, model=model).last()
    if tuning is not None and is_elsewhere(endpoint, than=tuning.deployments):
        raise ValidationError(tuning_moved_reason(tuning, endpoint))


def tuning_moved_reason(tuning: FineTuning, endpoint: Endpoint) -> str:
    """Why a fine-tuning job, or a model that was trained, can't be used where the endpoint is now, and what to do."""
    what = f"The fine-tuning of {tuning.step} is at"
    return moved_reason(endpoint, since=tuning.deployments, what=what, other="pipeline")


def is_over(pipeline: Pipeline) -> bool:
    """Whether a pipeline is done or cancelled for good."""
    return pipeline.state in (Pipeline.State.DONE, Pipeline.State.CANCELLED)


def moved_endpoints(pipeline: Pipeline) -> list[Endpoint]:
    """The endpoints, in order of their numbers, that are another deployment than the pipeline's answers and fine-tuning
    jobs come from. Of a pipeline that is over, only those where a fine-tuning job is still being cancelled."""
    runs = pipeline.runs.none() if is_over(pipeline) else pipeline.runs.select_related("endpoint")
    endpoints = {run.endpoint for run in runs if has_moved(run, run.endpoint)}
    endpoints |= {
        tuning.endpoint
        for tuning in _tunings(pipeline).select_related("endpoint")
        if is_elsewhere(tuning.endpoint, than=tuning.deployments)
    }
    return sorted(endpoints, key=lambda endpoint: endpoint.pk)


def moves_confirm(*, pipeline: Pipeline, deployments: Sequence[str]) -> bool:
    """Confirm for all runs and fine-tuning jobs that where their endpoints are now is the same deployment; returns whether
    an endpoint has moved.

    Needs a transaction with the pipeline locked. Raises ``Conflict`` if ``deployments`` isn't where they are.
    """
    used = Q(pk__in=pipeline.runs.values("endpoint")) | Q(pk__in=_tunings(pipeline).values("endpoint"))
    list(Endpoint.objects.select_for_update(no_key=True).filter(used).order_by("pk"))
    if moved := moved_endpoints(pipeline):
        confirmed_check(endpoints=moved, deployments=deployments)
    waiting = pipeline.runs.none() if is_over(pipeline) else pipeline.runs.order_by("pk")
    runs = [run for run in waiting if deployment_confirm(run=run)]
    tunings = [tuning for tuning in _tunings(pipeline) if _tuning_confirm(pipeline, tuning)]
    return bool(runs or tunings)


def _tunings(pipeline: Pipeline) -> QuerySet[FineTuning]:
    """The pipeline's jobs that may still be used: resuming the pipeline starts failed and cancelled ones from scratch. Of a
    pipeline that is over, those that are still being cancelled."""
    tunings = FineTuning.objects.filter(pipeline=pipeline).defer("file").order_by("pk")
    if is_over(pipeline):
        return tunings.filter(state=FineTuning.State.CANCELLING)
    return tunings.exclude(state__in=[FineTuning.State.FAILED, FineTuning.State.CANCELLED])


def _tuning_confirm(pipeline: Pipeline, tuning: FineTuning) -> bool:
    endpoint = Endpoint.objects.select_for_update(no_key=True).get(pk=tuning.endpoint_id)
    tuning = FineTuning.objects.select_for_update(no_key=True).get(pk=tuning.pk)
    if not is_elsewhere(endpoint, than=tuning.deployments):
        return False
    before = tuning.deployments
    tuning.deployments = [*before, deployment_of(endpoint)]
    tuning.looked_at = None  # so that it's checked, or cancelled, at once
    tuning.save(update_fields=["deployments", "looked_at"])
    audit_write(
        action=AuditAction.DEPLOYMENT_CONFIRMED,
        workspace=pipeline.dataset.workspace,
        target=f"fine-tuning of {tuning.step} in pipeline {pipeline.pk}, endpoint {endpoint}",
        before={DEPLOYMENTS: before},
        after={DEPLOYMENTS: tuning.deployments},
    )
    return True
