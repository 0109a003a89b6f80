"""Pages on which the owner of a workspace keeps a study in a file, downloads the file, and brings the study back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.core.downloads import download_send
from annotator.core.service_errors import errors_add
from annotator.models import Membership, Study
from annotator.selectors.user import user_of
from evaluation.forms.kept_studies import BringBackForm, KeepForm
from evaluation.models import KeptJob
from evaluation.moves.kept_files import kept_file_delete, kept_study_download
from evaluation.moves.kept_jobs import bring_back_request, keep_request
from evaluation.selectors.kept_study import (
    keepable_study_get_for,
    kept_file_there,
    kept_job_get_for,
    kept_jobs_failed_for,
    kept_jobs_for,
    kept_studies_back_for,
    kept_studies_for,
    kept_study_back_get_for,
    kept_study_get_for,
)

#: How many a page lists.
MOST = 200
#: How long the list shows jobs that failed.
FAILED_SHOWN = timedelta(days=7)


@login_required
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def keep(request: HttpRequest, study_pk: int) -> HttpResponse:
    """Say what keeping an archived study in a file means; a POST starts the job."""
    study = keepable_study_get_for(user=request.user, pk=study_pk)
    study.my_role = Membership.Role.OWNER  # type: ignore[attr-defined]
    open_job = kept_jobs_for(user=request.user).filter(study=study.pk, state__in=KeptJob.OPEN).first()
    if open_job is not None and request.method == "GET":
        return redirect("evaluation:kept_job", pk=open_job.pk)
    form = KeepForm(request.POST if request.method == "POST" else None, study=study)
    if request.method == "POST" and form.is_valid():
        try:
            job = keep_request(study=study, by=user_of(request), **form.cleaned_data)
        except ValidationError as error:
            errors_add(form, error)
        else:
            return redirect("evaluation:kept_job", pk=job.pk)
    context = {"study": study, "study_tab": "settings", "form": form, "judgments": study.judgments.count()}
    return render(request, "evaluation/study_keep.html", context, status=422 if form.errors else 200)


@login_required
@never_cache
@require_GET
def kept_studies(request: HttpRequest) -> HttpResponse:
    """The studies of one's workspaces that are in files, and the latest jobs about them; nothing for annotators."""
    if not request.user.is_staff:
        raise Http404("a researcher's page")
    context = {
        "kept": [
            (kept_study, kept_file_there(kept_study))
            for kept_study in kept_studies_for(user=request.user)[:MOST]
        ],
        "back": [one for one in kept_studies_back_for(user=request.user)[:MOST] if kept_file_there(one)],
        "jobs": kept_jobs_for(user=request.user).filter(state__in=KeptJob.OPEN)[:MOST],
        "failed": kept_jobs_failed_for(user=request.user, since=timezone.now() - FAILED_SHOWN)[:MOST],
    }
    return render(request, "evaluation/kept_studies.html", context)


@login_required
@require_GET
def download(request: HttpRequest, pk: int) -> FileResponse:
    """The encrypted file."""
    kept = kept_study_get_for(user=request.user, pk=pk)
    return download_send(kept_study_download(kept, by=user_of(request)))


@login_required
@require_POST
def file_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete the installation's copy of the file of a study that is back."""
    kept_file_delete(kept_study_back_get_for(user=request.user, pk=pk), by=user_of(request))
    return redirect("evaluation:kept_studies")


@login_required
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def bring_back(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for the key and, if the installation has no copy, for the file; a POST starts the job."""
    kept = kept_study_get_for(user=request.user, pk=pk)
    stored = kept_file_there(kept)
    posted = request.method == "POST"
    form = BringBackForm(
        request.POST if posted else None, request.FILES if posted else None, kept=kept, stored=stored
    )
    if posted and form.is_valid():
        try:
            job = bring_back_request(kept=kept, by=user_of(request), **form.cleaned_data)
        except ValidationError as error:
            errors_add(form, error)
        else:
            return redirect("evaluation:kept_job", pk=job.pk)
    context = {"kept": kept, "form": form}
    return render(request, "evaluation/study_bring_back.html", context, status=422 if form.errors else 200)


@login_required
@never_cache
@require_GET
def job(request: HttpRequest, pk: int) -> HttpResponse:
    """One job: its progress, then what has become of the study."""
    return render(request, "evaluation/kept_job.html", _about(kept_job_get_for(user=request.user, pk=pk)))


@login_required
@never_cache
@require_GET
def job_status(request: HttpRequest, pk: int) -> HttpResponse:
    """The progress of a job, for its page; makes the page reload when it has ended."""
    found = kept_job_get_for(user=request.user, pk=pk)
    response = render(request, "evaluation/_kept_job_status.html", _about(found))
    if not found.waiting:
        response["HX-Refresh"] = "true"
    return response


def _about(job: KeptJob) -> dict[str, object]:
    found: dict[str, Any] = {}
    if job.kind == KeptJob.Kind.BRING_BACK:
        found = {"pk": job.study}
    elif job.kind == KeptJob.Kind.TEMPLATE:
        found = {"slug": job.slug, "workspace": job.workspace}
    made = Study.objects.filter(**found).first() if found and job.state == KeptJob.State.DONE else None
    return {"job": job, "made": made}
