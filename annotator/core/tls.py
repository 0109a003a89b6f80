"""The check of other servers' certificates."""

from __future__ import annotations

import ssl
from functools import cache

import httpx2


@cache
def tls_context() -> ssl.SSLContext:
    """Trusts the system's authorities. One per process: reading their file takes longer than most requests."""
    return httpx2.create_ssl_context()
