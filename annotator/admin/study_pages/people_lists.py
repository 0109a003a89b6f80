"""The pages of accounts and of qualifications, and the page on which a qualification is granted."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.http import urlencode

from annotator.core.row_ids import row_id
from annotator.core.service_errors import errors_add, save_checked
from annotator.forms.people import GrantForm
from annotator.hit_types.registry import hit_types
from annotator.models import Qualification, User
from annotator.selectors.people_lists import (
    QUALIFICATION_STATES,
    REHEARSAL,
    ROLES,
    STATES,
    qualification_groups,
    qualifications_found,
    role_of_account,
    users_found,
)
from annotator.selectors.user import user_of
from annotator.selectors.workspace import workspaces_for

PAGE = 50
#: At most this many workspaces are in the menu; only operators have more.
MOST_WORKSPACES = 200
#: What each kind of account may do.
MAY = {
    "administrator": "Opens every study and workspace, and this page.",
    "researcher": "Logs in to these pages. Their role in a workspace or study says what they may do there.",
    "annotator": "Does tasks. Sees only their own page.",
}


def users(request: HttpRequest) -> HttpResponse:
    """The accounts of the server, for operators, with what one may do with them."""
    chosen = {name: _text(request, name) for name in ("q", "role", "state", "rehearsal")}
    found = users_found(
        query=chosen["q"], role=chosen["role"], state=chosen["state"], rehearsal=chosen["rehearsal"]
    )
    page = Paginator(found, PAGE).get_page(request.GET.get("p"))
    rows: list[dict[str, Any]] = [
        {"one": one, "role": role_of_account(one), "role_title": ROLES[role_of_account(one)]} for one in page
    ]
    kept = {name: value for name, value in chosen.items() if value}
    synthetic = 0 if chosen["rehearsal"] else User.objects.filter(rater__rehearsal=True).count()
    context = {
        **admin.site.each_context(request), "title": "Users", "opts": User._meta, "rows": rows, "page": page,
        "total": page.paginator.count, "chosen": chosen, "roles": ROLES, "states": STATES, "rehearsals": REHEARSAL,
        "filtered": bool(kept), "kept": urlencode(kept), "synthetic": synthetic,
        "means": [(ROLES[name], text) for name, text in MAY.items()],
    }  # fmt: skip
    return TemplateResponse(request, "admin/annotator/study_pages/users.html", context)


def qualifications_shown(
    request: HttpRequest,
    mine: QuerySet[Qualification],
    *,
    changeable: QuerySet[Qualification],
    may_grant: bool,
) -> dict[str, Any]:
    """The context of the page of qualifications: those of ``mine`` that the address asks for, and what they are for. Those that
    are ``changeable`` can be selected."""
    chosen = {name: _text(request, name) for name in ("q", "hit_type", "state", "rehearsal")}
    workspaces = list(workspaces_for(user=request.user).order_by("name", "pk")[:MOST_WORKSPACES])
    workspace = row_id(request.GET.get("workspace"))
    rehearsal = chosen["rehearsal"]
    found = qualifications_found(
        mine, query=chosen["q"], workspace=workspace, hit_type=chosen["hit_type"], state=chosen["state"], rehearsal=rehearsal
    )  # fmt: skip
    page = Paginator(found, PAGE).get_page(request.GET.get("p"))
    titles = {name: kind.title for name, kind in hit_types().items()}
    open_ones = set(
        changeable.filter(pk__in=[one.pk for one in page], revoked_at=None).values_list("pk", flat=True)
    )
    rows = [
        {
            "one": one,
            "selectable": one.pk in open_ones,
            "title": titles.get(one.hit_type, one.hit_type),
            "state": "revoked" if one.revoked_at else "expired" if one.expired else "valid",  # type: ignore[attr-defined]
        }
        for one in page
    ]
    groups = qualification_groups(qualifications_found(mine, workspace=workspace, rehearsal=rehearsal))
    kept = {name: value for name, value in chosen.items() if value} | (
        {"workspace": str(workspace)} if workspace else {}
    )
    return {
        **admin.site.each_context(request), "title": "Qualifications", "opts": Qualification._meta, "rows": rows, "page": page,
        "total": page.paginator.count, "chosen": chosen, "workspaces": workspaces if len(workspaces) > 1 else [],
        "workspace": workspace, "states": QUALIFICATION_STATES, "rehearsals": REHEARSAL, "may_grant": may_grant, "may_revoke": bool(open_ones),
        "groups": [(group, titles.get(group.hit_type, group.hit_type)) for group in groups],
        "types": sorted({(group.hit_type, titles.get(group.hit_type, group.hit_type)) for group in groups}, key=lambda pair: pair[1]),
        "filtered": bool(kept), "kept": urlencode(kept),
    }  # fmt: skip


def grant(request: HttpRequest) -> HttpResponse:
    """Grant a qualification. The form is checked first, then a second page says what it means and asks to confirm it."""

    class Bound(GrantForm):
        by = user_of(request)

    form = Bound(request.POST if request.method == "POST" else None)
    sure = False
    if request.method == "POST" and form.is_valid():
        sure = "change" not in request.POST
        if "sure" in request.POST:
            try:
                made = save_checked(form.save)
            except ValidationError as error:
                errors_add(form, error)
            else:
                messages.success(request, f"Qualification granted to {made.rater}.")
                return redirect("admin:annotator_qualification_changelist")
    data = form.cleaned_data if sure and not form.errors else {}
    titles = dict(form.fields["hit_type"].choices)  # type: ignore[attr-defined]
    context = {
        **admin.site.each_context(request), "title": "Grant a qualification", "opts": Qualification._meta, "form": form,
        "data": data, "type_title": titles.get(data.get("hit_type", ""), ""),
    }  # fmt: skip
    return TemplateResponse(request, "admin/annotator/study_pages/qualification_grant.html", context)


def _text(request: HttpRequest, name: str) -> str:
    return request.GET.get(name, "").replace("\x00", "").strip()[:200]
