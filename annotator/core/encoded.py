"""Texts as they read once their encodings are undone: percent signs of addresses, HTML's and JSON's ways of writing characters, base64,
and hexadecimal digits.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

#: How often an encoded text may be encoded again.
ROUNDS = 3
#: Anything shorter that base64 or hexadecimal digits could be is a word.
SHORTEST_PACKED = 6
_ESCAPED = re.compile(
    r"(?P<percent>(?:%[0-9A-Fa-f]{2})+)"
    r"|(?P<quoted>(?:=[0-9A-F]{2})+)"
    r"|(?P<bytes>(?:\\x[0-9A-Fa-f]{2})+)"
    r"|(?P<units>(?:\\u[0-9A-Fa-f]{4})+)"
    r"|(?P<point>\\u\{[0-9A-Fa-f]{1,6}\}|\\U[0-9A-Fa-f]{8})"
    r"|(?P<space>\\[nrtbfv])"
    r"|(?P<entity>&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?)"
)
#: Words of base64 by how the first two bytes of a text begin (most words can't be one), or of hexadecimal digits.
_PACKED = re.compile(
    r"(?<![A-Za-z0-9+/_-])"
    r"(?:(?:[I-Za-f][C-HS-Xi-ny-z0-3M-Pc-fs-v89+/_-]|[w-z0-9+/_-][I-LYZabo-r4-7])[A-Za-z0-9+/_-]{4,}={0,2}"
    r"|[2-7cdeCDE][0-9A-Fa-f](?:[2-9A-Ea-e][0-9A-Fa-f]){2,}(?![A-Za-z0-9+/_-]))"
)
_HEX = re.compile("(?:[0-9A-Fa-f]{2})+")
_LARGEST_POINT = 0x10FFFF


@dataclass(frozen=True)
class _Part:
    """Some characters of a reading, from ``at`` on, and where they come from: one for one (``same``), or all from the whole place."""

    at: int
    start: int
    end: int
    same: bool


@dataclass(frozen=True)
class Decoding:
    """A text that was made of another one, and which of its characters come from where."""

    text: str
    parts: tuple[_Part, ...] = ()
    of: Decoding | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place in the original of some characters of this reading."""
        if self.of is None:
            return start, end
        (first, _), (_, last) = self._place(start), self._place(end - 1)
        return self.of.span(first, last)

    def _place(self, at: int) -> tuple[int, int]:
        part = self.parts[bisect_right(self.parts, at, key=lambda one: one.at) - 1]
        start = part.start + at - part.at
        return (start, start + 1) if part.same else (part.start, part.end)


def readings(text: str, *, shortest: int = SHORTEST_PACKED) -> Iterator[Decoding]:
    """The text, then what it says once its encodings are undone, also if they are nested: first the whole text without the ways of
    writing single characters, then each word of base64 or hexadecimal digits by itself. ``shortest`` is the fewest characters
    of such a word.

    >>> [one.text for one in readings("owl%5Ffan &amp; &#111;wl")]
    ['owl%5Ffan &amp; &#111;wl', 'owl_fan & owl']
    >>> [one.text for one in readings("I am b3dsX2Zhbl83Nw==.")]
    ['I am b3dsX2Zhbl83Nw==.', 'owl_fan_77']
    """
    yield from _readings(Decoding(text), shortest, ROUNDS)


def _readings(reading: Decoding, shortest: int, rounds: int) -> Iterator[Decoding]:
    yield reading
    if not rounds:
        return
    if any(mark in reading.text for mark in "%=\\&"):
        decoded = _decoded(reading)
        if decoded is not None:
            yield from _readings(decoded, shortest, rounds - 1)
    for match in _PACKED.finditer(reading.text):
        unpacked = _unpacked(match[0]) if len(match[0]) >= shortest else None
        if unpacked is not None:
            yield from _readings(
                Decoding(unpacked, (_Part(0, *match.span(), same=False),), reading), shortest, rounds - 1
            )


def _decoded(reading: Decoding) -> Decoding | None:
    """The reading without escaped characters; none if it has none."""
    pieces: list[str] = []
    parts: list[_Part] = []
    at = length = 0
    for match in _ESCAPED.finditer(reading.text):
        new = _unescaped(match)
        if not new:
            continue
        start, end = match.span()
        parts += [_Part(length, at, start, same=True), _Part(length + start - at, start, end, same=False)]
        pieces += [reading.text[at:start], new]
        length += start - at + len(new)
        at = end
    if not pieces:
        return None
    parts.append(_Part(length, at, len(reading.text), same=True))
    return Decoding("".join([*pieces, reading.text[at:]]), tuple(parts), reading)


def _unescaped(match: re.Match[str]) -> str | None:
    found, kind = match[0], match.lastgroup
    if kind in ("percent", "quoted", "bytes"):
        return _utf8(bytes.fromhex(re.sub(r"[%=]|\\x", "", found)))
    if kind == "units":
        units = bytes.fromhex(found.replace("\\u", ""))
        return units.decode("utf-16-be", "replace")
    if kind == "point":
        number = int(found.strip("\\uU{}"), 16)
        return chr(number) if number <= _LARGEST_POINT else None
    if kind == "space":
        return " "
    new = unescape(found)
    return None if new == found else new


def _utf8(found: bytes) -> str:
    """Bytes as UTF-8, or if they aren't, as Latin-1, in which older addresses are encoded."""
    try:
        return found.decode()
    except UnicodeDecodeError:
        return found.decode("latin-1")


def _unpacked(found: str) -> str | None:
    """What base64 or hexadecimal digits say, if it's a text."""
    body = found.rstrip("=")
    if _HEX.fullmatch(body):
        packed = bytes.fromhex(body)
    elif len(body) % 4 == 1:
        return None
    else:
        packed = a2b_base64(body.translate(_STANDARD) + "=" * (-len(body) % 4))
    try:
        text = packed.decode()
    except UnicodeDecodeError:
        return None
    return text if text and all(char.isprintable() or char.isspace() for char in text) else None


_STANDARD = str.maketrans("-_", "+/")
