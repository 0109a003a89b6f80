"""From a response of `rationale_properties` to its grade and its ratings."""

from __future__ import annotations

from collections.abc import Sequence

from annotator.hit_types.base import JSON, Grade, Rating, grade_fields


def grade(response: JSON, gold: JSON) -> Grade:
    """Both properties compared with gold."""
    return grade_fields(response, gold)


def to_ratings(response: JSON, properties: Sequence[str]) -> list[Rating]:
    """One rating for each property that was asked about: yes if it is present."""
    return [Rating(name, str(response[name])) for name in properties if name in response]
