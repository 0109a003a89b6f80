"""Control arms: the same question put to other people without the explanation, to measure what the explanation adds.

An item of a control arm is made from one with the explanation. Its payload lacks what the arm doesn't show, and names the
arm; items with the explanation name none, so their payloads are what they would be without control arms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from annotator.hit_types.formats import FORMATS_KEY
from annotator.hit_types.shapes import JSON, Question

#: The payload's key for the arm of an item.
ARM_KEY = "arm"
ANSWER_ONLY, NOTHING = "answer_only", "nothing"
#: Arm -> its name on pages and in exports; items with the explanation have the empty arm.
ARM_TITLES = {"": "with explanation", ANSWER_ONLY: "answer only", NOTHING: "nothing"}


def arm_of(payload: Mapping[str, Any]) -> str:
    """The control arm of an item; empty if it shows the explanation.

    >>> arm_of({"question": "Why?", "arm": "nothing"}), arm_of({"question": "Why?"})
    ('nothing', '')
    """
    return str(payload.get(ARM_KEY, ""))


def control_payload(payload: JSON, arm: str, instead: Mapping[str, Any]) -> JSON:
    """The payload of a control arm's item. ``instead`` has a value for each key that it doesn't take over; None removes it.

    >>> control_payload({"question": "Why?", "explanation": "So."}, "nothing", {"explanation": None})
    {'question': 'Why?', 'arm': 'nothing'}
    """
    kept = {name: value for name, value in payload.items() if name not in instead}
    formats = {name: one for name, one in kept.pop(FORMATS_KEY, {}).items() if name not in instead}
    given = {name: value for name, value in instead.items() if value is not None}
    return kept | given | ({FORMATS_KEY: formats} if formats else {}) | {ARM_KEY: arm}


def control_key(key: str, arm: str) -> str:
    """The key of a control arm's item, by that of the item with the explanation.

    >>> control_key("owl-3", "answer_only")
    'owl-3 (answer only)'
    """
    return f"{key} ({ARM_TITLES[arm]})"


def explained_key(key: str, arm: str) -> str:
    """The inverse of ``control_key``, without the version of a corrected item.

    >>> explained_key("owl-3 (nothing).v2", "nothing"), explained_key("owl-3", "")
    ('owl-3', 'owl-3')
    """
    return key.rpartition(f" ({ARM_TITLES[arm]})")[0] if arm else key


class ArmTexts:
    """The texts of one control arm, from a folder ``arms/<arm>`` of a HIT type; those that are missing are empty."""

    def __init__(self, folder: Path):
        self.folder = folder

    @cached_property
    def instructions(self) -> str:
        return self._text("instructions.md")

    @cached_property
    def prompt(self) -> str:
        return self._text("prompt.md")

    @cached_property
    def exam(self) -> tuple[Question, ...]:
        return self._questions("exam.json")

    @cached_property
    def practice(self) -> tuple[Question, ...]:
        return self._questions("practice.json")

    def _text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def _questions(self, name: str) -> tuple[Question, ...]:
        return tuple(Question(**question) for question in json.loads(self._text(name) or "[]"))
