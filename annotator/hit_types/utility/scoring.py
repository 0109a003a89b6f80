"""From a response of `utility` to its grade and its ratings."""

from __future__ import annotations

from annotator.hit_types.base import JSON, Grade, Rating, grade_fields


def grade(response: JSON, gold: JSON) -> Grade:
    """Compare the answers that gold names. Gold rarely names ``before``, because people can't be expected to know it."""
    return grade_fields(response, gold)


def to_ratings(response: JSON) -> list[Rating]:
    """Two ratings: the answer before and the answer after the rationale."""
    return [Rating("before", str(response["before"])), Rating("after", str(response["after"]))]
