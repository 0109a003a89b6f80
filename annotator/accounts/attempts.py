"""The login throttle: attempts to log in and requests for reset links, counted in Postgres, so that they survive a
flush of Redis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotator.models import LoginAttempt


@dataclass(frozen=True)
class Limit:
    """At most ``most`` attempts in ``minutes``, grouped by ``key_fields``."""

    key_fields: tuple[str, ...]
    most: int
    minutes: int


#: A person who mistypes stays far below the first limit, and a class behind one address below the second. The third
#: stops many machines that try one account together.
LIMITS = {
    LoginAttempt.Kind.LOGIN: (
        Limit(("account", "address"), 10, 15),
        Limit(("address",), 100, 15),
        Limit(("account",), 100, 60),
    ),
    LoginAttempt.Kind.RESET: (Limit(("address",), 10, 60),),
    LoginAttempt.Kind.MAIL: (Limit(("account",), 3, 60),),
    # New accounts, with a password or without: each could hold a place and take the exam. ``account`` is the study.
    LoginAttempt.Kind.JOIN: (Limit(("address",), settings.JOINS_PER_ADDRESS, 60),),
}
KEPT = timedelta(days=1)


def client_address(request: HttpRequest) -> str:
    """The address that a request comes from.

    Only the part of ``X-Forwarded-For`` that our own proxies wrote is used (``PROXIES`` of them, from the right).
    What a client writes there has no effect.
    """
    forwarded = [
        part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()
    ]
    if settings.PROXIES and forwarded:
        return str(forwarded[-min(settings.PROXIES, len(forwarded))])
    return str(request.META.get("REMOTE_ADDR", ""))


def attempt_count(
    *, kind: str, account: str = "", address: str = "", limits: Sequence[Limit] = ()
) -> LoginAttempt | None:
    """Count an attempt. Returns None if a limit is reached; the attempt is then not counted, so that the wait ends.

    ``limits`` apply in addition to those of the kind.

    Counted before the password is checked, so that concurrent attempts see each other.
    """
    mine = LoginAttempt.objects.create(
        kind=kind, account=_digest(account.strip().casefold()), address=_digest(address), at=timezone.now()
    )
    for limit in (*LIMITS[LoginAttempt.Kind(kind)], *limits):
        alike = Q(**{name: getattr(mine, name) for name in limit.key_fields})
        since = mine.at - timedelta(minutes=limit.minutes)
        if LoginAttempt.objects.filter(alike, kind=kind, at__gt=since).count() > limit.most:
            mine.delete()
            return None
    return mine


def attempts_forget(*, account: str, address: str) -> None:
    """Clear the failed attempts at this account from this address, after a successful login."""
    LoginAttempt.objects.filter(
        kind=LoginAttempt.Kind.LOGIN, account=_digest(account.strip().casefold()), address=_digest(address)
    ).delete()


def attempts_sweep() -> int:
    """Delete attempts that are too old to count; returns how many."""
    return LoginAttempt.objects.filter(at__lt=timezone.now() - KEPT).delete()[0]


def _digest(text: str) -> str:
    return salted_hmac("annotator.login_attempt", text, algorithm="sha256").hexdigest()
