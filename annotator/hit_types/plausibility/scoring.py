"""From a response of `plausibility` to its grade and its ratings."""

from __future__ import annotations

from annotator.hit_types.base import JSON, Grade, Rating, grade_fields

#: P1: yes 1, moderate 0.5, no 0.
SCORES = {"no": 0.0, "moderate": 0.5, "yes": 1.0}


def grade(response: JSON, gold: JSON) -> Grade:
    """Each explanation's rating compared with gold; only equal ratings are right."""
    return grade_fields(response, gold)


def to_ratings(response: JSON) -> list[Rating]:
    """One rating for each explanation; the unit is the explanation's key.

    >>> to_ratings({"justifies_3f": "moderate"})
    [Rating(variable='plausibility', value='moderate', unit='3f')]
    """
    return [
        Rating("plausibility", str(value), unit=name.removeprefix("justifies_"))
        for name, value in response.items()
    ]
