"""Keys of endpoints: encrypted at rest, bound to the host they were given for, never shown or logged."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from annotator.core.outgoing.hosts import Origin


class KeyRefused(ValueError):
    """No key may be sent to this host; the message says why, without the key."""


def _fernet(secrets: Iterable[str]) -> MultiFernet:
    boxes = []
    for secret in secrets:
        derived = HKDF(hashes.SHA256(), 32, salt=None, info=b"foretell endpoint keys").derive(secret.encode())
        boxes.append(Fernet(base64.urlsafe_b64encode(derived)))
    return MultiFernet(boxes)


def key_seal(*, key: str, origin: Origin, secrets: Iterable[str]) -> bytes:
    """Encrypt a key together with the origin that it may be sent to. ``secrets``: the newest first."""
    return _fernet(secrets).encrypt(json.dumps({"key": key, "origin": str(origin)}).encode())


def key_open(*, sealed: bytes, origin: Origin, secrets: Iterable[str]) -> str:
    """Decrypt a key that was entered for exactly this origin; otherwise raises ``KeyRefused``.

    >>> there = Origin("https", "api.example.com", 443)
    >>> sealed = key_seal(key="sk-1", origin=there, secrets=["s"])
    >>> key_open(sealed=sealed, origin=there, secrets=["s"])
    'sk-1'
    >>> key_open(sealed=sealed, origin=Origin("https", "evil.example", 443), secrets=["s"])
    Traceback (most recent call last):
    ...
    evaluation.providers.keys.KeyRefused: the stored key was given for another address; enter it again
    """
    try:
        content = json.loads(_fernet(secrets).decrypt(bytes(sealed)))
    except InvalidToken:
        raise KeyRefused("the stored key cannot be read with this secret key; enter it again") from None
    if content["origin"] != str(origin):
        raise KeyRefused("the stored key was given for another address; enter it again")
    return str(content["key"])


def key_reseal(*, sealed: bytes, secrets: list[str]) -> bytes | None:
    """The same key encrypted with the newest secret; None if it already is. Raises ``KeyRefused`` if no secret can decrypt it.

    >>> there = Origin("https", "api.example.com", 443)
    >>> old = key_seal(key="sk-1", origin=there, secrets=["old"])
    >>> new = key_reseal(sealed=old, secrets=["new", "old"])
    >>> key_open(sealed=new, origin=there, secrets=["new"])
    'sk-1'
    >>> key_reseal(sealed=new, secrets=["new", "old"]) is None
    True
    """
    try:
        _fernet(secrets[:1]).decrypt(bytes(sealed))
    except InvalidToken:
        pass
    else:
        return None
    try:
        return _fernet(secrets).rotate(bytes(sealed))
    except InvalidToken:
        raise KeyRefused("the stored key cannot be read with this secret key; enter it again") from None


def key_from_variable(*, variable: str, origin: Origin, known: Mapping[str, tuple[str, str]]) -> str:
    """The key in an environment variable. ``known``: variable -> (host it may be sent to, value). Only variables that
    the operator has bound to a host can be used, so that the server's other secrets can't be sent anywhere.
    """
    if variable not in known:
        raise KeyRefused(f"{variable} is not among the variables that the operator offers (LLM_KEYS)")
    host, value = known[variable]
    if host not in (origin.host, f"{origin.host}:{origin.port}"):
        raise KeyRefused(f"{variable} may only be sent to {host}")
    if not value:
        raise KeyRefused(f"{variable} is empty")
    return value
