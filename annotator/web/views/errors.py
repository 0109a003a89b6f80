"""Error pages: what happened, what it means for the pay, what to do now. The 500 page depends on nothing else.

Researchers' pages say nothing about pay. Programs that use the API get the same as JSON.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string


def _for_program(request: HttpRequest, detail: str, status: int) -> HttpResponse | None:
    return JsonResponse({"detail": detail}, status=status) if request.path.startswith("/api/") else None


#: Below these, only researchers have pages.
RESEARCHERS = ("/admin/", "/studies/", "/reports/", "/preview/")


def _page(request: HttpRequest, name: str, status: int) -> HttpResponse:
    context = {"researcher": request.path.startswith(RESEARCHERS)}
    return render(request, f"errors/{name}.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _for_program(request, "Bad request.", 400) or _page(request, "400", 400)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _for_program(request, "Not allowed.", 403) or _page(request, "403", 403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _for_program(request, "Not found.", 404) or _page(request, "404", 404)


def broken(request: HttpRequest) -> HttpResponse:
    """The page for error 500. Rendered without the request, since whatever failed may fail again."""
    return _for_program(request, "The server failed. Try again.", 500) or HttpResponse(
        render_to_string("errors/500.html", {"researcher": request.path.startswith(RESEARCHERS)}), status=500
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page's CSRF token is too old, or the browser blocks cookies."""
    return _page(request, "403_csrf", 403)
