"""Row ids in text that anybody may have written."""

from __future__ import annotations


def row_id(text: str | None) -> int:
    """The id; 0, which no row has, for anything else and for numbers that no row can have.

    >>> row_id("17"), row_id("-1"), row_id("x"), row_id(None), row_id("9" * 5000)
    (17, 0, 0, 0, 0)
    """
    return int(text) if text and text.isdecimal() and len(text) < 19 else 0
