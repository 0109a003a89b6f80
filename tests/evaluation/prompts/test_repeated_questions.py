"""A question that a simulator is asked again after an explanation: the prompts' demonstrations favour no outcome.

Whether an explanation changes an answer is what such a study measures. Demonstrations in which it always does, or in which
first answers are mostly wrong, would teach the model the result.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations, product

import pytest

from annotator.hit_types.base import HitType, prompt_part, render_prompt
from annotator.hit_types.registry import hit_types

#: The right answer to each question that is demonstrated more than once.
RIGHT = {
    "Can people hear a dog whistle?": "NO",
    "Is a bat a mammal?": "YES",
    "Can a library make someone rich?": "NO",
    "Where should you look first for a lost boarding pass?": "A",
    "Does a sealed balloon shrink on a high mountain?": "NO",
    "Are cats good swimmers?": "YES",
    "Can glass be recycled?": "YES",
    "Does a sealed bag of crisps puff up on a high mountain?": "YES",
    "Can otters, which have fur, swim?": "YES",
    "Can a chipped jam jar become a new bottle?": "YES",
    "Where should you look first for a lost ferry ticket?": "A",
}
ASKED = re.compile(r"^(?:Follow-up question|Question): (.+)$", re.MULTILINE)


class AnyValue(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "the item's own text"


def demonstrated(kind: HitType) -> dict[str, dict[str, str]]:
    """Part of the prompt -> question -> the answer that its demonstration gives. Of two questions, the last one is answered,
    unless the part says to ignore it."""
    names = re.findall(r"^# (\S+)$", kind.prompt_text, re.MULTILINE)
    found: dict[str, dict[str, str]] = {}
    for name in names:
        messages = render_prompt(prompt_part(kind.prompt_text, name), AnyValue())[1:-1]
        pairs = zip(messages[::2], messages[1::2], strict=True)
        found[name] = {
            ASKED.findall(user.content)[-1]: reply.content.rpartition("ANSWER: ")[2]
            for user, reply in pairs
            if ASKED.search(user.content)
        }
    return found


def repeated(kind: HitType) -> list[tuple[str, str]]:
    """The pairs of parts, the earlier one first, in which the same questions are demonstrated: more than one of them."""
    found = demonstrated(kind)
    return [
        (one, other)
        for one, other in combinations(found, 2)
        if len(found[one].keys() & found[other].keys()) > 1
    ]


ASKED_OF_MODELS = sorted(name for name, kind in hit_types().items() if (kind.folder / "prompt.md").is_file())


@pytest.mark.parametrize("name", ASKED_OF_MODELS)
def test_demonstrations_of_repeated_questions_are_balanced(name: str) -> None:
    kind = hit_types()[name]
    found = demonstrated(kind)
    for first, again in repeated(kind):
        assert found[first].keys() == found[again].keys(), f"{first} and {again} show different questions"
        outcomes = Counter(
            (found[first][question] == RIGHT[question], found[again][question] == RIGHT[question])
            for question in found[first]
        )
        every = list(product((True, False), repeat=2))
        assert [outcomes[one] for one in every] == [len(found[first]) / 4] * 4, (first, again, outcomes)


def test_the_types_that_repeat_questions_are_found() -> None:
    found = {name: repeated(hit_types()[name]) for name in ASKED_OF_MODELS}
    assert {name: pairs for name, pairs in found.items() if pairs} == {
        "utility": [("before", "after")],
        "generalization_utility": [("question", "question_again"), ("follow_up", "follow_up_again")],
    }


@pytest.mark.parametrize("name", ["utility", "generalization_utility"])
def test_the_example_of_the_form_is_an_answer_of_the_item_and_not_always_the_same(name: str) -> None:
    kind = hit_types()[name]
    payload = kind.practice[0].payload
    seen: dict[str, set[str]] = {"YES or NO": set(), "A, B or C": set()}
    for n in range(40):
        options = ["a tent", "a shop", "a house"] if n % 2 else []
        texts = {"question": f"Where is owl {n}?", "follow_up": f"Where is its nest {n}?"}
        lists = {"options": options, "follow_up_options": options}
        asked = payload | {key: value for key, value in (texts | lists).items() if key in payload}
        values = kind.prompt_values(asked, 0, {})
        seen[values["answers"]].add(values["example"])
    assert seen == {"YES or NO": {"YES", "NO"}, "A, B or C": {"A", "B", "C"}}
