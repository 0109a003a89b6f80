"""Stops the emails about studies by the link in each of them, without a login."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from annotator.services.notices import notice_link_known, notices_stop
from annotator.web.views.common import trouble


@csrf_exempt  # mail programs send the form by themselves (RFC 8058); the signed link says whose emails stop, and nothing else
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: HttpRequest, token: str) -> HttpResponse:
    """Ask before the emails stop, because programs that check mail open its links; a POST stops them."""
    if not notice_link_known(token):
        return trouble(request, "link")
    stopped = request.method == "POST" and notices_stop(token)
    return render(request, "annotator/no_emails.html", {"stopped": stopped})
