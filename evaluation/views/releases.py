"""Pages of a report's releases: request one, watch it being built, download it."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.models import Membership
from annotator.selectors.study import roles_from, study_role
from evaluation.forms.releases import ReleaseForm
from evaluation.models import Release, Report
from evaluation.selectors.release import release_get_for, releases_of
from evaluation.selectors.report import may_on_all, report_get_for
from evaluation.services.release import release_create, release_delete, release_download

WAITING = (Release.State.QUEUED, Release.State.RUNNING)


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def releases(request: HttpRequest, pk: int) -> HttpResponse:
    """A report's releases, newest first; a POST requests a new one."""
    role = Membership.Role.VIEWER if request.method == "GET" else Membership.Role.EDITOR
    report = report_get_for(user=request.user, pk=pk, role=role)
    if report.state != Report.State.DONE:
        return redirect("evaluation:report", pk=pk)
    form = ReleaseForm(request.POST or None, report=report, initial={"title": f"Data: {report.study.title}"})
    if request.method == "POST" and form.is_valid():
        release = release_create(report=report, user=request.user, **form.cleaned_data)  # type: ignore[arg-type]
        return redirect("evaluation:release", pk=release.pk)
    context = _about(request, report) | {
        "report": report,
        "form": form,
        "releases": releases_of(report=report)[:100],
    }
    return render(request, "evaluation/releases.html", context, status=422 if form.errors else 200)


def _about(request: HttpRequest, report: Report) -> dict[str, object]:
    """The study, for the frame of the page, and whether the researcher may make and delete releases."""
    study = report.study
    study.my_role = study_role(user=request.user, study=study) or ""  # type: ignore[attr-defined]
    editor = study.my_role in roles_from(Membership.Role.EDITOR)  # type: ignore[attr-defined]
    may = editor and may_on_all(user=request.user, studies=report.studies, role=Membership.Role.EDITOR)
    return {"study": study, "can_release": may}


@login_required
@never_cache
@require_GET
def release(request: HttpRequest, pk: int) -> HttpResponse:
    """One release: its progress, then what was found and the download."""
    found = release_get_for(user=request.user, pk=pk)
    return render(request, "evaluation/release.html", _about(request, found.report) | {"release": found})


@login_required
@never_cache
@require_GET
def release_status(request: HttpRequest, pk: int) -> HttpResponse:
    """The progress of a release, for its page; makes the page reload when it has ended."""
    found = release_get_for(user=request.user, pk=pk)
    response = render(request, "evaluation/_release_status.html", {"release": found})
    if found.state not in WAITING:
        response["HX-Refresh"] = "true"
    return response


@login_required
@require_GET
def download(request: HttpRequest, pk: int) -> FileResponse:
    """The archive."""
    return release_download(release_get_for(user=request.user, pk=pk))


@login_required
@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a release."""
    found = release_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR)
    release_delete(release=found)
    return redirect("evaluation:releases", pk=found.report_id)
