"""A study's list of people with personal links: upload it, download the links, revoke one and make it anew."""

from __future__ import annotations

import io

from django.contrib import messages
from django.core.exceptions import BadRequest, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from annotator.admin.study_pages.frame import EDITOR, render, study_page
from annotator.core.row_ids import row_id
from annotator.core.service_errors import errors_add
from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.core.words import plural
from annotator.forms.personal_links import PeopleFileForm
from annotator.models import AuditAction, PersonalLink, Study
from annotator.recruitment.registry import panel_get
from annotator.selectors.personal_links import personal_links_csv, personal_links_of
from annotator.selectors.user import user_of
from annotator.services.audit import audit_write
from annotator.services.personal_links import (
    people_read,
    personal_link_remove,
    personal_link_renew,
    personal_link_revoke,
    personal_links_make,
)

#: Button -> what the page says afterwards.
DONE = {
    "revoke": "The link doesn't work any more.",
    "renew": "A new link was made. The earlier one doesn't work any more.",
    "remove": "Removed from the list.",
}


@study_page(EDITOR, methods=("GET", "HEAD", "POST"), people="personal links")
def personal_links(request: HttpRequest, study: Study) -> HttpResponse:
    """The people on the list with their links and whether they have joined."""
    action = request.POST.get("do", "upload")
    form = PeopleFileForm(
        request.POST if request.method == "POST" and action == "upload" else None, request.FILES or None
    )
    faults: list[str] = []
    panel = panel_get(study.panel)
    if request.method == "POST" and action != "upload":
        _one(request, study, action)
        return redirect("admin:study_personal_links", study.pk)
    if form.is_bound and form.is_valid():
        file = form.cleaned_data["file"]
        log = FaultLog(file.name)
        try:
            people = people_read(io.BytesIO(file.read()), name=file.name, log=log)
            made = personal_links_make(
                study=study, people=people, by=user_of(request), log=log, expires_at=form.cleaned_data["expires_at"]
            )  # fmt: skip
        except FileRefused as refused:
            faults = str(refused).splitlines()
        except ValidationError as error:
            errors_add(form, error)
        else:
            messages.success(
                request, f"{plural(len(made), 'person', 'people')} added. Download their links below."
            )
            return redirect("admin:study_personal_links", study.pk)
    return render(
        request, study, "personal_links", tab="settings", title=f"Personal links of {study.title}", form=form, faults=faults,
        listed=panel is not None and panel.listed, people=personal_links_of(study, site=_site(request)), status=400 if faults or form.errors else 200,
    )  # fmt: skip


@study_page(EDITOR, people="personal links")
def personal_links_file(request: HttpRequest, study: Study) -> HttpResponse:
    """Download the list with everybody's link as CSV."""
    text = personal_links_csv(personal_links_of(study, site=_site(request)))
    audit_write(action=AuditAction.EXPORTED, study=study, by=user_of(request), target="personal links")
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-personal-links.csv"'
    return response


def _site(request: HttpRequest) -> str:
    return request.build_absolute_uri("/")


def _one(request: HttpRequest, study: Study, action: str) -> None:
    row = get_object_or_404(PersonalLink, study=study, pk=row_id(request.POST.get("link")))
    by = user_of(request)
    try:
        if action == "revoke":
            personal_link_revoke(row=row, by=by)
        elif action == "renew":
            personal_link_renew(row=row, by=by)
        elif action == "remove":
            personal_link_remove(row=row, by=by)
        else:
            raise BadRequest("no such action")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, DONE[action])
