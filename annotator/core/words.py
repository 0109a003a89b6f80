"""Small pieces of English that pages, services and commands share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal


def plural(count: int, one: str, many: str = "") -> str:
    """A count and its noun.

    >>> plural(1, "item"), plural(1200, "item"), plural(0, "person", "people")
    ('1 item', '1,200 items', '0 people')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(parts: Sequence[str], word: str = "and") -> str:
    """Several things in one phrase.

    >>> listed(["a flag"]), listed(["a flag", "two questions", "three raters"])
    ('a flag', 'a flag, two questions and three raters')
    >>> listed(["yes", "no"], "or")
    'yes or no'
    """
    if len(parts) < 2:
        return "".join(parts)
    return ", ".join(parts[:-1]) + f" {word} " + parts[-1]


def money(amount: Decimal) -> str:
    """An amount with at least two decimals, and more only if it has them.

    >>> money(Decimal("0.4000")), money(Decimal("0.1250")), money(Decimal("12"))
    ('0.40', '0.125', '12.00')
    """
    text = f"{amount.normalize():f}"
    return f"{amount:.2f}" if len(text.partition(".")[2]) <= 2 else text


def span(elapsed: timedelta | None) -> str:
    """A length of time in its two largest units; empty for None.

    >>> span(timedelta(seconds=42)), span(timedelta(minutes=65)), span(timedelta(days=2, hours=3, minutes=9)), span(None)
    ('42 s', '1 h 5 min', '2 d 3 h', '')
    """
    if elapsed is None:
        return ""
    left = max(int(elapsed.total_seconds()), 0)
    parts: list[str] = []
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, length)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
