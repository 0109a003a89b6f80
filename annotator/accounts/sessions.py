"""The user of each request: Django's own sessions and logins in Postgres, read with prepared queries."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, login
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.models import Session
from django.db.models import Value
from django.db.models.functions import Lower
from django.http import HttpRequest
from django.utils import timezone

from annotator.accounts.activity import session_begin
from annotator.core.prepared import Prepared
from annotator.models import User

log = logging.getLogger(__name__)

_SESSION = Prepared(
    lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now),
    "key",
    datetime(2000, 1, 1, tzinfo=UTC),
)
_USER = Prepared(lambda pk: User.objects.filter(pk=pk), -1)


#: The backend's path in this version and in earlier ones, so that an upgrade logs nobody out. People without a
#: password would have no way back in.
BACKEND = "annotator.accounts.sessions.LoginBackend"
FORMER_BACKENDS = ("annotator.sessions.LoginBackend",)
#: Sessions of people without a password last as long as browsers keep a cookie.
GUEST_SECONDS = 400 * 24 * 3600


class SessionStore(DatabaseStore):
    def load(self) -> dict[str, Any]:
        data = super().load()
        if data.get(BACKEND_SESSION_KEY) in FORMER_BACKENDS:
            data[BACKEND_SESSION_KEY] = BACKEND
        return data

    def _get_session_from_db(self) -> Session | None:
        found = _SESSION.first(self.session_key, timezone.now())
        if found is None:
            self._session_key = None
        return found


def username_find(username: str) -> str:
    """The stored username that differs from this one only in case, or else this one."""
    same = User.objects.alias(lower=Lower("username")).filter(lower=Lower(Value(username)))
    return same.values_list("username", flat=True).first() or username


class LoginBackend(ModelBackend):
    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **fields: Any,
    ) -> User | None:
        """Usernames are matched regardless of case: phones capitalise the first letter."""
        username = username or fields.pop(User.USERNAME_FIELD, None)
        found = username_find(username) if username else username
        return super().authenticate(request, username=found, password=password, **fields)

    def get_user(self, user_id: int) -> User | None:
        user = _USER.first(user_id)
        return user if user is not None and self.user_can_authenticate(user) else None

    def user_can_authenticate(self, user: User | AnonymousUser | None) -> bool:
        """As in Django, except that demo accounts are refused in production: their passwords were printed on a
        terminal."""
        if settings.PRODUCTION and isinstance(user, User) and user.demo:
            log.error("demo account %s was refused: demo accounts are disabled in production", user)
            return False
        return bool(super().user_can_authenticate(user))


def person_log_in(request: HttpRequest, user: User) -> None:
    """Start a session; a longer one for people without a password, who couldn't start another."""
    login(request, user, backend=BACKEND)
    session_begin(request, user)
    if not user.has_usable_password():
        request.session.set_expiry(GUEST_SECONDS)
