"""API tokens: made, recognised, ended."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from rest_framework.authentication import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed

from annotator.models import ApiToken, User

DAYS = 365
_NOTED_AFTER = timedelta(hours=1)


def api_token_make(*, user: User, may_write: bool = True, days: int = DAYS) -> str:
    """A new token for a researcher's programs; it can't be shown again, since only its digest is kept.

    It ends after ``days``, when it is revoked, and when the user's password changes.
    """
    token = secrets.token_hex(20)
    ApiToken.objects.create(
        user=user,
        digest=token_digest(token),
        may_write=may_write,
        password_state=_password_state(user),
        expires_at=timezone.now() + timedelta(days=days),
    )
    return token


def token_digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _password_state(user: User) -> str:
    return salted_hmac("annotator.api_token", user.password, algorithm="sha256").hexdigest()[:20]


class ApiTokenAuthentication(TokenAuthentication):
    """``Authorization: Token ...``"""

    def authenticate_credentials(self, key: str) -> tuple[User, ApiToken]:
        now = timezone.now()
        token = (
            ApiToken.objects.select_related("user")
            .filter(digest=token_digest(key), expires_at__gt=now, user__is_active=True)
            .first()
        )
        if token is None or token.password_state not in ("", _password_state(token.user)):
            raise AuthenticationFailed(
                "This token doesn't exist, has expired, or was ended by a new password. Create another one."
            )
        # Not on every request: a program that reads a lot would write as much.
        unused = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - _NOTED_AFTER)
        ApiToken.objects.filter(unused, pk=token.pk).update(last_used_at=now)
        return token.user, token
