"""Text from outside as Postgres can hold it."""

from __future__ import annotations

from typing import Any


def clean(value: Any) -> Any:
    """NUL and lone surrogates replaced by U+FFFD, through all of a JSON value; they are no text.

    >>> clean({"a": ["x\\x00", "\\ud800"]})
    {'a': ['x\\ufffd', '\\ufffd']}
    """
    if isinstance(value, str):
        if "\x00" in value:
            value = value.replace("\x00", "\ufffd")
        if value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, dict):
        return {clean(key): clean(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [clean(held) for held in value]
    return value
