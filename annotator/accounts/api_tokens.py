"""Authentication of programs by API token."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from rest_framework.authentication import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed

from annotator.accounts.second_factor import REQUIRED, second_factor_missing
from annotator.models import ApiToken, User

_NOTED_AFTER = timedelta(hours=1)


def token_digest(token: str) -> str:
    """The form in which a token is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def password_state(user: User) -> str:
    """A value that changes with the password, so that a new password ends the user's tokens."""
    return salted_hmac("annotator.api_token", user.password, algorithm="sha256").hexdigest()[:20]


def token_works(token: ApiToken) -> bool:
    """Whether a token has neither expired nor been ended by a new password."""
    return token.expires_at > timezone.now() and token.password_state in ("", password_state(token.user))


class ApiTokenAuthentication(TokenAuthentication):
    """``Authorization: Token ...``"""

    def authenticate_credentials(self, key: str) -> tuple[User, ApiToken]:
        now = timezone.now()
        token = ApiToken.objects.select_related("user").filter(digest=token_digest(key)).first()
        if token is None or not token.user.is_active or not token_works(token):
            raise AuthenticationFailed(
                "This token doesn't exist, has expired, or was ended by a new password. Create another one."
            )
        if second_factor_missing(token.user):
            raise AuthenticationFailed(REQUIRED)
        # Not on every request: otherwise a program that reads a lot would also write a lot.
        if token.last_used_at is None or token.last_used_at < now - _NOTED_AFTER:
            unused = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - _NOTED_AFTER)
            ApiToken.objects.filter(unused, pk=token.pk).update(last_used_at=now)
        return token.user, token
