"""Pages of a report's releases: request one, watch it being built, download it."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.core.downloads import download_send
from annotator.models import Membership
from annotator.selectors.study import roles_from, study_role
from annotator.selectors.user import user_of
from evaluation.forms.releases import ReleaseForm, TextDecisionsForm
from evaluation.models import Release, Report
from evaluation.releases.cost import release_cost
from evaluation.selectors.release import release_get_for, releases_of, texts_waiting
from evaluation.selectors.report import may_on_all, report_get_for
from evaluation.services.erasure import erased_notice
from evaluation.services.release import (
    release_create,
    release_decide,
    release_delete,
    release_download,
)
from evaluation.services.signing_key import public_key_of, signing_key_in

#: How many texts a page lists for approval.
TEXTS = 100
WAITING = (Release.State.QUEUED, Release.State.RUNNING)


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def releases(request: HttpRequest, pk: int) -> HttpResponse:
    """A report's releases, newest first; a POST requests a new one, or only says what its coarsening would cost."""
    role = Membership.Role.VIEWER if request.method == "GET" else Membership.Role.EDITOR
    report = report_get_for(user=request.user, pk=pk, role=role)
    if report.state != Report.State.DONE:
        return redirect("evaluation:report", pk=pk)
    form = ReleaseForm(request.POST or None, report=report, initial={"title": f"Data: {report.study.title}"})
    cost = None
    if request.method == "POST" and form.is_valid():
        if "cost" in request.POST:
            cost = release_cost(
                report=report, attributes=form.cleaned_data.get("attributes", ()), coarsening=form.coarsening
            )
        else:
            release = release_create(report=report, user=request.user, **form.cleaned_data)  # type: ignore[arg-type]
            return redirect("evaluation:release", pk=release.pk)
    context = _about(request, report) | {
        "report": report,
        "form": form,
        "cost": cost,
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
@require_http_methods(["GET", "POST"])
def release(request: HttpRequest, pk: int) -> HttpResponse:
    """One release: its progress, the texts that wait for approval, then what was found and the download. A POST decides on texts."""
    role = Membership.Role.VIEWER if request.method == "GET" else Membership.Role.EDITOR
    found = release_get_for(user=request.user, pk=pk, role=role)
    texts = list(texts_waiting(release=found)[:TEXTS]) if found.state == Release.State.REVIEW else []
    form = TextDecisionsForm(request.POST or None, texts=texts)
    if request.method == "POST" and form.is_valid():
        if found.state == Release.State.REVIEW:
            release_decide(release=found, decisions=form.decisions, by=user_of(request))
        return redirect("evaluation:release", pk=pk)
    context = _about(request, found.report) | {
        "release": found,
        "erased": erased_notice(found),
        "signing_key": signing_key_in(found),
        "workspace_key": public_key_of(found.report.study.workspace),
        "form": form,
        "texts": texts,
        "waiting": texts_waiting(release=found).count(),
        "texts_total": found.texts.count(),
    }
    return render(request, "evaluation/release.html", context, status=422 if form.errors else 200)


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
    return download_send(release_download(release_get_for(user=request.user, pk=pk)))


@login_required
@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a release."""
    found = release_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR)
    release_delete(release=found)
    return redirect("evaluation:releases", pk=found.report_id)
