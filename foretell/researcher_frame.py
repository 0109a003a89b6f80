"""The frame of researchers' pages that aren't the admin's own: reports, two-factor login, sessions, API documentation."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

#: Namespaces, and names of pages outside them, that researchers see in the frame with the sidebar.
NAMESPACES = ("evaluation",)
PAGES = ("mfa_", "socialaccount_connections", "account_reauthenticate", "annotator:sessions", "api:docs")
RESEARCHERS, OTHERS = "researcher.html", "annotator/_page.html"


def researcher_frame(request: HttpRequest) -> dict[str, Any]:
    """A context processor: ``frame`` is the template that a page extends, with what the sidebar needs.

    People who aren't researchers, or haven't logged in yet, get the frame of annotators' pages.
    """
    match = getattr(request, "resolver_match", None)
    user = getattr(request, "user", None)
    framed = match is not None and (match.namespace in NAMESPACES or str(match.view_name).startswith(PAGES))
    if not framed or user is None or not (user.is_active and user.is_staff):
        return {"frame": OTHERS}
    return {**admin.site.each_context(request), "frame": RESEARCHERS}
