"""The receipt of a request for deletion; see ``annotator.accounts.receipt``."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotator.accounts.receipt import receipt_get
from annotator.models import Study
from annotator.web.language import study_language_use
from annotator.web.views.common import trouble


@never_cache
@require_GET
def receipt(request: HttpRequest, token: str) -> HttpResponse:
    """What became of a request, for whoever has its link. It says nothing about the person."""
    asked = receipt_get(token)
    if asked is None:
        return trouble(request, "link")
    study_language_use(request, asked.study)
    deletes = asked.study.erasure_policy == Study.ErasurePolicy.DELETE
    return render(request, "annotator/receipt.html", {"asked": asked, "deletes": deletes})
