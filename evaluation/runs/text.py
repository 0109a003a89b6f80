"""Convert values from outside to a form that Postgres can store."""

from __future__ import annotations

import json
import math
from typing import Any

#: The deepest nesting of lists and objects; deeper values are stored as text.
MAX_DEPTH = 64


def clean(value: Any, depth: int = 0) -> Any:
    """A JSON value that Postgres can store.

    NUL and lone surrogates become U+FFFD. Numbers that JSON doesn't have (NaN, infinities) and levels below
    ``MAX_DEPTH`` become text.

    >>> clean({"a": ["x\\x00", "\\ud800", float("nan")]})
    {'a': ['x\\ufffd', '\\ufffd', 'nan']}
    """
    if isinstance(value, str):
        # Most texts need no change, and there are hundreds in each reply and request.
        return value if value.isascii() and "\x00" not in value else _clean_text(value)
    if isinstance(value, dict):
        if depth >= MAX_DEPTH:
            return _as_text(value)
        return {clean(key): clean(held, depth + 1) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return _as_text(value) if depth >= MAX_DEPTH else [clean(held, depth + 1) for held in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _clean_text(value: str) -> str:
    value = value.replace("\x00", "\ufffd")
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _as_text(value: Any) -> str:
    try:
        return str(clean(json.dumps(value)))
    except RecursionError:
        return "(nested too deeply)"
