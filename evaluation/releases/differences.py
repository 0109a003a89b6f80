"""Where two files, or two JSON documents, differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any

from annotator.core.printable import printable

#: At most this many places of one file are named.
MOST = 20
#: Numbers that differ by less than this, relative to their size, are the same on another processor.
_SAME = 1e-9
_AROUND = 60


def json_differences(released: Any, computed: Any, *, exact: bool = False) -> list[str]:
    """The places in which two documents differ, as ``sections[2].title: “a” instead of “b”``; at most ``MOST``.

    >>> json_differences({"a": [1, 2]}, {"a": [1, 3]})
    ['a[1]: 2 instead of 3']
    """
    return list(islice(_walk(released, computed, "", exact), MOST))


def _walk(a: Any, b: Any, where: str, exact: bool) -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for name in [*a, *(name for name in b if name not in a)]:
            place = f"{where}.{name}" if where else str(name)
            if name not in b:
                yield f"{printable(place)}: isn't there when it's computed"
            elif name not in a:
                yield f"{printable(place)}: is missing"
            else:
                yield from _walk(a[name], b[name], place, exact)
        if list(a) != list(b) and a.keys() == b.keys() and exact:
            yield f"{printable(where) or 'the file'}: in another order"
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield f"{printable(where)}: {len(a):,} instead of {len(b):,} entries"
        for number, (one, other) in enumerate(zip(a, b, strict=False)):
            yield from _walk(one, other, f"{where}[{number}]", exact)
    elif not _same(a, b, exact):
        yield f"{printable(where) or 'the file'}: {_shown(a)} instead of {_shown(b)}"


def _same(a: Any, b: Any, exact: bool) -> bool:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (a, b))
    if numbers and not exact:
        return math.isclose(a, b, rel_tol=_SAME, abs_tol=1e-12)
    alike = type(a) is type(b) or (
        isinstance(a, str) and isinstance(b, str)
    )  # sentences are strings of their own kind
    return alike and bool(a == b)


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return f"“{printable(value, most=120)}”" if isinstance(value, str) else printable(str(value), most=60)


def text_differences(name: str, released: bytes, made: bytes) -> list[str]:
    """The lines in which two texts differ, with what is there and what should be; at most ``MOST``."""
    lines = zip_longest(released.split(b"\n"), made.split(b"\n"))
    found = (f"{name}, line {number}: {_excerpt(a, b)}" for number, (a, b) in enumerate(lines, 1) if a != b)
    return list(islice(found, MOST))


def _excerpt(a: bytes | None, b: bytes | None) -> str:
    if a is None:
        return "is missing"
    if b is None:
        return "isn't there when it's made again"
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, at - 20)
    found, expected = (one[start : at + _AROUND].decode("utf-8", "replace") for one in (a, b))
    return f"“{printable(found)}” instead of “{printable(expected)}”"
