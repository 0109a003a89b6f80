"""Every control arm of every HIT type: a clean screen, its own texts, and the same question to people and models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from annotator.core.canonical import digest_of
from annotator.hit_types.arms import ARM_TITLES, ArmTexts, arm_of, control_key, explained_key
from annotator.hit_types.base import JSON, Example, HitType, Question, Stage
from annotator.hit_types.questions import payload_fault, read_questions
from annotator.hit_types.registry import hit_types
from tests.contracts.cases import examples, payloads, seen

CONTROLLED = [kind for kind in hit_types().values() if kind.control_arms]
every_arm = pytest.mark.parametrize(
    ("kind", "arm"),
    [pytest.param(kind, arm, id=f"{kind.name}-{arm}") for kind in CONTROLLED for arm in kind.control_arms],
)


def texts(kind: HitType, arm: str) -> ArmTexts:
    return ArmTexts(kind.folder / "arms" / arm)


def pairs(kind: HitType, arm: str) -> Iterator[tuple[JSON, JSON]]:
    """Items with the explanation, and the same ones in the arm."""
    for payload in payloads(kind):
        if not kind.control_conditions or payload["explanation"]:
            yield payload, kind.control(payload, arm)


def test_four_types_have_control_arms() -> None:
    assert {kind.name: tuple(kind.control_arms) for kind in CONTROLLED} == {
        "simulation": ("answer_only", "nothing"),
        "simulation_choice": ("answer_only", "nothing"),
        "simulation_preference": ("answer_only", "nothing"),
        "forward_simulation": ("nothing",),
    }


@every_arm
def test_the_screen_shows_what_the_arm_shows_and_no_empty_box(kind: HitType, arm: str) -> None:
    for payload, control in pairs(kind, arm):
        assert arm_of(control) == arm
        assert arm_of(payload) == ""
        assert not payload_fault(kind, control)
        [stage] = kind.stages(control)
        before = kind.stages(payload)[0]
        assert all(block.text or block.items for block in stage.blocks)
        hidden = {name for name, value in kind.control_arms[arm].items() if not value}
        for block in before.blocks:
            gone = block.name in hidden or (block.name == "robot_choice" and "choice" in hidden)
            assert (block in stage.blocks) != gone or (arm == "nothing" and not gone), block
        assert payload["explanation"] not in seen(stage)
        assert stage.lead
        assert stage.lead != before.lead
        shown = {block.name for block in stage.blocks}
        assert all(set(asked.about) <= shown for asked in stage.fields)


@every_arm
def test_the_same_answers_can_be_given(kind: HitType, arm: str) -> None:
    """So that a label means the same in every arm."""
    for payload, control in pairs(kind, arm):
        assert answers(kind.stages(control)[0]) == answers(kind.stages(payload)[0])


def answers(stage: Stage) -> list[tuple[str, Any, list[str]]]:
    return [(asked.name, asked.when, [option.value for option in asked.options]) for asked in stage.fields]


@every_arm
def test_a_label_that_cannot_be_guessed_is_read_alike(kind: HitType, arm: str) -> None:
    [variable] = kind.variables
    for case in examples(kind, "valid"):
        payload = kind.parse_item(case["row"]).payload
        control = kind.control(payload, arm)
        for response in every_response(kind, payload):
            assert kind.to_ratings(control, response) == kind.to_ratings(payload, response)
            assert kind.parse_whole(control, response) == response
            reply = kind.write_reply(control, response)
            assert kind.parse_response(control, kind.parse_reply(reply, control)) == response
    assert not variable.abstain or any(label in variable.labels or label for label in variable.abstain)


def every_response(kind: HitType, payload: JSON) -> Iterator[JSON]:
    first, *rest = kind.stages(payload)[0].fields
    for option in first.options:
        if not rest or option.value == "no":
            yield {first.name: option.value}
        else:
            for second in rest[0].options:
                yield {first.name: option.value, rest[0].name: second.value}


@every_arm
def test_models_are_asked_without_what_the_arm_hides(kind: HitType, arm: str) -> None:
    own = kind.with_arms([arm])
    for payload, control in pairs(kind, arm):
        chat = "\n".join(message.content for message in own.prompt(control))
        assert payload["explanation"] not in chat
        assert own.prompt(payload) == kind.prompt(payload)
        assert chat != "\n".join(message.content for message in kind.prompt(payload))


@every_arm
def test_demonstrations_of_the_prompt_can_be_read(kind: HitType, arm: str) -> None:
    own = kind.with_arms([arm])
    control = next(control for _, control in pairs(kind, arm))
    demonstrated = [m.content for m in own.prompt(control) if m.role == "assistant"]
    assert demonstrated
    for text in demonstrated:
        assert text.rstrip().splitlines()[-1].startswith("ANSWER: ")


@every_arm
def test_practice_and_exam_have_questions_of_the_arm(kind: HitType, arm: str) -> None:
    own, found = kind.with_arms([arm]), texts(kind, arm)
    assert own.exam == (*found.exam, *kind.exam)
    assert own.practice == (*kind.practice, *found.practice)
    wrong = kind.defaults.exam_questions - kind.defaults.pass_mark
    pools = Counter(question.pool for question in found.exam)
    # Enough for two attempts; those that can't be guessed are in the pool of that rule.
    assert pools.pop(ARM_TITLES[arm]) >= 2 * (wrong + 1)
    assert set(pools) <= {question.pool for question in kind.exam}
    assert 1 <= len(found.practice) <= 2
    for question in (*found.exam, *found.practice):
        assert arm_of(question.payload) == arm
        assert read_questions(kind, [vars(question)]) == (question,)
        assert graded(kind, question)
    keys = [question.key for question in (*own.exam, *own.practice)]
    assert len(set(keys)) == len(keys)


def graded(kind: HitType, question: Question) -> bool:
    stage = kind.question_stage(question.payload, question.gold)
    assert stage.fields
    response = kind.parse_question(question.payload, question.gold, question.gold)
    return kind.grade(response, question.gold).passed


@every_arm
def test_the_exam_tells_who_never_says_that_an_answer_cannot_be_guessed(kind: HitType, arm: str) -> None:
    [variable] = kind.variables
    if variable.abstain:
        labels = {
            rating.value for q in texts(kind, arm).exam for rating in kind.to_ratings(q.payload, q.gold)
        }
        assert labels & set(variable.abstain)
        assert labels - set(variable.abstain)


@every_arm
def test_the_instructions_have_a_section_of_the_arm_with_examples(kind: HitType, arm: str) -> None:
    own = kind.with_arms([arm])
    examples_of = [part for part in own.read_instructions() if isinstance(part, Example)]
    assert any(arm_of(example.payload) == arm for example in examples_of) or kind.name == "forward_simulation"
    assert own.instructions.startswith(kind.instructions.rstrip())


@pytest.mark.parametrize("kind", CONTROLLED, ids=lambda kind: kind.name)
def test_without_control_arms_nothing_changes(kind: HitType) -> None:
    assert kind.with_arms([]) is kind
    for case in examples(kind, "valid"):
        assert "arm" not in json.dumps(list(kind.parse_item(case["row"]).payload))
    assert "arm" not in {column.name for column in kind.columns}
    assert digest_of(kind.instructions) == digest_of((kind.folder / "instructions.md").read_text("utf-8"))


def test_other_types_refuse_control_arms() -> None:
    kind = hit_types()["plausibility"]
    assert kind.with_arms(["nothing"]) is kind


@pytest.mark.parametrize("arm", ["answer_only", "nothing"])
def test_keys_can_be_traced_back(arm: str) -> None:
    assert explained_key(control_key("q (nothing)", arm), arm) == "q (nothing)"


def test_formats_of_hidden_texts_are_left_out() -> None:
    kind = hit_types()["simulation"]
    payload = {"question": "a", "explanation": "b", "answer": "yes", "follow_up": "c"}
    payload["formats"] = {"explanation": "markdown", "follow_up": "code"}
    assert kind.control(payload, "nothing") == {
        "follow_up": "c", "formats": {"follow_up": "code"}, "arm": "nothing"
    }  # fmt: skip
    payload["formats"] = {"explanation": "markdown"}
    assert "formats" not in kind.control(payload, "answer_only")
