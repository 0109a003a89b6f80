"""Secrets that the database holds encrypted, with a key derived from ``SECRET_KEY`` for each purpose."""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class Unreadable(ValueError):
    """None of the configured secret keys can decrypt the secret."""


def seal(text: str, *, purpose: str) -> str:
    """``text``, encrypted with the newest secret key; only ``unseal`` with the same ``purpose`` can read it."""
    return _fernets(purpose)[0].encrypt(text.encode()).decode()


def unseal(sealed: str, *, purpose: str) -> str:
    """The text that was sealed, also with an earlier key in ``SECRET_KEY_FALLBACKS``. Raises ``Unreadable``."""
    try:
        return MultiFernet(_fernets(purpose)).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unreadable("put the earlier SECRET_KEY into SECRET_KEY_FALLBACKS") from None


def resealed(sealed: str, *, purpose: str) -> str:
    """The secret sealed with the newest key; the same text if it was already. Raises ``Unreadable``."""
    try:
        _fernets(purpose)[0].decrypt(sealed.encode())
    except InvalidToken:
        return seal(unseal(sealed, purpose=purpose), purpose=purpose)
    return sealed


def _fernets(purpose: str) -> list[Fernet]:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [Fernet(_derived(key, purpose)) for key in keys]


def _derived(key: str, purpose: str) -> bytes:
    made = HKDF(SHA256(), 32, salt=None, info=f"annotator {purpose}".encode()).derive(key.encode())
    return base64.urlsafe_b64encode(made)
