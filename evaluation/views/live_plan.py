"""Planned comparisons so far, as a part of the live page and as a page of its own."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotator.models import Study
from annotator.selectors.study import study_get_for
from evaluation.models import PlanJob
from evaluation.planning.plan_text import hypothesis_words
from evaluation.reports.words import number
from evaluation.selectors.analysis_plan import plan_look_inputs, plan_look_latest, plan_state
from evaluation.services.plan_job import plan_look_request


@login_required
@never_cache
@require_GET
def live_plan(request: HttpRequest, study_pk: int) -> HttpResponse:
    """The value of each planned comparison with its valid interval; the part is empty for a study without a stopping rule.

    A worker computes them when there are new judgments. Until it has, the page shows the last ones and says so.
    """
    study = study_get_for(user=request.user, pk=study_pk)
    inputs = plan_look_inputs(study=study)
    rows: list[dict[str, str]] = []
    job: PlanJob | None = None
    if inputs is not None:
        job = plan_look_request(study=study, inputs=inputs)
        rows = _rows(study, plan_look_latest(study=study))
    partial = request.headers.get("HX-Request")
    name = "evaluation/_live_plan.html" if partial else "evaluation/live_plan.html"
    return render(request, name, {"study": study, "rows": rows, "job": job, "framed": partial})


def _rows(study: Study, computed: PlanJob | None) -> list[dict[str, str]]:
    """The rows of the last result; empty without one."""
    state = plan_state(study=study)
    if computed is None or computed.result is None or state.plan is None:
        return []
    words = {one.name: hypothesis_words(one) for one in state.plan.hypotheses}
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
