"""Planned comparisons so far, as a part of the live page and as a page of its own."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotator.selectors.study import study_get_for
from evaluation.planning.plan_text import hypothesis_words
from evaluation.reports.words import number
from evaluation.selectors.analysis_plan import sealed_plan


@login_required
@never_cache
@require_GET
def live_plan(request: HttpRequest, study_pk: int) -> HttpResponse:
    """The value of each planned comparison with its valid interval; the part is empty for a study without a stopping rule."""
    study = study_get_for(user=request.user, pk=study_pk)
    found = None
    if sealed_plan(study=study) is not None:
        # Here, because it loads NumPy and SciPy, which few web processes need.
        from evaluation.reports.plan_so_far import planned_so_far

        found = planned_so_far(study=study)
    rows = [
        {
            "name": one.name,
            "words": hypothesis_words(one),
            "value": number(value.value) or f"not defined: {value.reason}",
            "between": f"{number(value.low)} to {number(value.high)}" if number(value.low) else value.interval.removeprefix("none: "),
            "how": value.interval,
        }
        for one, value in found or ()
    ]  # fmt: skip
    partial = request.headers.get("HX-Request")
    name = "evaluation/_live_plan.html" if partial else "evaluation/live_plan.html"
    return render(request, name, {"study": study, "rows": rows, "framed": partial})
