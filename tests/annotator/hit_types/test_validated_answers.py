"""Figure 10 of Joshi et al. 2023: whether a question's answer is right is asked of similar reasoning alone."""

from __future__ import annotations

from typing import Any

import pytest

from annotator.hit_types.base import FieldErrors, Unparsable
from annotator.hit_types.registry import hit_type_get

ROW: dict[str, Any] = {
    "context": "Copper takes decades to turn green. The roof was laid last year.", "question": "Is the roof green?",
    "follow_up": "Has the roof turned green?", "answer": "no", "gold_label": "no",
}  # fmt: skip
KIND = hit_type_get("question_validation")


def payload_of(kind: str) -> dict[str, Any]:
    return KIND.parse_item(ROW | {"kind": kind}).payload


@pytest.mark.parametrize(
    ("kind", "asked"),
    [("rephrase", False), ("counterfactual", False), ("similar_reasoning", True)],
)
def test_form_prompt_instructions_and_exam_ask_for_the_answer_of_similar_reasoning_only(
    kind: str, asked: bool
) -> None:
    payload = payload_of(kind)
    (stage,) = KIND.stages(payload)
    names = [field.name for field in stage.fields]
    assert names == ["relation", "answerable", *(["answer_right"] if asked else [])]
    text = " ".join(message.content for message in KIND.prompt(payload))
    assert ("Is the answer to the accompanying question right" in text) == asked
    assert ("Answer to the accompanying question:" in text) == asked
    study = KIND.for_items([payload])
    assert ("Is its answer right?" in study.instructions) == asked
    assert any("answer_right" in question.gold for question in (*study.exam, *study.practice)) == asked


@pytest.mark.parametrize("kind", ["rephrase", "counterfactual"])
def test_replies_and_responses_of_the_other_kinds_have_two_answers(kind: str) -> None:
    payload = payload_of(kind)
    response = {"relation": "yes", "answerable": "no"}
    assert KIND.parse_reply("ANSWER: 1=YES; 2=NO", payload) == response
    assert KIND.parse_reply(KIND.write_reply(payload, response), payload) == response
    assert KIND.parse_response(payload, response | {"answer_right": "yes"}) == response
    similar = payload_of("similar_reasoning")
    with pytest.raises(Unparsable):
        KIND.parse_reply("ANSWER: 1=YES; 2=YES", similar)
    with pytest.raises(FieldErrors):
        KIND.parse_response(similar, {"relation": "yes", "answerable": "yes"})


def test_a_correct_answer_about_what_is_not_asked_is_refused() -> None:
    gold = {"relation": "yes", "answerable": "yes", "answer_right": "yes"}
    with pytest.raises(FieldErrors, match="answer_right: is not asked here"):
        KIND.parse_item(ROW | {"kind": "rephrase", "gold": gold})
    assert KIND.parse_item(ROW | {"kind": "similar_reasoning", "gold": gold}).gold == gold
