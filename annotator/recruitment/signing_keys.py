"""The public keys with which a panel signs its links: fetched once a day, and when a link names a key that is new."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt

from annotator.core.tls import tls_context
from annotator.recruitment.identity import LinkRefused, PanelUnavailable

log = logging.getLogger(__name__)

#: Seconds: how long keys are used before they are fetched again, and the least time between two fetches.
KEPT, AT_LEAST_BETWEEN = 24 * 3600, 60
LARGEST = 100_000
ALGORITHMS = ("RS256", "ES256")


@dataclass
class SigningKeys:
    """The keys at one address, kept in this process. If they can't be fetched again, the last ones stay in use.

    ``clock`` returns seconds; tests replace it.
    """

    url: str
    clock: Callable[[], float] = time.monotonic
    _keys: dict[str, jwt.PyJWK] = field(default_factory=dict)
    _fetched: float | None = None
    _asked: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, kid: str) -> jwt.PyJWK:
        """The key with this id. Raises ``LinkRefused`` if the panel has none, ``PanelUnavailable`` if no key could be
        fetched yet.
        """
        found = self._keys.get(kid)
        if found is None or self._old():
            with self._lock:  # others wait for the fetch instead of sending their own
                if (self._keys.get(kid) is None or self._old()) and self._may_ask():
                    self._fetch()
            found = self._keys.get(kid)
        if found is None:
            if self._fetched is None:
                raise PanelUnavailable(f"the keys at {self.url} could not be fetched")
            raise LinkRefused("it is signed with an unknown key")
        return found

    def _old(self) -> bool:
        return self._fetched is None or self.clock() - self._fetched > KEPT

    def _may_ask(self) -> bool:
        """Links with made-up key ids must not make the server send requests all the time."""
        return self._asked is None or self.clock() - self._asked > AT_LEAST_BETWEEN

    def _fetch(self) -> None:
        self._asked = self.clock()
        try:
            self._keys = _read(_download(self.url))
        except (httpx2.HTTPError, ValueError) as error:
            log.warning("the signing keys at %s could not be fetched: %s", self.url, error)
            return
        self._fetched = self.clock()


def _download(url: str) -> bytes:
    """The body of a reply; a redirect isn't followed. Raises ``ValueError`` if it isn't a plain success."""
    where = urlsplit(url)
    if where.scheme != "https" and where.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ValueError("the address must begin with https://")
    body = b""
    with httpx2.stream("GET", url, follow_redirects=False, timeout=5, verify=tls_context()) as reply:
        if reply.status_code != 200:
            raise ValueError(f"the reply was {reply.status_code}")
        for piece in reply.iter_bytes():
            body += piece
            if len(body) > LARGEST:
                raise ValueError(f"the reply has more than {LARGEST:,} bytes")
    return body


def _read(body: bytes) -> dict[str, jwt.PyJWK]:
    """Key id -> key, of the keys for one of ``ALGORITHMS``. Raises ``ValueError`` for anything but a key set."""
    content = json.loads(body)
    listed = content.get("keys") if isinstance(content, dict) else None
    if not isinstance(listed, list):
        raise ValueError("the reply is no JSON Web Key Set")
    keys = {}
    for one in listed:
        try:
            kid, key = one["kid"], _key(one)
        except (jwt.PyJWTError, KeyError, TypeError, ValueError) as error:
            log.warning("a signing key could not be read: %s", type(error).__name__)
            continue
        if key is not None and isinstance(kid, str):
            keys[kid] = key
    if not keys:
        raise ValueError("the key set has no usable key")
    return keys


def _key(one: dict[str, Any]) -> jwt.PyJWK | None:
    """The key, or None if it is for something else than signatures with one of ``ALGORITHMS``."""
    if one.get("use", "sig") != "sig" or one.get("kty") not in ("RSA", "EC"):
        return None
    key = jwt.PyJWK(one)
    return key if key.algorithm_name in ALGORITHMS else None
