"""Tells services who makes a request, and from which network, for the audit trail."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from annotator.accounts.attempts import client_address
from annotator.core.acting import API, PAGE, Acting, acting_as, network_of


class ActingMiddleware:
    """Attributes every change during a request to its user, or, once a token has been read, to the token's owner."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        who = Acting(
            via=API if request.path.startswith("/api/") else PAGE,
            address=network_of(client_address(request)),
            user=lambda: getattr(request, "user", None),
        )
        with acting_as(who):
            return self.get_response(request)
