"""Passwords that are known from data breaches, compared with a list that comes with Foretell."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

#: Sorted digests of the passwords among the million most frequent of a public collection of ten million leaked ones that have at
#: least 10 characters and not only digits: OWASP SecLists, 10_million_password_list_top_1M, CC BY-SA 3.0.
#: ``deploy/breached-passwords`` makes it.
LIST = Path(__file__).with_name("breached_passwords.bin")
#: Bytes of a digest: one password in ten million is refused by mistake.
BYTES = 5


def digest(password: str) -> bytes:
    """The digest by which the list is sorted; capitals make no difference."""
    return hashlib.sha256(password.casefold().encode("utf-8", "surrogatepass")).digest()[:BYTES]


def is_breached(password: str) -> bool:
    """Whether the list has this password. It's read from the disk in 18 steps, and takes no memory.

    >>> is_breached("Qwertyuiop"), is_breached("owls-see-at-night")
    (True, False)
    """
    wanted = digest(password)
    with LIST.open("rb") as file:
        low, high = 0, file.seek(0, 2) // BYTES
        while low < high:
            middle = (low + high) // 2
            file.seek(middle * BYTES)
            found = file.read(BYTES)
            if found == wanted:
                return True
            low, high = (middle + 1, high) if found < wanted else (low, middle)
    return False


class BreachedPasswordValidator:
    """Refuses passwords that are known from data breaches."""

    def validate(self, password: str, user: Any = None) -> None:
        if is_breached(password):
            raise ValidationError(
                _("This password is known from a data breach. Choose another one."), code="password_breached"
            )

    def get_help_text(self) -> str:
        return _("Your password can't be one that is known from a data breach.")
