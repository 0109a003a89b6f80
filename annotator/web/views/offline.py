"""What a browser shows without us: a small service worker and the two pages that it keeps for that time."""

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
    """The service worker; at the root, since it may only look after what lies below its own address."""
    return render(request, "offline/worker.js", content_type="text/javascript")


@require_GET
def page(request: HttpRequest, name: str) -> HttpResponse:
    """`offline` or `away`: the same for everybody, with nothing of anybody in it."""
    return HttpResponse(render_to_string(f"errors/{name}.html"))


@require_GET
def favicon(request: HttpRequest) -> HttpResponse:
    """The icon, for browsers that ask at the old address."""
    return redirect(static("icon.svg"))
