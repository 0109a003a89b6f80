"""Looking at a study's planned comparisons before it is complete: asked for, computed by a worker, and logged."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from annotator.models import Study, User
from evaluation.models import PlanJob
from evaluation.services.analysis_plan import plan_look_log
from evaluation.services.plan_job import plan_job_request


@transaction.atomic
def plan_look_request(*, study: Study, inputs: dict[str, Any], user: User | None = None) -> PlanJob:
    """Ask for the planned comparisons so far. While an earlier calculation of the study runs, that one is returned, and so is a result of
    the same judgments. A new calculation is logged as an early look."""
    running = PlanJob.objects.filter(study=study, kind=PlanJob.Kind.LOOK, state__in=PlanJob.OPEN).first()
    if running is not None:
        return running
    found = plan_job_request(study, PlanJob.Kind.LOOK, inputs, user, True)
    if found.state == PlanJob.State.QUEUED:
        plan_look_log(study=study, user=user)
    return found
