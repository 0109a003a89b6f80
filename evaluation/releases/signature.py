"""The signature of a release: a list of the digests of its files, signed with the lab's Ed25519 key.

The list is in the form of ``sha256sum`` and the signature is raw, so that both can be verified without Foretell:
``sha256sum -c SHA256SUMS`` and ``openssl pkeyutl -verify -pubin -inkey signing-key.pem -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from hashlib import sha256

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

SUMS, SIGNATURE, PUBLIC = "SHA256SUMS", "SHA256SUMS.sig", "signing-key.pem"
#: How a public key is written in one line.
_PREFIX = "ed25519:"


class KeyInvalid(ValueError):
    """A text isn't a public key of the kind that signs releases."""


def private_make() -> str:
    """A new private key, as text."""
    return base64.b64encode(Ed25519PrivateKey.generate().private_bytes_raw()).decode()


def public_of(private: str) -> str:
    """The public key of a private one, in one line.

    >>> public_of("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    'ed25519:A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg='
    """
    raw = _private(private).public_key().public_bytes_raw()
    return _PREFIX + base64.b64encode(raw).decode()


def public_pem(private: str) -> bytes:
    """The public key of a private one, as a PEM file."""
    return _private(private).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def public_read(text: str) -> str:
    """A public key in one line, from such a line or from a PEM file. Raises ``KeyInvalid``."""
    text = text.strip()
    try:
        if text.startswith(_PREFIX):
            raw = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
            return (
                _PREFIX
                + base64.b64encode(Ed25519PublicKey.from_public_bytes(raw).public_bytes_raw()).decode()
            )
        found = load_pem_public_key(text.encode())
    except (ValueError, binascii.Error, UnsupportedAlgorithm) as error:
        raise KeyInvalid("expected a public key: ed25519:… or a PEM file") from error
    if not isinstance(found, Ed25519PublicKey):
        raise KeyInvalid("the public key isn't an Ed25519 key")
    return _PREFIX + base64.b64encode(found.public_bytes_raw()).decode()


def sums_of(digests: Mapping[str, str]) -> bytes:
    """The list of files: SHA-256 and name, in the form of ``sha256sum``."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode()


def signature_of(sums: bytes, private: str) -> bytes:
    return _private(private).sign(sums)


def signature_holds(sums: bytes, signature: bytes, public: str) -> bool:
    """Whether a list was signed with the private key that belongs to ``public``. Raises ``KeyInvalid``."""
    raw = base64.b64decode(public_read(public).removeprefix(_PREFIX))
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(signature, sums)
    except InvalidSignature:
        return False
    return True


def digest_of_bytes(body: bytes) -> str:
    return sha256(body).hexdigest()


def _private(text: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(text))
