"""From a response of `simulation` to its outcome, its grade and its rating, and back."""

from __future__ import annotations

from annotator.hit_types.base import JSON, Grade, Rating, grade_fields

CANNOT_GUESS = "cannot_guess"


def outcome_of(response: JSON) -> str:
    """The label that a response stands for: yes, no or cannot_guess.

    >>> outcome_of({"helpful": "no"}), outcome_of({"helpful": "yes", "answer": "no"})
    ('cannot_guess', 'no')
    """
    return CANNOT_GUESS if response["helpful"] == "no" else str(response["answer"])


def response_of(outcome: str) -> JSON:
    """The response that stands for a label: the inverse of ``outcome_of``."""
    return {"helpful": "no"} if outcome == CANNOT_GUESS else {"helpful": "yes", "answer": outcome}


def grade(response: JSON, gold: JSON) -> Grade:
    """Each step compared with gold: whether the explanation helps, then the robot's answer."""
    return grade_fields(response, gold)


def to_ratings(response: JSON) -> list[Rating]:
    """One rating: the outcome."""
    return [Rating("simulation", outcome_of(response))]
