"""From a response of `simulation_preference` to its grade and its rating."""

from __future__ import annotations

from annotator.hit_types.base import JSON, Grade, Rating, grade_fields


def grade(response: JSON, gold: JSON) -> Grade:
    """The choice compared with gold."""
    return grade_fields(response, gold)


def to_ratings(response: JSON) -> list[Rating]:
    """One rating: response_1, response_2 or equally_likely."""
    return [Rating("simulation", str(response["choice"]))]
