"""Duplicate, archive, delete and restore a study; its versions."""

from __future__ import annotations

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from annotator.admin.study_pages.frame import EDITOR, OWNER, VIEWER, render, study_page
from annotator.core.row_ids import row_id
from annotator.core.service_errors import errors_add, save_checked
from annotator.core.words import listed, plural
from annotator.forms.study_pages import DeleteForm, DuplicateForm
from annotator.models import Study
from annotator.selectors.declared_type import version_newer
from annotator.selectors.owed import balances_of, totals_of
from annotator.selectors.study import KEPT_DAYS, deleted_studies_for
from annotator.selectors.user import user_of
from annotator.selectors.versions import version_diff, versions_of
from annotator.selectors.workspace import workspaces_for
from annotator.services.study_copy import slug_free, study_duplicate
from annotator.services.study_removal import (
    open_matters,
    study_archive,
    study_delete,
    study_restore,
    study_unarchive,
)
from annotator.services.study_type import study_newest_type


@study_page(VIEWER)
def manage(request: HttpRequest, study: Study) -> HttpResponse:
    """Actions on the whole study."""
    return render(
        request, study, "manage", tab="settings", title=f"Duplicate, archive or delete {study.title}", days=KEPT_DAYS,
        waiting=listed([] if study.archived_at else open_matters(study)), newer=version_newer(study),
        can_keep=workspaces_for(user=request.user, role=OWNER).filter(pk=study.workspace_id or 0).exists(),
    )  # fmt: skip


@study_page(EDITOR, methods=("POST",))
def newest_type(request: HttpRequest, study: Study) -> HttpResponse:
    """Let a draft use the latest version of its HIT type."""
    try:
        study_newest_type(study=study, by=user_of(request))
        messages.success(request, "The study uses the latest version of its HIT type.")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("admin:study_manage", study.pk)


@study_page(VIEWER, methods=("GET", "HEAD", "POST"))
def duplicate(request: HttpRequest, study: Study) -> HttpResponse:
    """Make a new draft from a study; the researcher who does so owns the copy."""
    start = {"title": f"{study.title} (copy)"[:200], "slug": slug_free(study.slug), "material": True}
    form = DuplicateForm(request.POST or None, initial=start)
    if request.method == "POST" and form.is_valid():
        try:
            copy = save_checked(
                lambda: study_duplicate(study=study, by=user_of(request), **form.cleaned_data)
            )
        except ValidationError as error:
            errors_add(form, error)
        else:
            messages.success(request, f"“{copy.title}” has been created as a draft.")
            return redirect("admin:study_live", copy.pk)
    return render(
        request, study, "duplicate", tab="settings", title=f"Duplicate {study.title}", form=form,
        status=400 if form.errors else 200,
    )  # fmt: skip


@study_page(OWNER, methods=("POST",))
def archive(request: HttpRequest, study: Study) -> HttpResponse:
    """Archive a study, or unarchive it."""
    try:
        if "back" in request.POST:
            study_unarchive(study=study)
            messages.success(request, "The study is on your list again.")
        else:
            study_archive(study=study, anyway="anyway" in request.POST)
            messages.success(
                request, "The study is archived. You can find it under “Archived studies” on the home page."
            )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("admin:study_manage", study.pk)


@study_page(OWNER, methods=("GET", "HEAD", "POST"))
def delete(request: HttpRequest, study: Study) -> HttpResponse:
    """Delete a study once its short name has been typed; it can be restored for 30 days."""
    form = DeleteForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            study_delete(study=study, by=user_of(request), typed=form.cleaned_data["typed"])
        except ValidationError as error:
            errors_add(form, error)
        else:
            messages.success(
                request, f"“{study.title}” has been deleted. You can restore it for {KEPT_DAYS} days."
            )
            return redirect("admin:studies_deleted")
    return render(
        request, study, "delete", tab="settings", title=f"Delete {study.title}", form=form, days=KEPT_DAYS,
        totals=totals_of(balances_of(study)), judgments=plural(study.judgments.count(), "judgment"),
        items=plural(study.items.count(), "item"), status=400 if form.errors else 200,
    )  # fmt: skip


@require_http_methods(["GET", "HEAD", "POST"])
def deleted(request: HttpRequest) -> HttpResponse:
    """The studies that the researcher can still restore."""
    found = deleted_studies_for(user=request.user).select_related("deleted_by").order_by("-deleted_at")
    if request.method == "POST":
        study = get_object_or_404(found, pk=row_id(request.POST.get("study")))
        study_restore(study=study)
        messages.success(request, f"“{study.title}” has been restored.")
        return redirect("admin:study_live", study.pk)
    context = {
        **admin.site.each_context(request), "title": "Deleted studies", "studies": found[:200], "days": KEPT_DAYS,
    }  # fmt: skip
    return TemplateResponse(request, "admin/annotator/study_pages/deleted.html", context)


@study_page(VIEWER)
def versions(request: HttpRequest, study: Study) -> HttpResponse:
    """List the versions of a study, and compare two of them."""
    listed = versions_of(study)
    numbers = {str(one.number): one for one in listed}
    newest = listed[0] if listed else None
    after = numbers.get(request.GET.get("after", ""), newest)
    before = numbers.get(request.GET.get("before", ""))
    if before is None and after is not None:
        before = next((one for one in listed if one.number < after.number), None)
    changes = version_diff(before, after) if before and after and before != after else []
    return render(
        request, study, "versions", tab="settings", title=f"Versions of {study.title}", versions=listed, before=before,
        after=after, changes=changes,
    )  # fmt: skip
