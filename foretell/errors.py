"""The replies to errors: pages for people, JSON below ``/api/``, 503 while Postgres is unavailable."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable

from django.core.paginator import InvalidPage
from django.db import DataError, InterfaceError, InternalError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, JsonResponse
from django.template.loader import render_to_string

from annotator.web.views import errors as pages

log = logging.getLogger(__name__)
RETRY_SECONDS = 5
#: SQLSTATE classes of errors that go away: connection, resources (a full disk among them), operator intervention
#: (a restart), deadlock or serialization.
TEMPORARY = ("08", "53", "57", "40")
#: "Program limit exceeded": the input is too complex.
TOO_COMPLEX = "54"


def is_unavailable(error: BaseException | None) -> bool:
    """Whether the cause is that Postgres can't be reached or can't work now, so that a retry makes sense."""
    if isinstance(error, InterfaceError):
        return True
    if isinstance(error, InternalError):
        # Not Postgres's, which have a SQLSTATE: the driver can't make sense of what a pooler said when its server went away.
        return getattr(error.__cause__, "sqlstate", None) is None
    if not isinstance(error, OperationalError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(TEMPORARY)


def is_too_complex(error: BaseException | None) -> bool:
    """Whether the input is nested deeper than Python or Postgres can read."""
    state = getattr(getattr(error, "__cause__", None), "sqlstate", None) or ""
    return isinstance(error, RecursionError) or state.startswith(TOO_COMPLEX)


def has_nul(error: BaseException) -> bool:
    """Whether a text that was sent contains a NUL character, which Postgres can't store.

    Told by the message, because psycopg raises plain ``ValueError`` and ``DataError``; a test sends such texts.
    """
    return isinstance(error, ValueError | DataError) and "NUL (0x00)" in str(error)


def has_endless_number(error: BaseException) -> bool:
    """Whether a whole number that was sent, such as one in JSON, has more digits than Python converts (4,300).

    Told by the message, because Python raises a plain ``ValueError``; a test sends such a number.
    """
    return isinstance(error, ValueError) and "integer string conversion" in str(error)


def is_impossible_filter(error: BaseException) -> bool:
    """Whether a list of the admin failed on a value of its address, such as ``?created_at__year=99999``.

    The admin checks values when it builds a query; some fail only when the query runs.
    """
    if not isinstance(error, ValueError | OverflowError | DataError):
        return False
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__") == "django.contrib.admin.views.main" for frame, _ in frames)


def is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if is_api(request):
        return JsonResponse({"detail": "Not found."}, status=404)
    return pages.not_found(request, exception)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if is_api(request):
        detail = str(exception or "Bad request.")
        return JsonResponse({"detail": detail, "errors": {"address": [detail]}}, status=400)
    return pages.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django calls this while it handles the exception, also for one raised by middleware."""
    if is_unavailable(sys.exc_info()[1]):
        return unavailable(request)
    if is_api(request):
        return JsonResponse({"detail": "Internal error. It has been logged."}, status=500)
    return pages.broken(request)


def unavailable(request: HttpRequest) -> HttpResponse:
    if is_api(request):
        response: HttpResponse = JsonResponse(
            {"detail": "The database is unavailable. Try again."}, status=503
        )
    else:
        response = HttpResponse(render_to_string("errors/away.html"), status=503)
    response["Retry-After"] = str(RETRY_SECONDS)
    response["Cache-Control"] = "no-store"
    return response


class BadRequestMiddleware:
    """Replies to requests that no view can handle: 400 for NUL characters or impossible filters in the address and for input
    nested too deeply, 404 for a page of a list that isn't there."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Postgres can't store NUL, so no row has it; a query with it is an error.
        if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            return bad_request(request, ValueError("The address contains a NUL character (%00)."))
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if request.GET and is_impossible_filter(exception):
            # The admin does the same with filters that it recognises as impossible.
            return HttpResponseRedirect(f"{request.path}?e=1")
        if isinstance(exception, InvalidPage):
            return not_found(request)
        if has_nul(exception):
            return bad_request(request, ValueError("The input contains a NUL character (\\0)."))
        if has_endless_number(exception):
            return bad_request(request, ValueError("A number in the input has too many digits."))
        if not is_too_complex(exception) or request.method in ("GET", "HEAD"):
            return None
        log.warning(
            "input is nested too deeply: %s %s", request.method, request.path_info, exc_info=exception
        )
        return bad_request(request, ValueError("The input is nested too deeply."))
