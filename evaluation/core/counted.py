"""Counts with what they count, for what statistics leave out."""

from __future__ import annotations

import re

_PLURAL = re.compile(
    r"^(unit|pair|row|rater|rating|instance|item|judgment|explanation|follow-up|system)s\b( that share\b)?"
)


def counted(number: int, reason: str) -> str:
    """A count and its reason; the noun that a reason begins with is plural and becomes singular after 1.

    >>> counted(1_200, "units with a single rating"), counted(1, "units with a single rating")
    ('1,200 units with a single rating', '1 unit with a single rating')
    >>> counted(1, "pairs that share no unit"), counted(1, "ties")
    ('1 pair that shares no unit', '1 ties')
    """
    if number == 1:
        reason = _PLURAL.sub(lambda found: found[1] + (" that shares" if found[2] else ""), reason)
    return f"{number:,} {reason}"
