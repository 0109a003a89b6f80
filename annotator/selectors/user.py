"""Who is asking."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from rest_framework.request import Request

from annotator.models import User


def user_of(request: HttpRequest | Request) -> User:
    """The person who is logged in; raises ``PermissionDenied`` when nobody is.

    Pages that call it let nobody else in anyway; this says so to the type checker and holds if one forgets.
    """
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user
