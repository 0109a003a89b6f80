"""The elements of one large JSON list or object, one at a time: memory holds one element, whatever the size of the file.

``json.JSONDecoder.raw_decode`` reads each element from a buffer that grows until it's complete. That keeps the rules of
``json_lines`` (a key that occurs twice, NaN), which ``ijson`` doesn't have.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

from annotator.core.tables.json_lines import DECODER, UnreadableLine

_PIECE = 1 << 18
_SPACE = re.compile(r"[ \t\r\n]*")
_OF_NUMBERS = "0123456789.eE+-"


class UnreadableElement(ValueError):
    """The file isn't the JSON that was expected; the message says why. ``number``: of the element, from 1."""

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.number = number


def json_elements(file: IO[bytes], *, most: int) -> Iterator[Any]:
    """The elements of a file that is one list. ``most``: characters of one element. Raises ``UnreadableElement``.

    >>> import io
    >>> list(json_elements(io.BytesIO(b'[{"a": 1}, 2]'), most=100))
    [{'a': 1}, 2]
    """
    yield from (value for _, value in _elements(_Buffer(file, most), "[", "]"))


def json_members(file: IO[bytes], *, most: int) -> Iterator[tuple[str, Any]]:
    """The keys and values of a file that is one object, also a key that occurs twice. Raises ``UnreadableElement``.

    >>> import io
    >>> list(json_members(io.BytesIO(b'{"a": 1, "b": [2]}'), most=100))
    [('a', 1), ('b', [2])]
    """
    yield from _elements(_Buffer(file, most), "{", "}")


def _elements(buffer: _Buffer, begin: str, end: str) -> Iterator[tuple[str, Any]]:
    buffer.take(begin)
    if buffer.next() == end:
        buffer.take(end)
    else:
        while True:
            buffer.number += 1
            key = ""
            if begin == "{":
                key = buffer.value()
                if not isinstance(key, str):
                    raise UnreadableElement("expected a key: a text in double quotes", buffer.number)
                buffer.take(":")
            yield key, buffer.value()
            if buffer.next() != ",":
                break
            buffer.take(",")
        buffer.take(end)
    if more := buffer.next():
        raise UnreadableElement(f"{more!r} follows after the end", buffer.number)


class _Buffer:
    """The part of a file that is being read. ``number`` is the element's."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")("strict").decode
        self._text = ""
        self._at = 0
        self._ended = False
        self._most = most
        self.number = 0

    def _more(self) -> None:
        """Read on; at least as much as there is, so that a long element isn't read again and again."""
        left = self._text[self._at :]
        piece = self._file.read(max(_PIECE, len(left)))
        self._ended = not piece
        try:
            self._text, self._at = left + self._decode(piece, self._ended), 0
        except UnicodeDecodeError:
            raise UnreadableElement("is not UTF-8", self.number) from None

    def next(self) -> str:
        """The next character that isn't a blank; empty at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches no blank, too
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._more()

    def take(self, char: str) -> None:
        found = self.next()
        if found != char:
            raise UnreadableElement(
                f"expected {char!r}, got {found!r}" if found else f"ends before {char!r}", self.number
            )
        self._at += 1

    def value(self) -> Any:
        self.next()
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except UnreadableLine as error:
                raise UnreadableElement(str(error), self.number) from None
            except json.JSONDecodeError as error:
                fault = f"{error.msg} at its character {error.pos - self._at + 1}"
            except (RecursionError, ValueError):
                fault = "it is nested too deeply or contains too large a number"
            else:
                number = isinstance(value, int | float) and not self._text[end : end + 3].strip(_OF_NUMBERS)
                # At the end of what was read, a number may go on.
                if self._ended or not (number and len(self._text) - end < 3):
                    if end - self._at > self._most:
                        break
                    self._at = end
                    return value
            if len(self._text) - self._at > self._most:
                break
            if self._ended:
                raise UnreadableElement(fault, self.number)
            self._more()
        raise UnreadableElement(f"expected at most {self._most:,} characters, and valid JSON", self.number)
