"""The user of a request."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from rest_framework.request import Request

from annotator.models import User


def user_of(request: HttpRequest | Request) -> User:
    """The logged-in user; raises ``PermissionDenied`` if there is none. Pages that call it require a login anyway; this
    narrows the type, and is a safeguard if one forgets to.
    """
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def sees_people(request: HttpRequest | Request) -> bool:
    """Whether a reply of the API may contain participants' names, ids and answers: on pages it may, with a token only if that has the
    scope."""
    auth = getattr(request, "auth", None)
    return bool(getattr(auth, "may_see_people", True))
