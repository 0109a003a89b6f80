"""The receipt of a request for deletion: a link that says what became of it, also once its owner's account is gone."""

from __future__ import annotations

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from annotator.models import DataRequest

_SALT = "annotator.receipt"
COOKIE = "receipt"
#: How long a browser remembers its latest request, in seconds: longer than the researchers have to answer.
KEPT_SECONDS = 90 * 24 * 3600


def receipt_path(request: DataRequest) -> str:
    """The path of a request's receipt. It holds nothing but the request's number, so it needs no login."""
    return reverse("annotator:receipt", args=[_token(request)])


def _token(request: DataRequest) -> str:
    return signing.dumps(request.pk, salt=_SALT)


def receipt_get(token: str) -> DataRequest | None:
    """The request that a receipt is for; None if the link isn't one of ours, or the study was removed."""
    try:
        pk = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return None
    return DataRequest.objects.select_related("study").filter(pk=pk).first()


def receipt_remember(response: HttpResponse, request: HttpRequest, asked: DataRequest) -> None:
    """Let this browser find the receipt without a login: a guest who was erased has no account any more."""
    response.set_cookie(
        COOKIE, _token(asked), max_age=KEPT_SECONDS, httponly=True, samesite="Lax", secure=request.is_secure()
    )


def receipt_done(request: HttpRequest) -> DataRequest | None:
    """The request that this browser sent, if the person's data and account have been removed since."""
    asked = receipt_get(request.COOKIES.get(COOKIE, ""))
    gone = asked is not None and asked.state == DataRequest.State.DONE and asked.rater_id is None
    return asked if gone else None
