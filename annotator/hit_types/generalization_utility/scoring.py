"""From a response of `generalization_utility` to its grade and its ratings."""

from __future__ import annotations

from annotator.hit_types.base import JSON, Grade, Rating, grade_fields

VARIABLES = ("before", "after", "follow_up_before", "follow_up_after")


def grade(response: JSON, gold: JSON) -> Grade:
    """Compare the answers that gold names; what the rater's arm did not ask is not graded.

    >>> grade({"follow_up_after": "yes"}, {"after": "no", "follow_up_after": "yes"}).score
    1.0
    """
    return grade_fields(response, {name: value for name, value in gold.items() if name in response})


def to_ratings(response: JSON) -> list[Rating]:
    """One rating for each step that was taken."""
    return [Rating(name, str(response[name])) for name in VARIABLES if name in response]
