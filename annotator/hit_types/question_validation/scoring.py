"""From a response of `question_validation` to its grade and its ratings."""

from __future__ import annotations

from annotator.hit_types.base import JSON, Grade, Rating, grade_fields

VARIABLES = ("relation", "answerable", "answer_right")


def grade(response: JSON, gold: JSON) -> Grade:
    """Each answer compared with gold."""
    return grade_fields(response, gold)


def to_ratings(response: JSON) -> list[Rating]:
    """One rating for each question that was asked; the third is asked only if the context answers the question."""
    return [Rating(name, str(response[name])) for name in VARIABLES if name in response]
