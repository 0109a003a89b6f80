"""A small service worker and the two pages that it stores for when the server can't be reached."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET


@require_GET
@never_cache
def worker(request: HttpRequest) -> HttpResponse:
    """The service worker. It is served from the root, because its scope is limited to paths below its own."""
    return render(request, "offline/worker.js", content_type="text/javascript")


@require_GET
def page(request: HttpRequest, name: str) -> HttpResponse:
    """`offline` or `away`: the same for everyone, without personal data."""
    return HttpResponse(render_to_string(f"errors/{name}.html"))


@require_GET
def favicon(request: HttpRequest) -> HttpResponse:
    """The icon, for browsers that request /favicon.ico."""
    return redirect(static("icon.svg"))
