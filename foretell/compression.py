"""Compress pages, but none that repeat what a request sent.

BREACH reads a secret of a page from the length of its compressed replies, if the same page repeats text that the attacker
chooses. So only what nobody can put a text into from outside is compressed: a page (HTML, status 200) that this site itself
or the address bar asked for, with GET and without a query. Forms that come back with errors, searches and anything that
another site links to are sent as they are. Besides, Django masks the CSRF token anew in each reply, and
``GZipMiddleware`` adds up to 100 random bytes.
"""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class PageCompressionMiddleware(GZipMiddleware):
    """gzip, which every browser reads and Python has; zstd would save another tenth and need a package."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not _compressible(request, response):
            return response
        return super().process_response(request, response)


def _compressible(request: HttpRequest, response: HttpResponseBase) -> bool:
    return (
        request.method == "GET"
        and not request.META.get("QUERY_STRING")
        and request.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
        and response.status_code == 200
        and response.headers.get("Content-Type", "").startswith("text/html")
    )
