"""Values that are more than a label: sets, rankings, spans and pairwise preferences, read from the text of a ratings table.

Each is JSON in a cell, as declared HIT types store it: a set is a list of keys, a ranking a list of keys with the best first (keys in
a list of their own are tied), spans a list of ``{"start", "end", "category", "severity"}``, and a preference ``a``, ``b`` or
``equal``, or ``{"choice", "strength"}``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard, get_args

#: Levels whose values are more than a label.
Form = Literal["set", "ranking", "span", "pairwise"]
FORMS: tuple[Form, ...] = get_args(Form)
#: Names that a level may also have.
_ALSO = {"spans": "span", "preference": "pairwise"}
EQUAL = "equal"
#: No text has more characters; beyond it, places of characters of several texts wouldn't fit one number.
MOST_CHARACTERS = 10**9
#: Characters of a value that a message shows.
_SHOWN = 60


def form_of(level: str) -> Form | None:
    """The form of the values at a level; None if they are labels or numbers.

    >>> form_of("set"), form_of("spans"), form_of("nominal")
    ('set', 'span', None)
    """
    name = _ALSO.get(level, level)
    return next((form for form in FORMS if form == name), None)


def read_set(text: str) -> frozenset[str]:
    """A set of keys; it may be empty. ``ValueError`` for anything else than a list of different keys.

    >>> sorted(read_set('["b", "a"]')), read_set("[]") == frozenset()
    (['a', 'b'], True)
    """
    expected = 'a JSON list of different keys, such as ["a", "c"]'
    found = _json(text, expected)
    if not isinstance(found, list) or not all(_is_key(one) for one in found):
        raise _wrong(text, expected)
    keys = [str(one) for one in found]
    if len(set(keys)) < len(keys):
        raise _wrong(text, expected)
    return frozenset(keys)


def read_ranking(text: str) -> dict[str, float]:
    """Each key's rank, 1 for the best; keys that are tied share the mean of their places.

    ``ValueError`` for anything else than a list of different keys, or lists of tied ones.

    >>> read_ranking('["b", ["a", "c"]]')
    {'b': 1.0, 'a': 2.5, 'c': 2.5}
    """
    expected = (
        'a JSON list of different keys, the best first, such as ["b", ["a", "c"]], where a and c are tied'
    )
    found = _json(text, expected)
    if not isinstance(found, list) or not found:
        raise _wrong(text, expected)
    ranks: dict[str, float] = {}
    place = 0
    for one in found:
        tied = one if isinstance(one, list) else [one]
        if not tied or not all(_is_key(key) for key in tied):
            raise _wrong(text, expected)
        for key in map(str, tied):
            if key in ranks:
                raise _wrong(text, expected)
            ranks[key] = place + (len(tied) + 1) / 2
        place += len(tied)
    return ranks


@dataclass(frozen=True, order=True)
class Span:
    """A stretch of text: characters ``start`` to ``end``, the latter excluded; category and severity are empty if there is none."""

    start: int
    end: int
    category: str = ""
    severity: str = ""


def read_spans(text: str) -> tuple[Span, ...]:
    """The spans that one rater marked, in order; a span that is listed twice counts once. An empty list means that nothing is marked.

    ``ValueError`` for anything else than a list of spans with whole numbers 0 <= start < end <= ``MOST_CHARACTERS``.

    >>> read_spans('[{"start": 3, "end": 7, "category": "error"}]')
    (Span(start=3, end=7, category='error', severity=''),)
    """
    expected = 'a JSON list of spans, such as [{"start": 0, "end": 5, "category": "omission"}], with 0 <= start < end <= 1000000000'
    found = _json(text, expected)
    if not isinstance(found, list):
        raise _wrong(text, expected)
    spans = set()
    for one in found:
        if not isinstance(one, dict):
            raise _wrong(text, expected)
        start, end = one.get("start"), one.get("end")
        if not _is_whole(start) or not _is_whole(end) or not 0 <= start < end <= MOST_CHARACTERS:
            raise _wrong(text, expected)
        category, severity = one.get("category") or "", one.get("severity") or ""
        if not isinstance(category, str) or not isinstance(severity, str):
            raise _wrong(text, expected)
        spans.add(Span(start, end, category, severity))
    return tuple(sorted(spans))


def read_choice(text: str) -> str:
    """The side that is preferred, or ``equal``.

    >>> read_choice("a"), read_choice('{"choice": "equal", "strength": null}')
    ('a', 'equal')
    """
    if not text.startswith("{"):
        return text
    expected = 'a side or "equal", or JSON such as {"choice": "a", "strength": 2}'
    found = _json(text, expected).get("choice")
    if not isinstance(found, str) or not found:
        raise _wrong(text, expected)
    return found


def _is_key(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _json(text: str, expected: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise _wrong(text, expected) from None


def _wrong(text: str, expected: str) -> ValueError:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return ValueError(f"{shown!r}: expected {expected}")
