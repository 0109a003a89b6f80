"""A personal link back in, for people who joined without an account."""

from __future__ import annotations

from django.core import signing
from django.urls import reverse
from django.utils.crypto import salted_hmac

from annotator.models import User

_SALT = "annotator.return_link"


def return_path(user: User) -> str:
    """The path of a person's link; empty for people with a password, who log in instead.

    The link works until a password is set. Treat it like a password: show it to its owner only.
    """
    if user.is_staff or user.has_usable_password():
        return ""
    token = signing.dumps([user.pk, _state(user)], salt=_SALT)
    return reverse("annotator:return", args=[token])


def return_user(token: str) -> User | None:
    """The user that a personal link belongs to; None if it no longer works."""
    try:
        pk, state = signing.loads(token, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    user = User.objects.filter(pk=pk, is_active=True, is_staff=False).first()
    if user is None or user.has_usable_password() or state != _state(user):
        return None
    return user


def _state(user: User) -> str:
    """A value that changes when a password is set."""
    return salted_hmac(_SALT, user.password, algorithm="sha256").hexdigest()[:20]
