"""What every page of a study shares: who may see it, its tabs and its frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_http_methods

from annotator.core.kept_figures import (
    FIRST_SECONDS,
    BeingCounted,
    figures_changed,
    figures_kept,
    figures_since,
)
from annotator.models import Membership, Study
from annotator.selectors.study import ROLES, known_hit_type, study_get_for, study_role
from annotator.services.audit import people_viewed

VIEWER, REVIEWER, EDITOR, OWNER = ROLES
#: When a page whose figures are being counted opens itself again.
AGAIN_SECONDS = 5
Page = Callable[..., HttpResponseBase]


@dataclass(frozen=True)
class Tab:
    """A tab of every study and the pages under it: (URL name, title, least role)."""

    name: str
    title: str
    pages: tuple[tuple[str, str, str], ...]


#: The tabs are the same on every page of a study; a page is found by its URL name.
TABS = (
    Tab(
        "overview",
        "Overview",
        (
            ("admin:study_live", "Progress", VIEWER),
            ("annotator:preview", "Preview as an annotator", VIEWER),
            ("admin:study_rehearsal", "Rehearsal", VIEWER),
        ),
    ),
    Tab(
        "items",
        "Items",
        (
            ("admin:study_items", "All items", VIEWER),
            ("admin:annotator_study_import", "Import material", EDITOR),
            ("admin:study_images", "Images", VIEWER),
        ),
    ),
    Tab(
        "participants",
        "Participants",
        (
            ("admin:study_raters", "Raters", VIEWER),
            ("admin:study_participants", "All participants", VIEWER),
            ("admin:study_questionnaires", "Questionnaires", VIEWER),
            ("admin:study_messages", "Messages", VIEWER),
            ("admin:study_payments", "Payments", VIEWER),
            ("admin:study_data_requests", "Deletion requests", REVIEWER),
        ),
    ),
    Tab(
        "judgments",
        "Judgments",
        (
            ("admin:study_judgments", "All judgments", VIEWER),
            ("admin:study_written", "Written answers", VIEWER),
            ("admin:study_exports", "Exports", VIEWER),
            ("admin:annotator_study_import_judgments", "Import judgments", EDITOR),
        ),
    ),
    Tab(
        "review",
        "Review",
        (
            ("admin:study_desk", "Review desk", VIEWER),
            ("admin:study_contested", "Contested items", VIEWER),
            ("evaluation:disagreement", "Where disagreement comes from", VIEWER),
            ("admin:study_adjudication", "Adjudication", REVIEWER),
            ("admin:study_exclusions", "Exclusions", VIEWER),
        ),
    ),
    Tab("simulators", "Simulators", (("admin:study_simulators", "Simulators", VIEWER),)),
    Tab(
        "reports",
        "Reports",
        (("evaluation:reports", "Reports", VIEWER), ("evaluation:plan", "Analysis plan", VIEWER)),
    ),
    Tab(
        "settings",
        "Settings",
        (
            ("admin:annotator_study_change", "Settings", VIEWER),
            ("admin:study_recruitment", "Recruitment", VIEWER),
            ("admin:study_exam", "Exam and practice", VIEWER),
            ("admin:study_languages", "Languages", VIEWER),
            ("admin:study_versions", "Versions", VIEWER),
            ("admin:study_manage", "Duplicate, archive, delete", VIEWER),
            ("admin:study_audit", "Audit trail", OWNER),
        ),
    ),
    Tab(
        "members",
        "Members",
        (("admin:study_members", "Members", VIEWER), ("admin:study_audit", "Audit trail", OWNER)),
    ),
)


@dataclass(frozen=True)
class Link:
    """A tab or page as it is rendered."""

    url: str
    title: str
    current: bool


def tabs_of(
    study: Study, *, tab: str, page: str = "", role: str | None = None
) -> tuple[list[Link], list[Link]]:
    """The tabs of a study, and the pages of the current tab that this role may open.

    ``page`` is the URL name of the current page. Pages of applications that aren't installed are left out.
    """
    rank = ROLES.index(Membership.Role(role)) if role else -1
    tabs: list[Link] = []
    pages: list[Link] = []
    for one in TABS:
        links = [
            Link(where, title, address == page)
            for address, title, least in one.pages
            if ROLES.index(Membership.Role(least)) <= rank and (where := address_of(address, study.pk))
        ]
        if links:
            tabs.append(Link(links[0].url, one.title, one.name == tab))
        if one.name == tab:
            pages = links
    return tabs, pages if len(pages) > 1 else []


def study_page(
    role: str = VIEWER, *, methods: tuple[str, ...] = ("GET", "HEAD"), people: str = ""
) -> Callable[[Page], Page]:
    """Decorate a view of one study: it receives the study if the researcher has this role in it, and responds 404
    otherwise. ``people`` is the name of a page that shows participants' data; the audit trail then records who opened
    it.
    """

    def decorate(view: Page) -> Page:
        @require_http_methods(list(methods))
        @wraps(view)
        def found(request: HttpRequest, pk: int, **rest: Any) -> HttpResponseBase:
            study = study_get_for(user=request.user, pk=int(pk), role=role, sized=True)
            mine = OWNER if request.user.is_superuser else Membership.Role(study.my_role)  # type: ignore[attr-defined]
            _roles_known(request)[study.pk] = mine
            if people and request.method == "GET":
                people_viewed(by=request.user, page=people, studies=[study])
            if not study.is_large:  # type: ignore[attr-defined]
                return view(request, study, **rest)
            if request.method == "POST":
                try:
                    return view(request, study, **rest)
                finally:
                    figures_changed(study.pk)
            try:
                with figures_kept(study.pk, limit=FIRST_SECONDS):
                    return view(request, study, **rest)
            except BeingCounted:
                return being_counted(request, study)

        return found

    return decorate


def being_counted(request: HttpRequest, study: Study) -> HttpResponse:
    """Instead of a page whose figures are counted for the first time: it opens itself again. A part of a page stays as it is."""
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204)
    page = render(request, study, "being_counted", tab="", status=202)
    page["Refresh"] = str(AGAIN_SECONDS)
    return page


def role_of(request: HttpRequest, study: Study) -> Membership.Role | None:
    """The researcher's role in the study, looked up once per request."""
    known = _roles_known(request)
    if study.pk not in known:
        known[study.pk] = study_role(user=request.user, study=study)
    return known[study.pk]


def _roles_known(request: HttpRequest) -> dict[int, Membership.Role | None]:
    """The roles that this request has looked up, by study."""
    if not hasattr(request, "study_roles"):
        request.study_roles = {}  # type: ignore[attr-defined]
    known: dict[int, Membership.Role | None] = request.study_roles  # type: ignore[attr-defined]
    return known


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
    match = request.resolver_match
    tabs, pages = tabs_of(study, tab=tab, page=match.view_name if match else "", role=role)
    whole = {
        **admin.site.each_context(request),
        "title": title or study.title,
        "study": study,
        "kind": known_hit_type(study),
        "role": role,
        "can_review": rank >= ROLES.index(REVIEWER),
        "can_edit": rank >= ROLES.index(EDITOR),
        "can_own": rank >= ROLES.index(OWNER),
        "tabs": tabs,
        "pages": pages,
        "counted_at": figures_since(),
        **context,
    }
    return TemplateResponse(request, f"admin/annotator/study_pages/{template}.html", whole, status=status)


def address_of(name: str, *args: Any) -> str:
    """The URL of a page of another application; empty if that isn't installed."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""
