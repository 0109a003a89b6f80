"""The majority of several samples never gives an answer that no single reply could give."""

from __future__ import annotations

import pytest

from annotator.hit_types.base import Field, Option
from annotator.hit_types.fields import AnswerComparison
from evaluation.simulators.majority import Tied, majority

PLACES = tuple(Option(str(place), str(place)) for place in (1, 2, 3))
RANKING = [Field(name, "Place?", options=PLACES, distinct="rank") for name in ("tone", "facts", "length")]


def ranked(tone: str, facts: str, length: str) -> dict[str, str]:
    return {"tone": tone, "facts": facts, "length": length}


def test_a_ranking_that_most_samples_gave_is_the_majority() -> None:
    assert majority(RANKING, [ranked("1", "2", "3"), ranked("2", "1", "3"), ranked("1", "2", "3")]) == ranked(
        "1", "2", "3"
    )


def test_places_that_are_most_frequent_but_no_ranking_are_tied() -> None:
    """Third place is the most frequent one of the facts (4 of 7), and of the length (3 of 7)."""
    samples = [ranked("1", "2", "3")] * 3 + [ranked("1", "3", "2")] * 2 + [ranked("2", "3", "1")] * 2
    with pytest.raises(Tied, match="rank: the majority gives a place twice"):
        majority(RANKING, samples)


LONG = Field("long", "Too long?", options=PLACES, compares=(AnswerComparison("length", "at_least", ("5",)),))
WALK = [Field("length", "How long?", "text", bounds=(1, 30)), LONG]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([{"length": "9", "long": "2"}, {"length": "2"}, {"length": "7", "long": "2"}], {"length": "9", "long": "2"}),
        ([{"length": "9", "long": "2"}, {"length": "2"}, {"length": "3"}], {"length": "2"}),
    ],
)  # fmt: skip
def test_a_question_that_depends_on_a_number_is_asked_if_most_samples_were(
    samples: list[dict[str, str]], expected: dict[str, str]
) -> None:
    found = majority(WALK, samples)
    assert found == expected
    assert LONG.applies(found) == ("long" in found)


def test_a_question_that_half_of_the_samples_were_asked_is_tied() -> None:
    with pytest.raises(Tied, match="long: half of the samples were asked it"):
        majority(WALK, [{"length": "9", "long": "2"}, {"length": "2"}])
