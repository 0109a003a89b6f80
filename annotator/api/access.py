"""Who may use the API, and how a study is reached."""

from __future__ import annotations

from typing import Any, cast

from rest_framework import permissions
from rest_framework.request import Request

from annotator.models import ApiToken, Membership, Study, User
from annotator.selectors.study import study_get_for

VIEWER, REVIEWER = Membership.Role.VIEWER, Membership.Role.REVIEWER
EDITOR, OWNER = Membership.Role.EDITOR, Membership.Role.OWNER


class IsResearcher(permissions.BasePermission):
    """Researchers are staff; annotators' log-ins have no business here."""

    message = "This is for researchers."

    def has_permission(self, request: Request, view: Any) -> bool:
        if not (request.user and request.user.is_authenticated and request.user.is_staff):
            return False
        if isinstance(request.auth, ApiToken) and not request.auth.may_write:
            self.message = "This token can only read."
            return request.method in permissions.SAFE_METHODS
        return True


def person(request: Request) -> User:
    """Who asks; only after ``IsResearcher`` has let them in."""
    return cast(User, request.user)


def study_of(request: Request, slug: str, role: str = VIEWER) -> Study:
    """The study of that slug that the caller may reach in this role; else not found (404)."""
    return study_get_for(user=request.user, slug=slug, role=role)
