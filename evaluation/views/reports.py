"""Pages of a study's reports. They show stored results; all computing is done by background jobs."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.core.kept_figures import figures_kept
from annotator.core.row_ids import row_id
from annotator.models import Membership, Study
from annotator.selectors.study import roles_from, study_get_for, study_role
from annotator.selectors.written_answers import written_questions
from evaluation.core.filter_text import column_words, filter_words
from evaluation.forms.reports import ReportForm
from evaluation.models import Report
from evaluation.reports.choices import spec_of
from evaluation.reports.exports import FORMATS, export
from evaluation.reports.pages import page_of
from evaluation.selectors.report import (
    report_file_get,
    report_get_for,
    reports_of,
    studies_named_for,
    studies_to_join,
)
from evaluation.services.report import report_create, report_delete, report_retry

#: An SVG may contain its own style and nothing else, so it can't load or run anything.
FIGURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
WAITING = (Report.State.QUEUED, Report.State.RUNNING)


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def reports(request: HttpRequest, study_pk: int) -> HttpResponse:
    """A study's reports, newest first; a POST requests a new one."""
    role = Membership.Role.VIEWER if request.method == "GET" else Membership.Role.REVIEWER
    study = study_get_for(user=request.user, pk=study_pk, role=role, sized=True)
    with _kept(study):
        form = ReportForm(request.POST if request.method == "POST" else None, study=study)
    if request.method == "GET":
        return _list(request, study, form)
    others = studies_named_for(user=request.user, names=request.POST.getlist("others"), role=role)
    if not form.is_valid():
        return _list(request, study, form, status=422)
    report = report_create(
        study=study,
        others=others,
        choices=form.choices.to_json(),
        user=request.user,  # type: ignore[arg-type]
    )
    return redirect("evaluation:report", pk=report.pk)


def _list(request: HttpRequest, study: Study, form: ReportForm, status: int = 200) -> HttpResponse:
    ticked = set(map(row_id, request.POST.getlist("others")))
    found = reports_of(study=study, user=request.user)[:200]
    context = {
        "study": study,
        "reports": [(one, spec_of("rule").words(one.choices.get("rule"))) for one in found],
        "form": form,
        "joinable": _joinable(request, study, ticked),
        "can_compute": _can_compute(request, study),
    }
    return render(request, "evaluation/reports.html", context, status=status)


def _can_compute(request: HttpRequest, study: Study) -> bool:
    """Whether the researcher may ask for reports: viewers read those that are there."""
    role = study_role(user=request.user, study=study)
    study.my_role = role or ""  # type: ignore[attr-defined]  # the study's tabs need it again
    return role in roles_from(Membership.Role.REVIEWER)


def _kept(study: Study) -> AbstractContextManager[object]:
    """Kept values of columns for the form of a large study: they change with an import only."""
    return figures_kept(study.pk) if getattr(study, "is_large", True) else nullcontext()


def _joinable(request: HttpRequest, study: Study, chosen: set[int]) -> list[tuple[int, str, str, bool]]:
    """(id, title, task type, ticked) of the studies that can be included in the report."""
    found = studies_to_join(study=study, user=request.user)[:100]
    return [(one.pk, one.title, one.hit_type.replace("_", " "), one.pk in chosen) for one in found]


@login_required
@never_cache
@require_GET
def report(request: HttpRequest, pk: int) -> HttpResponse:
    """One report: its content once it is done, until then its progress."""
    found = report_get_for(user=request.user, pk=pk)
    context: dict[str, Any] = {
        "report": found,
        "study": found.study,
        "formats": FORMATS.values(),
        "can_compute": _can_compute(request, found.study),
    }
    if found.state != Report.State.DONE:
        return render(request, "evaluation/report_waiting.html", context)
    context["page"] = page_of(
        found.content or {},
        lambda name: reverse("evaluation:report_file", args=[found.pk, name]),
        lambda study, item: reverse("admin:study_item", args=[study, item]),
        lambda study, raters: (
            f"{reverse('admin:study_contested', args=[study])}?raters={'-'.join(map(str, raters))}"
        ),
    )
    context["only"] = filter_words(str(found.choices.get("only") or ""))
    context["by"] = column_words(str(found.choices.get("by") or ""))
    context["contested"] = _contested(found)
    context["written"] = _written(found)
    with _kept(found.study):
        context["form"] = ReportForm(study=found.study, initial=found.choices)
    context["joinable"] = _joinable(request, found.study, {study.pk for study in found.studies})
    of_study = reports_of(study=found.study, user=request.user)
    others = of_study.filter(state=Report.State.DONE).exclude(pk=pk)[:50]
    context["others"] = [(one, spec_of("rule").words(one.choices.get("rule"))) for one in others]
    return render(request, "evaluation/report.html", context)


def _contested(report: Report) -> str:
    """Where the items are that the raters of a report on one study disagree on."""
    if len(report.studies) > 1:
        return ""
    rehearsal = report.choices.get("count") == "rehearsal"
    return reverse("admin:study_contested", args=[report.study_id]) + (
        "?count=rehearsal" if rehearsal else ""
    )


def _written(report: Report) -> str:
    """Where the texts are that raters wrote, which no section measures; empty if they wrote none."""
    if len(report.studies) > 1 or not written_questions(report.study):
        return ""
    return reverse("admin:study_written", args=[report.study_id])


@login_required
@never_cache
@require_GET
def report_status(request: HttpRequest, pk: int) -> HttpResponse:
    """The progress of a report, for the waiting page; makes the page reload when it has ended."""
    found = report_get_for(user=request.user, pk=pk)
    response = render(request, "evaluation/_status.html", {"report": found})
    if found.state not in WAITING:
        response["HX-Refresh"] = "true"
    return response


@login_required
@require_POST
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    """Compute a failed report again."""
    found = report_get_for(user=request.user, pk=pk, role=Membership.Role.REVIEWER)
    report_retry(report=found)
    return redirect("evaluation:report", pk=pk)


@login_required
@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a report."""
    found = report_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR)
    report_delete(report=found)
    return redirect("evaluation:reports", study_pk=found.study_id)


@login_required
@require_GET
def report_file(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """A figure of a report. It never changes, so the browser may cache it."""
    found = report_file_get(report=report_get_for(user=request.user, pk=pk), name=name)
    response = HttpResponse(bytes(found.body), content_type=found.media_type)
    response["Cache-Control"] = "private, max-age=31536000, immutable"
    response["Content-Security-Policy"] = FIGURE_POLICY
    if request.GET.get("save"):
        response["Content-Disposition"] = f'attachment; filename="report-{pk}-{name}"'
    return response


@login_required
@never_cache
@require_GET
def report_export(request: HttpRequest, pk: int, format: str) -> HttpResponseBase:
    """A finished report in one of its formats, as a download."""
    found = report_get_for(user=request.user, pk=pk)
    return export_response(found, format)


def export_response(found: Report, format: str) -> HttpResponseBase:
    """The download itself; 409 if the report isn't done."""
    if found.state != Report.State.DONE or found.content is None:
        return HttpResponse("The report is not done.", status=409, content_type="text/plain")
    how = FORMATS[format]
    files = {f.name: (f.media_type, bytes(f.body)) for f in found.files.all()} if format == "html" else {}
    text = export(found.content, files, format)
    pieces = (text[at : at + 65_536] for at in range(0, len(text), 65_536))
    response = StreamingHttpResponse(pieces, content_type=how.media_type)
    name = f"{found.study.slug}-report-{found.pk}.{how.extension}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
