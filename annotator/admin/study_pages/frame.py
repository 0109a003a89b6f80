"""What every page of a study shares: who may see it, its tabs and its frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_http_methods

from annotator.hit_types.registry import hit_types
from annotator.models import Membership, Study
from annotator.selectors.study import ROLES, study_get_for, study_role

VIEWER, REVIEWER, EDITOR, OWNER = ROLES
Page = Callable[..., HttpResponseBase]

#: (address, name, title) of the tabs of every study.
TABS = (
    ("admin:annotator_study_change", "home", "Study"),
    ("admin:study_live", "live", "Live"),
    ("admin:study_exam", "exam", "Exam"),
    ("admin:study_items", "items", "Items"),
    ("admin:study_judgments", "judgments", "Judgments"),
    ("admin:study_raters", "raters", "Raters"),
    ("admin:study_exclusions", "exclusions", "Exclusions"),
    ("admin:study_exports", "exports", "Exports"),
    ("evaluation:reports", "reports", "Reports"),
)


def study_page(role: str = VIEWER, *, methods: tuple[str, ...] = ("GET", "HEAD")) -> Callable[[Page], Page]:
    """Decorate a view of one study: it gets the study if the researcher has this role in it, else 404."""

    def decorate(view: Page) -> Page:
        @require_http_methods(list(methods))
        @wraps(view)
        def found(request: HttpRequest, pk: int, **rest: Any) -> HttpResponseBase:
            return view(request, study_get_for(user=request.user, pk=int(pk), role=role), **rest)

        return found

    return decorate


def role_of(request: HttpRequest, study: Study) -> Membership.Role | None:
    """The researcher's role in the study, looked up once a request."""
    known: dict[int, Membership.Role | None] = request.__dict__.setdefault("_study_roles", {})
    if study.pk not in known:
        known[study.pk] = study_role(user=request.user, study=study)
    return known[study.pk]


def may(request: HttpRequest, study: Study, role: str) -> bool:
    """Whether the researcher has at least this role."""
    mine = role_of(request, study)
    return mine is not None and ROLES.index(mine) >= ROLES.index(Membership.Role(role))


def render(
    request: HttpRequest,
    study: Study,
    template: str,
    *,
    tab: str,
    title: str = "",
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """Render a page of a study in the admin's frame."""
    role = role_of(request, study)
    rank = ROLES.index(role) if role else -1
    whole = {
        **admin.site.each_context(request),
        "title": title or study.title,
        "study": study,
        "kind": hit_types().get(study.hit_type),
        "role": role,
        "can_review": rank >= ROLES.index(REVIEWER),
        "can_edit": rank >= ROLES.index(EDITOR),
        "can_own": rank >= ROLES.index(OWNER),
        "tab": tab,
        "tabs": [
            (where, name, text) for address, name, text in TABS if (where := address_of(address, study.pk))
        ],
        **context,
    }
    return TemplateResponse(request, f"admin/annotator/study_pages/{template}.html", whole, status=status)


def address_of(name: str, *args: Any) -> str:
    """The URL of a page of another application; empty where it is not installed."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""
