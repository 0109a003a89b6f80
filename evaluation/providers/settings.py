"""Settings of the connection to an endpoint: further headers, and trusted certificate authorities. Pure."""

from __future__ import annotations

import re
import ssl
from typing import Any

from evaluation.providers.registry import PROVIDERS

#: Headers that the HTTP client sets itself; those that contain keys are the providers' own (``reserved_headers``).
CLIENT_HEADERS = frozenset(
    {
        "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie", "host",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
#: The largest size of all headers together, in bytes.
MOST_HEADERS = 4_000


class SettingRefused(ValueError):
    """A setting of an endpoint can't be used; the message says why."""


def headers_check(headers: Any) -> None:
    """Check further headers; raises ``SettingRefused``.

    >>> headers_check({"X-Project": "explanations"})
    >>> headers_check({"Authorization": "Bearer sk-1"})
    Traceback (most recent call last):
    ...
    evaluation.providers.settings.SettingRefused: Authorization: is set by Foretell. Enter a key as the endpoint's key.
    """
    if not isinstance(headers, dict):
        raise SettingRefused('expected a JSON object, e.g. {"X-Project": "explanations"}')
    reserved = CLIENT_HEADERS.union(*(provider.reserved_headers for provider in PROVIDERS))
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise SettingRefused(f"{name!r} is not the name of a header")
        if name.lower() in reserved:
            raise SettingRefused(f"{name}: is set by Foretell. Enter a key as the endpoint's key.")
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            raise SettingRefused(f"{name}: expected a text of printable ASCII characters")
    if sum(len(name) + len(value) for name, value in headers.items()) > MOST_HEADERS:
        raise SettingRefused(f"expected at most {MOST_HEADERS} characters in all")


def certificates_check(pem: str) -> None:
    """Check certificates in PEM form; raises ``SettingRefused``. An empty text is none."""
    if pem:
        tls_context(pem)


def tls_context(pem: str = "") -> ssl.SSLContext:
    """The TLS context that checks a server's certificate against these authorities, or the system's if there are none."""
    if not pem:
        return ssl.create_default_context()
    if "PRIVATE KEY" in pem:
        raise SettingRefused("contains a private key; enter certificates only")
    try:
        return ssl.create_default_context(cadata=pem)
    except (ssl.SSLError, ValueError):
        raise SettingRefused(
            "is not a PEM certificate; expected a block that begins with -----BEGIN CERTIFICATE-----"
        ) from None
