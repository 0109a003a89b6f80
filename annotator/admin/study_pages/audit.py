"""The audit trail as a page: the same for a study and for a workspace."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import urlencode

from annotator.admin.study_pages.frame import OWNER, render, study_page
from annotator.core.row_ids import row_id
from annotator.forms.audit import AuditFilterForm
from annotator.models import Study, Workspace
from annotator.selectors.audit import (
    audit_actors,
    audit_filter,
    audit_label,
    audit_member,
    audit_of,
    audit_who,
)
from annotator.selectors.user import user_of
from annotator.services.audit import audit_export

PAGE = 100


@study_page(OWNER)
def study_audit(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Who changed or viewed what in a study, with filters; also as CSV."""
    if "csv" in request.GET:
        return audit_file(request, study=study)
    context = audit_context(request, study=study)
    return render(
        request, study, "audit", tab="settings", title=f"Audit trail of {study.title}",
        status=400 if context["form"].errors else 200, **context,
    )  # fmt: skip


def audit_context(
    request: HttpRequest, *, study: Study | None = None, workspace: Workspace | None = None
) -> dict[str, Any]:
    """A page of entries for the template."""
    form, found = _chosen(request, study, workspace)
    before = row_id(request.GET.get("before"))
    rows = list((found.filter(pk__lt=before) if before else found)[: PAGE + 1])
    query = {name: str(value) for name, value in request.GET.items() if name in form.fields and value}
    return {
        "form": form,
        "entries": [
            {
                "entry": row,
                "label": audit_label(row),
                "who": audit_who(row),
                "member": audit_member(row),
                "changes": _changes(row.before, row.after),
            }
            for row in rows[:PAGE]
        ],
        "csv": urlencode(query | {"csv": "1"}),
        "following": urlencode(query | {"before": str(rows[PAGE - 1].pk)}) if len(rows) > PAGE else "",
    }


def audit_file(
    request: HttpRequest, *, study: Study | None = None, workspace: Workspace | None = None
) -> HttpResponseBase:
    """The chosen entries as a CSV file."""
    form, found = _chosen(request, study, workspace)
    if form.errors:
        return HttpResponse(form.errors.as_text(), status=400, content_type="text/plain; charset=utf-8")
    chunks = audit_export(found=found, by=user_of(request), study=study, workspace=workspace)
    response = StreamingHttpResponse(chunks, content_type="text/csv; charset=utf-8")
    name = study.slug if study else f"workspace-{workspace.pk}" if workspace else ""
    response["Content-Disposition"] = f'attachment; filename="{name}-audit.csv"'
    return response


def _chosen(request: HttpRequest, study: Study | None, workspace: Workspace | None) -> tuple[Any, Any]:
    found = audit_of(study=study, workspace=workspace)
    form = AuditFilterForm(request.GET, people=audit_actors(found))
    return form, audit_filter(found, **form.cleaned_data) if form.is_valid() else found.none()


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    names = [*before, *(name for name in after if name not in before)]
    return [
        {"name": name.replace("_", " "), "before": before.get(name), "after": after.get(name)}
        for name in names
    ]
