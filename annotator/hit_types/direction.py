"""The direction in which a text is read."""

from __future__ import annotations

import re
import unicodedata

_LETTERED = re.compile(r"^[A-Z]\. ")


def direction_of(text: str) -> str:
    """``rtl`` or ``ltr`` by the first letter with a direction; a letter that only numbers an option doesn't count.

    >>> direction_of("A. \u0646\u0639\u0645"), direction_of("A. Yes"), direction_of("42")
    ('rtl', 'ltr', 'ltr')
    """
    for character in _LETTERED.sub("", text)[:500]:
        kind = unicodedata.bidirectional(character)
        if kind in ("R", "AL"):
            return "rtl"
        if kind == "L":
            return "ltr"
    return "ltr"
