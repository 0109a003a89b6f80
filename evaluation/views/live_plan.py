"""Planned comparisons so far, as a part of the live page and as a page of its own."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.core.canonical import digest_of
from annotator.models import Membership, Study
from annotator.selectors.study import roles_from, study_get_for, study_role
from annotator.selectors.user import user_of
from evaluation.models import PlanJob
from evaluation.planning.plan_text import hypothesis_words
from evaluation.reports.words import number
from evaluation.selectors.analysis_plan import (
    plan_job_latest,
    plan_look_inputs,
    plan_look_latest,
    plan_state,
)
from evaluation.services.plan_look import plan_look_request


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def live_plan(request: HttpRequest, study_pk: int) -> HttpResponse:
    """The value of each planned comparison with its valid interval; the part is empty for a study without a stopping rule.

    It shows the last computed ones, and says whether there are new judgments. A POST has a worker compute them.
    """
    role = Membership.Role.REVIEWER if request.method == "POST" else Membership.Role.VIEWER
    study = study_get_for(user=request.user, pk=study_pk, role=role)
    inputs = plan_look_inputs(study=study)
    if request.method == "POST":
        if inputs is not None:
            plan_look_request(study=study, inputs=inputs, user=user_of(request))
        return redirect("evaluation:live_plan", study_pk)
    computed = plan_look_latest(study=study) if inputs is not None else None
    context = {
        "study": study,
        "watched": inputs is not None,
        "computed": computed,
        "rows": _rows(study, computed),
        "job": plan_job_latest(study=study, kind=PlanJob.Kind.LOOK) if inputs is not None else None,
        "current": computed is not None and computed.digest == digest_of(inputs),
        "can_compute": study_role(user=request.user, study=study) in roles_from(Membership.Role.REVIEWER),
        "framed": request.headers.get("HX-Request"),
    }
    name = "evaluation/_live_plan.html" if context["framed"] else "evaluation/live_plan.html"
    return render(request, name, context)


def _rows(study: Study, computed: PlanJob | None) -> list[dict[str, str]]:
    """The rows of the last result; empty without one."""
    state = plan_state(study=study)
    if computed is None or computed.result is None or state.plan is None:
        return []
    words = {hypothesis.name: hypothesis_words(hypothesis) for hypothesis in state.plan.hypotheses}
    return [
        {
            "name": value["name"],
            "words": words[value["name"]],
            "value": number(value["value"]) or f"not defined: {value['reason']}",
            "between": f"{number(value['low'])} to {number(value['high'])}" if number(value["low"]) else value["interval"].removeprefix("none: "),
            "how": value["interval"],
        }
        for value in computed.result["values"]
    ]  # fmt: skip
