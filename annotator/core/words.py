"""Small pieces of English that pages, services and commands share."""

from __future__ import annotations

from collections.abc import Sequence


def plural(count: int, one: str, many: str = "") -> str:
    """A count and its noun.

    >>> plural(1, "item"), plural(1200, "item"), plural(0, "person", "people")
    ('1 item', '1,200 items', '0 people')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(parts: Sequence[str]) -> str:
    """Several things in one phrase.

    >>> listed(["a flag"]), listed(["a flag", "two questions", "three raters"])
    ('a flag', 'a flag, two questions and three raters')
    """
    if len(parts) < 2:
        return "".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]
