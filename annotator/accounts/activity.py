"""Sessions of researchers: they end after inactivity, and their owner sees where they're logged in."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import logout
from django.contrib.sessions.models import Session
from django.db.models.signals import pre_save
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from annotator.core.acting import network_of
from annotator.models import User

#: In a researcher's session: when it began and when it was last used, in seconds since 1970.
BEGAN, USED = "began", "used"
#: The time of the last use is stored this seldom, in seconds, so that it costs no query a page.
STORED_EVERY = 300
_BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone|iPad", "iOS"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)


class ActivityMiddleware:
    """Ends a researcher's session after inactivity, and two weeks after its login in any case.

    Participants' sessions have no such times: their work is in drafts, and many have no password to come back with.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if USED in request.session:
            _use(request, timezone.now())
        return self.get_response(request)


def session_begin(request: HttpRequest, user: User) -> None:
    """Note when the session of a researcher began; called at the login."""
    if user.is_staff:
        request.session[BEGAN] = request.session[USED] = int(timezone.now().timestamp())


def _use(request: HttpRequest, now: datetime) -> None:
    at = int(now.timestamp())
    idle = at - request.session[USED]
    if (
        idle > settings.RESEARCHER_IDLE_MINUTES * 60
        or at - request.session[BEGAN] > settings.SESSION_COOKIE_AGE
    ):
        logout(request)
    elif idle > STORED_EVERY:
        request.session[USED] = at
        UserSession.objects.filter(session_key=request.session.session_key).update(last_seen_at=now)


def sessions_of(user: User) -> list[UserSession]:
    """The sessions of a person that haven't ended, newest first. Sessions without a password's login aren't listed."""
    found = UserSession.objects.purge_and_list(user)
    return sorted(found, key=lambda one: one.last_seen_at, reverse=True)


def browser_words(agent: str) -> str:
    """What a ``User-Agent`` says of browser and system, in a few words.

    >>> browser_words("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
    'Firefox on Linux'
    >>> browser_words("curl/8")
    'An unknown browser'
    """
    browser = next((name for mark, name in _BROWSERS if mark in agent), "")
    system = next((name for marks, name in _SYSTEMS if re.search(marks, agent)), "")
    return f"{browser or 'A browser'} on {system}" if system else browser or "An unknown browser"


def sessions_sweep() -> int:
    """Delete what is stored of sessions that have expired; returns how many they were."""
    live = Session.objects.filter(expire_date__gt=timezone.now())
    UserSession.objects.exclude(session_key__in=live.values("session_key")).delete()
    return Session.objects.filter(expire_date__lte=timezone.now()).delete()[0]


def _network_only(sender: Any, instance: UserSession, **_: Any) -> None:
    """Of an address only the network is kept, as in the audit trail."""
    instance.ip = (network_of(instance.ip) or "0.0.0.0").partition("/")[0]  # noqa: S104 - no address at all


def install_activity() -> None:
    """Called once when Django starts."""
    pre_save.connect(_network_only, sender=UserSession, dispatch_uid="network of a session")
