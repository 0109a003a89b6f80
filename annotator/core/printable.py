"""Texts from files that somebody else made, for terminals and logs."""

from __future__ import annotations

import re
import unicodedata

#: Control, format (such as the reversal of direction), surrogate and private characters, separators of lines.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

#: Control characters, separators of lines, and what changes the direction of the text that follows.
_STEERING = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]")


def steering_character(name: str) -> str:
    """The first character of a name that would change how the text around it looks, as its code; empty if it has none.

    >>> steering_character("Lab \\u202eredael"), steering_character("Lab")
    ('U+202E', '')
    """
    found = _STEERING.search(name)
    return f"U+{ord(found[0]):04X}" if found else ""


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
