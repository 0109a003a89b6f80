"""Finds the JSON in a language model's reply, and the answers in it."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from annotator.hit_types.shapes import Unparsable

_BRACKET = re.compile(r"[{\[]")
#: Each takes time: a model that repeats itself can write 200,000 brackets.
MOST_FAILURES = 1000
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


def json_objects(text: str) -> Iterator[Any]:
    """Every JSON object and list in a text, in order, fenced or bare. Commas before closing brackets are allowed.

    Raises ``Unparsable`` if more than ``MOST_FAILURES`` brackets begin none.
    """
    decoder = json.JSONDecoder()
    commas = [mark.start() for mark in _TRAILING_COMMA.finditer(text)]
    mended = _TRAILING_COMMA.sub(r"\1", text) if commas else text
    at = failures = 0
    while (found := _BRACKET.search(text, at)) is not None:
        start = found.start()
        try:
            value, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            failures += 1
            if failures > MOST_FAILURES:
                raise Unparsable("the reply has too many brackets that begin no JSON") from None
            at, before = found.end(), bisect_left(commas, start)
            if before == len(commas):
                continue
            try:  # perhaps commas before its closing brackets are all that is wrong with it
                value, _ = decoder.raw_decode(mended, start - before)
            except (ValueError, RecursionError):
                continue
            at = max(at, text.find("}", at) + 1)
        yield value


def json_values(text: str, keys: Sequence[str]) -> Iterator[str]:
    """The values of ``keys``, ``answer`` and ``final_answer`` in the objects of a text; true is "yes", false is "no"."""
    wanted = {key.lower() for key in keys} | {"answer", "final_answer", "final answer"}
    for value in _json_flat(text):
        if isinstance(value, dict):
            for key, held in value.items():
                if key.lower() in wanted and isinstance(held, str | bool | int):
                    yield ("yes" if held else "no") if isinstance(held, bool) else str(held)


def _json_flat(text: str) -> Iterator[Any]:
    """The JSON values of a text; a list gives its entries."""
    for value in json_objects(text):
        yield from value if isinstance(value, list) else [value]


def json_pairs(text: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """The names in the objects of a text with their values; an object may be wrapped in another with one key."""
    pairs: list[tuple[str, str]] = []
    for value in _json_flat(text):
        if (
            isinstance(value, dict)
            and len(value) == 1
            and isinstance(inner := next(iter(value.values())), dict)
        ):
            value = inner
        if isinstance(value, dict):
            pairs += [
                (key, ("yes" if held else "no") if isinstance(held, bool) else str(held))
                for key, held in value.items()
                if key in names
            ]
    return pairs
