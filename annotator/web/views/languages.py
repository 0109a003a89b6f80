"""The page and the menu where people choose the language of all pages."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.core.language import language_known
from annotator.models import User
from annotator.services.account import account_language_set
from annotator.web.views.common import safe_url

YEAR_SECONDS = 365 * 24 * 3600


@never_cache
@require_http_methods(["GET", "POST"])
def choose(request: HttpRequest) -> HttpResponse:
    """Choose the language. It is stored in this browser and, for people who are logged in, in their account.

    Then the person returns to the page they came from. Leaving a task's page saves its answers as a draft.
    """
    back = safe_url(request, request.POST.get("next") or came_from(request), reverse("annotator:home"))
    if request.method != "POST":
        return render(request, "annotator/language.html", {"next": back})
    response = redirect(back)
    if code := language_known(request.POST.get("language")):
        if isinstance(request.user, User):
            account_language_set(user=request.user, language=code)
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            code,
            max_age=YEAR_SECONDS,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


def came_from(request: HttpRequest) -> str:
    """The page on this site that the person was on; empty if it is not known, or is this one."""
    parts = urlsplit(request.headers.get("Referer", ""))
    if parts.netloc != request.get_host() or parts.path == request.path:
        return ""
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
