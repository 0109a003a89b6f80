"""Read JSON strictly: objects that can be stored, without anything that programs read differently."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

_SURROGATE = re.compile("[\\ud800-\\udfff]")


class UnreadableLine(ValueError):
    """A line that isn't one JSON object; the message says why. ``show``: whether the line helps to understand it."""

    def __init__(self, message: str, *, show: bool = True):
        super().__init__(message)
        self.show = show


def json_object(line: str) -> dict[str, Any]:
    """The object of one line. Raises ``UnreadableLine`` for anything else, a key that occurs twice, ``NaN`` and infinite numbers,
    and characters that can't be stored.

    >>> json_object('{"label": 1.5}')
    {'label': 1.5}
    """
    try:
        value = DECODER.decode(line.strip("\r\n"))
    except UnreadableLine:
        raise
    except json.JSONDecodeError as error:
        raise UnreadableLine(f"is not JSON: {error.msg} at character {error.pos + 1}") from None
    except (RecursionError, ValueError):
        raise UnreadableLine("is nested too deeply or contains too large a number") from None
    if isinstance(value, list):
        raise UnreadableLine(
            "is a JSON list; expected one JSON object per line (pandas: to_json(..., orient='records', lines=True))"
        )
    if not isinstance(value, dict):
        raise UnreadableLine("expected one JSON object per line")
    if "\\u" in line and (fault := unstorable(value)):
        raise UnreadableLine(f"holds {fault}", show=False)
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise UnreadableLine(f"the key {twice!r} occurs twice in one object", show=False)
    return value


def _no_constant(name: str) -> Any:
    raise UnreadableLine(f"{name} is not JSON; write null for a missing value", show=False)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise UnreadableLine(f"the number {text[:30]} is too large", show=False)
    return number


DECODER = json.JSONDecoder(
    object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_float=_finite, strict=True
)


def unstorable(value: Any) -> str:
    """What makes a value impossible to store, in words; empty if it can be stored."""
    if isinstance(value, str):
        if "\x00" in value:
            return "a NUL character"
        return "a lone surrogate (half of a character)" if _SURROGATE.search(value) else ""
    if value is None or isinstance(value, bool | int):
        return ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else "a number that is not finite"
    if isinstance(value, list):
        return next((w for v in value if (w := unstorable(v))), "")
    if isinstance(value, dict):
        return next((w for pair in value.items() for v in pair if (w := unstorable(v))), "")
    return f"a {type(value).__name__}; expected text, a number, true or false, or a list"
