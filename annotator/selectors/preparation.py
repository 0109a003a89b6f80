"""What comes before the first task of a study, and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

#: How fast people read text that they have to understand, in words a minute.
WORDS_A_MINUTE = 200


@dataclass(frozen=True)
class Preparation:
    """Minutes before the first task, each at least 1 where there is such a step and 0 where there isn't."""

    reading: int
    practice: int
    exam: int

    @property
    def minutes(self) -> int:
        return self.reading + self.practice + self.exam


def preparation_of(rules: Mapping[str, Any]) -> Preparation:
    """From a snapshot: consent and instructions by their length, practice and exam by the time of a task.

    >>> preparation_of({"consent_text": "We keep it.", "instructions": "word " * 900, "practice_required": True,
    ...     "practice": [{}, {}], "exam_required": True, "exam_questions": 11, "minutes_per_item": 0.5})
    Preparation(reading=5, practice=1, exam=6)
    """
    words = len(rules["consent_text"].split()) + len(rules["instructions"].split())
    each = float(rules["minutes_per_item"])
    practice = len(rules["practice"]) if rules["practice_required"] else 0
    exam = rules["exam_questions"] if rules["exam_required"] else 0
    return Preparation(ceil(words / WORDS_A_MINUTE), ceil(practice * each), ceil(exam * each))
