"""The columns of a file of ratings, by what they hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileColumns:
    """The names of a file's columns, by what they hold; those that aren't in the file are left out if they aren't needed."""

    rater: str = "rater"
    unit: str = "unit"
    value: str = "value"
    real: str = "real_output"
    instance: str = "instance"
    explanation: str = "explanation"
    system: str = "system"
    condition: str = "condition"
    follow_up: str = "follow_up"
    correct: str = "correct_answer"
    variable: str = "variable"
    rater_kind: str = "rater_kind"
