"""Pseudonyms of raters. Each release has its own key, so the same person has another pseudonym in every release."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

#: Letters and digits that can't be mistaken for one another.
_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
LENGTH = 8


def key_make() -> str:
    """A new key of 256 random bits, as text."""
    return secrets.token_hex(32)


def pseudonym(key: str, rater_pk: int) -> str:
    """A rater's pseudonym: eight characters of the HMAC-SHA-256 of the rater's id.

    Without the key it can't be traced to the rater, or matched with a pseudonym made with another key.

    >>> pseudonym("one key", 7), pseudonym("another key", 7)
    ('rater-9juqwk9s', 'rater-4ucdf7hv')
    """
    number = int.from_bytes(_mac(key, rater_pk), "big")
    found = ""
    for _ in range(LENGTH):
        number, place = divmod(number, len(_ALPHABET))
        found += _ALPHABET[place]
    return f"rater-{found}"


def pseudonyms(key: str, rater_pks: Iterable[int]) -> dict[int, str]:
    """Rater id -> pseudonym, in the order of the pseudonyms, which says nothing about when anyone joined.

    Two raters of one release never share a pseudonym: the second one's has a number added.
    """
    found: dict[int, str] = {}
    used: set[str] = set()
    for pk in sorted(rater_pks, key=lambda pk: _mac(key, pk)):
        name, number = pseudonym(key, pk), 1
        while name in used:
            number += 1
            name = f"{pseudonym(key, pk)}-{number}"
        used.add(name)
        found[pk] = name
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def source_imported(source: str, mark: str) -> str:
    """The source of a rater who comes from a release; ``mark`` distinguishes releases with the same pseudonyms.

    >>> source_imported("release", "3f2a"), source_released("release @3f2a"), source_released("login")
    ('release @3f2a', 'release', 'login')
    """
    return f"{source[:80]} @{mark}"


def source_released(source: str) -> str:
    """The source as the release had it, where the rater comes from one."""
    return source.partition(" @")[0]


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """JSON in which every text that is a name has become its pseudonym. Names inside longer texts stay.

    >>> renamed({"head": ["anna", "ben"], "n": 3}, {"anna": "rater-2", "be": "rater-3"})
    {'head': ['rater-2', 'ben'], 'n': 3}
    """
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        return {name: renamed(one, names) for name, one in value.items()}
    return [renamed(one, names) for one in value] if isinstance(value, list | tuple) else value


def _mac(key: str, pk: int) -> bytes:
    return hmac.new(key.encode(), str(pk).encode(), sha256).digest()
