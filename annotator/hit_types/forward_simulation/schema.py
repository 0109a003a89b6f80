"""The saliency map of an item of `forward_simulation`, and the condition that an item belongs to."""

from __future__ import annotations

import math
from typing import Any

from annotator.hit_types.base import JSON, Row, is_blank

#: The condition of an item whose row names none, by what is shown beside the input.
NOTHING, TEXT, MAP, BOTH = ("no explanation", "explanation", "saliency map", "explanation and saliency map")
#: Words are marked from 0 (did not count) to this.
MOST_MARK = 3


def condition_of(payload: JSON) -> str:
    """The condition of an item by what it shows beside the input.

    >>> condition_of({"explanation": "", "saliency": []})
    'no explanation'
    """
    if payload["explanation"]:
        return BOTH if payload["saliency"] else TEXT
    return MAP if payload["saliency"] else NOTHING


def words_of(saliency: list[Any]) -> str:
    """A saliency map as text: each word that counted, followed by its mark.

    >>> words_of([["a", 0], ["fine", 3]])
    'a fine[3]'
    """
    return " ".join(f"{word}[{mark}]" if mark else str(word) for word, mark in saliency)


def marks_of(row: Row) -> list[Any]:
    """Words with marks from 0 to ``MOST_MARK``, in proportion to the largest weight without its sign."""
    raw = row.json("saliency")
    if is_blank(raw) or "saliency" in row.errors:
        return []
    pairs = raw if isinstance(raw, list) else []
    if not pairs or not all(_is_pair(pair) for pair in pairs):
        row.errors["saliency"] = (
            'expected a list of words with their weights, such as [["thin", 0.1], ["fine", 0.9]]'
        )
        return []
    most = max(abs(float(weight)) for _, weight in pairs)
    if not most:
        row.errors["saliency"] = "every weight is 0; leave the column empty where nothing is to be marked"
        return []
    return [[word.strip(), round(MOST_MARK * abs(float(weight)) / most)] for word, weight in pairs]


def _is_pair(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    word, weight = pair
    number = isinstance(weight, int | float) and not isinstance(weight, bool) and math.isfinite(weight)
    return isinstance(word, str) and bool(word.strip()) and "\0" not in word and number
