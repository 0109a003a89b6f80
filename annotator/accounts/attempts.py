"""Guessing is made slow: tries at a password and wishes for a reset are counted in Postgres, which no flush empties."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotator.models import Knock


@dataclass(frozen=True)
class Limit:
    """At most ``most`` knocks in ``minutes`` by those that are alike in ``same``."""

    same: tuple[str, ...]
    most: int
    minutes: int


#: One person mistyping stays far below the first; a whole class behind one address below the second; and the third
#: is what many machines together may try at one account.
LIMITS = {
    Knock.Kind.LOGIN: (
        Limit(("account", "address"), 10, 15),
        Limit(("address",), 100, 15),
        Limit(("account",), 100, 60),
    ),
    Knock.Kind.RESET: (Limit(("address",), 10, 60),),
    Knock.Kind.MAIL: (Limit(("account",), 3, 60),),
}
KEPT = timedelta(days=1)


def client_address(request: HttpRequest) -> str:
    """Where a request comes from.

    ``X-Forwarded-For`` is believed only as far as our own proxies wrote it (``PROXIES`` of them, from the right):
    what a client writes there itself changes nothing.
    """
    forwarded = [
        part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()
    ]
    if settings.PROXIES and forwarded:
        return str(forwarded[-min(settings.PROXIES, len(forwarded))])
    return str(request.META.get("REMOTE_ADDR", ""))


def knock(*, kind: str, account: str = "", address: str = "") -> Knock | None:
    """Count a try; None where it is one too many (which itself does not count, so that the wait has an end).

    Counted before the try is made, so that many at the same moment see each other.
    """
    mine = Knock.objects.create(
        kind=kind, account=_digest(account.strip().casefold()), address=_digest(address), at=timezone.now()
    )
    for limit in LIMITS[Knock.Kind(kind)]:
        alike = Q(**{name: getattr(mine, name) for name in limit.same})
        since = mine.at - timedelta(minutes=limit.minutes)
        if Knock.objects.filter(alike, kind=kind, at__gt=since).count() > limit.most:
            mine.delete()
            return None
    return mine


def knocks_forget(*, account: str, address: str) -> None:
    """The right password was given: earlier tries at this account from this address no longer count."""
    Knock.objects.filter(
        kind=Knock.Kind.LOGIN, account=_digest(account.strip().casefold()), address=_digest(address)
    ).delete()


def knocks_sweep() -> int:
    """Delete what is too old to count; returns how many."""
    return Knock.objects.filter(at__lt=timezone.now() - KEPT).delete()[0]


def _digest(text: str) -> str:
    return salted_hmac("annotator.knock", text, algorithm="sha256").hexdigest()
