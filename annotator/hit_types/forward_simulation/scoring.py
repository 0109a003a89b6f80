"""From a response of `forward_simulation` to its grade and its rating."""

from __future__ import annotations

from annotator.hit_types.base import JSON, Grade, Rating, grade_fields


def grade(response: JSON, gold: JSON) -> Grade:
    """The prediction compared with gold."""
    return grade_fields(response, gold)


def to_ratings(response: JSON) -> list[Rating]:
    """One rating: the predicted answer."""
    return [Rating("prediction", str(response["prediction"]))]
