"""A key with which the tests' own servers sign."""

from __future__ import annotations

from functools import cache

from cryptography.hazmat.primitives.asymmetric import rsa


@cache
def signing_key() -> rsa.RSAPrivateKey:
    """One per session: finding its prime numbers takes as long as a test. Tests of other keys make their own."""
    return rsa.generate_private_key(65537, 2048)
