"""A small service worker and the two pages that it stores for when the server can't be reached."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.translation import activate, get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotator.core.language import language_known, languages


@require_GET
@never_cache
def worker(request: HttpRequest) -> HttpResponse:
    """The service worker for pages in any language. It is at the root, because its scope is limited to paths below its own."""
    context = {"languages": [language.code for language in languages()], "default": settings.LANGUAGE_CODE}
    return render(request, "offline/worker.js", context, content_type="text/javascript")


@require_GET
def page(request: HttpRequest, name: str) -> HttpResponse:
    """`offline` or `away`: the same for everyone, without personal data."""
    activate(language_asked(request))  # the middleware undoes it
    return HttpResponse(render_to_string(f"errors/{name}.html"))


def language_asked(request: HttpRequest) -> str:
    """The language in the address, so that what is stored doesn't depend on when it is fetched; else the reader's."""
    return language_known(request.GET.get("language")) or get_language() or settings.LANGUAGE_CODE


@require_GET
def favicon(request: HttpRequest) -> HttpResponse:
    """The icon, for browsers that request /favicon.ico."""
    return redirect(static("icon.svg"))
