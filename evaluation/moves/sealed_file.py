"""Encrypted files of any size: chunks of ChaCha20-Poly1305 in the STREAM construction, so that no chunk can be changed, moved or left out.

A file begins with a header of 50 bytes: ``FORETELL``, the version, the kind of key, scrypt's cost, a salt, a value by which a wrong key is
recognised, and the header's own digest. Chunks follow, of ``CHUNK`` bytes and a tag each; the last one is marked in its nonce.
"""

from __future__ import annotations

import hmac
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import IO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

MAGIC, VERSION = b"FORETELL", 1
CHUNK, TAG = 256 * 1024, 16
#: Scrypt's cost as a power of two: 128 MB of memory. A file that asks for more is refused before anything is computed.
COST, MOST_COST = 17, 18
SHORTEST_PASSPHRASE, SHORTEST_KEY, LONGEST_KEY = 12, 32, 64 * 1024
_PASSPHRASE, _KEY_FILE = 1, 2
_HEAD = struct.Struct("<8sBBB16s15s8s")


class MoveError(Exception):
    """The file can't be written or read, isn't of a study, is damaged, or doesn't fit this installation."""


class WrongKey(MoveError):
    """The file is intact as far as can be seen, but was encrypted with another key."""


@dataclass(frozen=True)
class Key:
    """What a file is encrypted with: a passphrase, or the content of a key file."""

    secret: bytes
    is_passphrase: bool

    @classmethod
    def of_passphrase(cls, text: str) -> Key:
        """A key from a passphrase. Raises ``MoveError`` if it is shorter than ``SHORTEST_PASSPHRASE``."""
        if len(text) < SHORTEST_PASSPHRASE:
            raise MoveError(
                f"the passphrase is too short; expected at least {SHORTEST_PASSPHRASE} characters"
            )
        return cls(text.encode(), True)

    @classmethod
    def of_file(cls, content: bytes) -> Key:
        """A key from a key file, all bytes of which count. Raises ``MoveError`` if it isn't between ``SHORTEST_KEY`` and ``LONGEST_KEY`` bytes."""
        if not SHORTEST_KEY <= len(content) <= LONGEST_KEY:
            raise MoveError(
                f"the key file has {len(content):,} bytes; expected between {SHORTEST_KEY} and {LONGEST_KEY:,} random bytes"
            )
        return cls(content, False)

    def derived(self, salt: bytes, cost: int) -> tuple[bytes, bytes]:
        """The key of one file, and the value that shows whether it is the right one."""
        if self.is_passphrase:
            start = Scrypt(salt=salt, length=32, n=2**cost, r=8, p=1).derive(self.secret)
        else:
            start = self.secret
        made = HKDF(SHA256(), 47, salt=salt, info=b"foretell study").derive(start)
        return made[:32], made[32:]


class Sealer:
    """Writes an encrypted file; ``close`` writes the last chunk, without which the file is known to be cut off."""

    def __init__(self, file: IO[bytes], key: Key, *, cost: int = COST) -> None:
        salt = os.urandom(16)
        made, check = key.derived(salt, cost)
        kind = _PASSPHRASE if key.is_passphrase else _KEY_FILE
        head = _HEAD.pack(MAGIC, VERSION, kind, cost, salt, check, b"\0" * 8)[:-8]
        self._head = head + sha256(head).digest()[:8]
        self._file, self._cipher, self._number = file, ChaCha20Poly1305(made), 0
        self._held = bytearray()
        file.write(self._head)

    def write(self, data: bytes) -> None:
        """Add bytes; full chunks are written at once."""
        self._held += data
        while len(self._held) > CHUNK:
            self._chunk(bytes(self._held[:CHUNK]), last=False)
            del self._held[:CHUNK]

    def close(self) -> None:
        """Write what is left as the last chunk."""
        self._chunk(bytes(self._held), last=True)
        self._held.clear()

    def _chunk(self, data: bytes, *, last: bool) -> None:
        self._file.write(self._cipher.encrypt(_nonce(self._number, last), data, self._head))
        self._number += 1


def unsealed(file: IO[bytes], key: Key) -> Iterator[bytes]:
    """The plain chunks of an encrypted file, each of which is authenticated before it is given.

    Raises ``MoveError`` if it is no such file, damaged or cut off, and ``WrongKey`` if only the key is wrong.
    """
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or not head.startswith(MAGIC):
        raise MoveError("this is not a file that Foretell wrote with export_study or keep_study")
    _, version, kind, cost, salt, check, digest = _HEAD.unpack(head)
    if sha256(head[:-8]).digest()[:8] != digest:
        raise MoveError("the file is damaged: its first 50 bytes were changed")
    if version != VERSION:
        raise MoveError(f"the file has version {version}; this version of Foretell reads version {VERSION}")
    if kind not in (_PASSPHRASE, _KEY_FILE) or cost > MOST_COST:
        raise MoveError("the file asks for a kind of key, or a cost of scrypt, that Foretell doesn't use")
    if key.is_passphrase != (kind == _PASSPHRASE):
        needed = "a passphrase" if kind == _PASSPHRASE else "a key file"
        raise WrongKey(f"the file was encrypted with {needed}")
    made, right = key.derived(salt, cost)
    if not hmac.compare_digest(check, right):
        raise WrongKey(
            f"the {'passphrase' if key.is_passphrase else 'key file'} is not the one that the file was encrypted with"
        )
    yield from _chunks(file, ChaCha20Poly1305(made), head)


def _chunks(file: IO[bytes], cipher: ChaCha20Poly1305, head: bytes) -> Iterator[bytes]:
    number, at = 0, len(head)
    piece = file.read(CHUNK + TAG)
    while True:
        following = file.read(CHUNK + TAG)
        last = not following
        try:
            yield cipher.decrypt(_nonce(number, last), piece, head)
        except InvalidTag:
            raise MoveError(_damage(cipher, number, piece, head, at, last)) from None
        if last:
            return
        number, at, piece = number + 1, at + len(piece), following


def _damage(cipher: ChaCha20Poly1305, number: int, piece: bytes, head: bytes, at: int, last: bool) -> str:
    """What is wrong with a chunk that can't be decrypted, in words."""
    if last and _opens(cipher, _nonce(number, False), piece, head):
        return f"the file is cut off: it ends after {at + len(piece):,} bytes, and more should follow. Copy it again."
    if last:
        return f"the file is damaged or cut off in its last part, from byte {at:,} on. Copy it again."
    return f"the file is damaged between bytes {at:,} and {at + len(piece):,}. Copy it again."


def _opens(cipher: ChaCha20Poly1305, nonce: bytes, piece: bytes, head: bytes) -> bool:
    try:
        cipher.decrypt(nonce, piece, head)
    except InvalidTag:
        return False
    return True


def _nonce(number: int, last: bool) -> bytes:
    """The nonce of a chunk. Each file has a key of its own, so numbers never repeat under one key."""
    return number.to_bytes(11, "big") + (b"\x01" if last else b"\x00")
