"""Keep pages out of the caches of browsers and proxies."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import add_never_cache_headers


class NoStoreMiddleware:
    """Adds ``Cache-Control: no-store`` and the like to every reply whose view says nothing about caching.

    Replies of the API, downloads of personal data and the pages of other packages are as private as ours: on a shared computer, nobody
    should find them with the back button after a logout. Static files are served before this middleware.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not response.has_header("Cache-Control"):
            add_never_cache_headers(response)
        return response
