"""Who may use the API, and access to studies."""

from __future__ import annotations

from typing import Any, cast

from rest_framework import permissions
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from annotator.models import ApiToken, Membership, Study, User
from annotator.selectors.study import study_get_for

VIEWER, REVIEWER = Membership.Role.VIEWER, Membership.Role.REVIEWER
EDITOR, OWNER = Membership.Role.EDITOR, Membership.Role.OWNER


class IsResearcher(permissions.BasePermission):
    """Allows researchers, who are staff, and refuses annotators' accounts."""

    message = "This is for researchers."

    def has_permission(self, request: Request, view: Any) -> bool:
        if not (request.user and request.user.is_authenticated and request.user.is_staff):
            return False
        if isinstance(request.auth, ApiToken) and (missing := scope_missing(request.auth, request, view)):
            self.message = f"This token may not {SCOPES[missing]}. Create one with this scope."
            return False
        return True


#: The field of a token -> what it allows a program to do. ``read_scope`` and ``write_scope`` of a view name one of
#: them.
SCOPES = {
    "may_write": "change anything",
    "may_run": "start or change runs of models",
    "may_see_people": "read participants' data",
}


def scope_missing(token: ApiToken, request: Request, view: Any) -> str:
    """The scope that a request needs and the token doesn't have; empty if it has all of them."""
    reads = request.method in permissions.SAFE_METHODS
    name = getattr(view, "read_scope", "") if reads else getattr(view, "write_scope", "may_write")
    return "" if not name or getattr(token, name) else name


def people_shown(request: Request) -> None:
    """Refuse a token without ``may_see_people`` where a change's reply names participants. Raises ``PermissionDenied``."""
    if isinstance(request.auth, ApiToken) and not request.auth.may_see_people:
        raise PermissionDenied(f"This token may not {SCOPES['may_see_people']}. Create one with this scope.")


def person(request: Request) -> User:
    """The calling user; only after ``IsResearcher`` has checked them."""
    return cast(User, request.user)


def study_of(request: Request, slug: str, role: str = VIEWER) -> Study:
    """The study with that slug, if the caller has this role in it; else not found (404)."""
    return study_get_for(user=request.user, slug=slug, role=role)
