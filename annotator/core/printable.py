"""Texts from files that somebody else made, for terminals and logs."""

from __future__ import annotations

import unicodedata

#: Control, format (such as the reversal of direction), surrogate and private characters, separators of lines.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str, *, most: int = 2_000) -> str:
    """A text in which characters that could steer a terminal are written as codes; longer ones are cut off.

    >>> printable("owls\\x1b[2J\\u202etxt")
    'owls\\\\x1b[2J\\\\u202etxt'
    """
    shown = text if len(text) <= most else f"{text[:most]}…"
    if shown.isascii() and shown.isprintable():
        return shown
    return "".join(_code(char) if unicodedata.category(char) in _HIDDEN else char for char in shown)


def printable_lines(text: str) -> str:
    """The same for a text of several lines."""
    return "\n".join(map(printable, text.split("\n")))


def _code(char: str) -> str:
    number = ord(char)
    if number < 256:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 65_536 else f"\\U{number:08x}"
