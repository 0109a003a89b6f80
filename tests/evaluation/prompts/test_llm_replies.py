"""Replies in the styles of many models: what each must be read as, and what must be refused.

``llm-replies.jsonl`` has one reply a line. ``reader`` says what was asked for, with the study's language after a colon;
``want`` is what must be read, or a kind of refusal with an exclamation mark.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotator.hit_types.answers import Answers
from annotator.hit_types.base import Unparsable, read_answer, read_answers
from annotator.hit_types.registry import hit_type_get
from annotator.hit_types.replies import YES_NO_LABELS
from evaluation.prompts.replies import bullets, guessed_question, labelled, questions, reasoning_then_answer

REPLIES = [
    json.loads(line)
    for line in (Path(__file__).parent / "llm-replies.jsonl").read_text(encoding="utf-8").splitlines()
]
GUESS = {
    "starter": "Do owls fly?",
    "explanation": "All birds fly.",
    "answer": "yes",
    "follow_up": "Do emus fly?",
}
PREFERENCE = {
    "context": "Tea?",
    "response_1": "Yes.",
    "response_2": "No.",
    "explanation": "Short.",
    "choice": "1",
}


def guess(text: str) -> str:
    response = hit_type_get("simulation").parse_reply(text, GUESS)
    return response.get("answer") or "cannot_guess"


READERS: dict[str, Callable[[str], Any]] = {
    "guess": guess,
    "preference": lambda text: hit_type_get("simulation_preference").parse_reply(text, PREFERENCE)["choice"],
    "choice": lambda text: read_answer(
        text, Answers.of(["house", "shop", "tent"]).labels, keys=("answer", "choice")
    ),
    "several": lambda text: " ".join(read_answers(text, ["1", "2", "3"], YES_NO_LABELS).values()),
    "reasons": lambda text: reasoning_then_answer(text, "yes_no")[1],
    "questions": lambda text: questions(text, 3),
    "units": bullets,
    "guessed": lambda text: " ".join(guessed_question(text)),
    "summary": lambda text: " / ".join(labelled(text, ["Explanation", "Summary"]).values()),
}


def read(reader: str, text: str) -> Any:
    name, _, language = reader.partition(":")
    if name == "yes_no":
        return read_answer(text, YES_NO_LABELS, language=language)
    return READERS[name](text)


@pytest.mark.parametrize(
    "reply", REPLIES, ids=lambda reply: f"{reply['family']}: {reply['reader']}: {reply['text'][:40]!r}"
)
def test_each_collected_reply_has_the_expected_result(reply: dict[str, Any]) -> None:
    want = reply["want"]
    if isinstance(want, str) and want.endswith("!"):
        with pytest.raises(Unparsable) as refused:
            read(reply["reader"], reply["text"])
        assert f"{refused.value.kind}!" == want
    else:
        assert read(reply["reader"], reply["text"]) == want


def test_the_collection_covers_every_kind_of_reply() -> None:
    assert len(REPLIES) >= 300
    assert len({reply["family"] for reply in REPLIES}) >= 20
    assert sum(str(reply["want"]).endswith("!") for reply in REPLIES) >= 60
