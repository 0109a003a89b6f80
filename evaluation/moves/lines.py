"""Compressed lines of JSON in an encrypted file, written and read one by one."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import IO, Any

from evaluation.moves.sealed_file import Key, MoveError, Sealer, unsealed
from evaluation.releases.archive import ArchiveError
from evaluation.releases.reading import json_read

MB = 2**20
LONGEST_LINE = 256 * MB
#: Deflate makes studies about 20 times smaller. More than this, in a file that isn't small, is an attempt to fill memory or disk.
MOST_PACKED, SMALL = 400, 64 * MB
_PIECE = MB


class LinesWriter:
    """Writes lines; ``close`` ends the compressed data and the encrypted file."""

    def __init__(self, file: IO[bytes], key: Key) -> None:
        self._sealer, self._packer = Sealer(file, key), zlib.compressobj(6)

    def write(self, line: dict[str, Any]) -> None:
        """Add one line."""
        self._sealer.write(self._packer.compress(json.dumps(line, ensure_ascii=False).encode() + b"\n"))

    def close(self) -> None:
        """Write what is left."""
        self._sealer.write(self._packer.flush())
        self._sealer.close()


def lines_read(file: IO[bytes], key: Key) -> Iterator[dict[str, Any]]:
    """The lines of an encrypted file. At most one line and one chunk are in memory. Raises ``MoveError``."""
    held, number = bytearray(), 0
    for piece in _unpacked(unsealed(file, key)):
        held += piece
        if b"\n" not in piece:
            if len(held) > LONGEST_LINE:
                raise MoveError(f"line {number + 1:,} is longer than {LONGEST_LINE // MB} MB")
            continue
        *ends, rest = bytes(held).split(b"\n")
        for end in ends:
            number += 1
            yield _line(end, number)
        held = bytearray(rest)
    if held:
        raise MoveError("the last line is cut off")


def head_read(file: IO[bytes], key: Key) -> dict[str, Any]:
    """The first line of a file that is read to its end: every chunk is there, authentic, and can be unpacked. Raises ``MoveError``."""
    held, head = bytearray(), None
    for piece in _unpacked(unsealed(file, key)):
        if head is None:
            held += piece
            if b"\n" in piece:
                head = _line(bytes(held.partition(b"\n")[0]), 1)
            elif len(held) > LONGEST_LINE:
                raise MoveError(f"line 1 is longer than {LONGEST_LINE // MB} MB")
    if head is None:
        raise MoveError("the file has no line")
    return head


def _line(text: bytes, number: int) -> dict[str, Any]:
    try:
        found = json_read(text, f"line {number:,}")
    except ArchiveError as error:
        raise MoveError(str(error)) from None
    if not isinstance(found, dict):
        raise MoveError(f"line {number:,}: expected an object, got {type(found).__name__}")
    return found


def _unpacked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    unpack, packed, plain = zlib.decompressobj(), 0, 0
    for chunk in chunks:
        packed += len(chunk)
        more = True
        while more and not unpack.eof:
            try:
                out = unpack.decompress(chunk, _PIECE)
            except zlib.error as error:
                raise MoveError(f"the file can't be unpacked: {error}") from None
            chunk = unpack.unconsumed_tail
            more = bool(chunk) or len(out) == _PIECE  # what was held back when the piece was full
            plain += len(out)
            if plain > max(SMALL, MOST_PACKED * packed):
                raise MoveError(
                    f"the file would become more than {MOST_PACKED} times larger when it's unpacked"
                )
            if out:
                yield out
    if not unpack.eof:
        raise MoveError("the compressed data in the file don't end")
    if unpack.unused_data:
        raise MoveError("the file has data after its end")
