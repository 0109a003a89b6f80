"""Two reports on one study, or across it, side by side."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotator.core.row_ids import row_id
from annotator.selectors.study import study_get_for
from evaluation.models import Report
from evaluation.reports.comparison import compare
from evaluation.selectors.report import report_get_for


@login_required
@never_cache
@require_GET
def report_compare(request: HttpRequest, study_pk: int) -> HttpResponse:
    """``?a=`` and ``?b=``: two finished reports of this study; different choices come first."""
    study = study_get_for(user=request.user, pk=study_pk)
    found = []
    for name in ("a", "b"):
        report = report_get_for(user=request.user, pk=row_id(request.GET.get(name)))
        if study not in report.studies or report.state != Report.State.DONE:
            raise Http404("no such report")
        found.append(report)
    a, b = found
    context = {"study": study, "a": a, "b": b, "compared": compare(a, b)}
    return render(request, "evaluation/compare.html", context)
