"""Every HIT type: its exam, its practice and its instructions."""

from __future__ import annotations

import json
from typing import Any

from annotator.hit_types.base import (
    Example,
    HitType,
)
from tests.contracts.cases import (
    every_asked_type,
    every_type,
    questions,
    worked,
)

SECTIONS = ("## Your task", "## How to decide", "## Worked examples", "## Remember")
#: Worked examples that the paper's figure has (per variant); and its exam's questions with the pass mark.
FIGURES = {
    "simulation": (4, 11, 9),  # P1 Fig. 3: a first look, helpful, not helpful, both steps
    "simulation_choice": (3, 11, 9),
    "simulation_preference": (2, 11, 9),  # P1 Fig. 4
    "plausibility": (5, 8, 0),  # P1 Fig. 5
    "utility": (5, 8, 0),  # P3 Fig. 8
    "rationale_properties": (6, 8, 0),  # P3 Fig. 9
    "question_validation": (3, 8, 0),  # P3 Fig. 10
    "generalization_utility": (5, 8, 0),  # P3 Fig. 11
    "atomic_units": (3, 8, 0),  # P2 Figs 6 to 8 and 12 to 14: parsing, input, output
}


@every_asked_type
def test_exam_and_practice_are_complete_and_right(kind: HitType) -> None:
    assert len(kind.exam) >= max(8, kind.defaults.exam_questions)
    assert len(kind.practice) >= 4
    assert 0 < kind.defaults.pass_mark <= kind.defaults.exam_questions
    keys = [question.key for question in questions(kind)]
    assert len(set(keys)) == len(keys)
    for question in questions(kind):
        gold = kind.parse_gold(question.payload, question.gold)
        assert gold == question.gold, question.key
        assert kind.grade(gold, question.gold).passed
        assert len(question.reason) > 30, question.key
        assert kind.variant_of_pool(question.pool) == kind.variant(question.payload), question.key


@every_asked_type
def test_each_variant_has_an_exam_practice_and_variables_of_its_own(kind: HitType) -> None:
    for variant in kind.variants:
        payload = next(q.payload for q in kind.exam if kind.variant(q.payload) == variant)
        own = kind.for_item(payload)
        assert {kind.variant_of_pool(q.pool) for q in (*own.exam, *own.practice)} == {variant}
        assert len(own.exam) >= max(8, own.defaults.exam_questions)
        assert len(own.practice) >= 4
        assert own.headline in [variable.name for variable in own.variables]
        assert "<!--" not in own.instructions
        assert len(own.instructions) < len(kind.instructions)
    if not kind.variants:
        assert kind.for_item(kind.exam[0].payload) is kind


@every_asked_type
def test_a_second_exam_attempt_can_consist_of_other_questions(kind: HitType) -> None:
    """The key is shown after an attempt, so that the next one needs as many questions again."""
    for variant in kind.variants or ("",):
        own = [q for q in kind.exam if kind.variant_of_pool(q.pool) == variant]
        assert len(own) >= 2 * kind.defaults.exam_questions, variant
        contents = [json.dumps(q.payload, sort_keys=True) for q in own]
        assert len(set(contents)) == len(contents), "no question is in a pool twice"


def texts_of(value: Any) -> list[str]:
    """All texts in a JSON value that are more than one word."""
    if isinstance(value, str):
        return [value] if " " in value else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts_of(one)]


@every_asked_type
def test_no_exam_question_is_answered_in_the_instructions_or_the_prompt(kind: HitType) -> None:
    shown = [texts_of(e.payload) for e in worked(kind)] + [texts_of(q.payload) for q in kind.practice]
    for question in kind.exam:
        texts = texts_of(question.payload)
        assert any(text not in kind.prompt_text for text in texts), question.key
        assert sorted(texts) not in map(sorted, shown), question.key


@every_asked_type
def test_a_question_page_shows_all_that_it_asks_about(kind: HitType) -> None:
    asked = [(q.payload, q.gold) for q in questions(kind)] + [(e.payload, e.response) for e in worked(kind)]
    for payload, gold in asked:
        page = kind.question_stage(payload, gold)
        shown = {block.name for block in page.blocks}
        assert all(field.target in ("", *shown) for field in page.fields)
        assert set(gold) <= {field.name for field in page.fields}
        for stage in kind.stages(payload):
            if any(field.name in gold for field in stage.fields):
                assert {block.name for block in stage.blocks} <= shown


@every_asked_type
def test_exam_cannot_be_passed_by_always_choosing_one_option(kind: HitType) -> None:
    golds = [json.dumps(question.gold, sort_keys=True) for question in kind.exam]
    commonest = max(golds.count(gold) for gold in golds)
    assert commonest < kind.defaults.pass_mark * len(golds) / kind.defaults.exam_questions


@every_asked_type
def test_instructions_have_their_sections_and_examples(kind: HitType) -> None:
    for variant in kind.variants or ("",):
        parts = kind.read_instructions(variant=variant)
        text = "\n".join(part.markdown for part in parts if not isinstance(part, Example))
        at = [text.find(section) for section in SECTIONS]
        assert -1 not in at, (variant, SECTIONS[at.index(-1)])
        assert at == sorted(at)
        found = [part for part in parts if isinstance(part, Example)]
        assert len(found) >= 3, variant
        assert "HIT" not in text.split()
        for example in found:
            assert kind.parse_gold(example.payload, example.response) == example.response, example.title
            assert len(example.reasoning) > 30
            assert kind.variant(example.payload) == variant


@every_type
def test_words_for_annotators_are_plain(kind: HitType) -> None:
    for payload in [question.payload for question in questions(kind)]:
        for stage in kind.stages(payload):
            words = " ".join(
                [stage.title, stage.lead]
                + [f"{f.label} {f.help}" for f in stage.fields]
                + [block.label for block in stage.blocks]
            ).lower()
            for term in ("hit ", "counterfactual", "model", "rationale", "simulat", "payload"):
                assert term not in words, (stage.name, term)


@every_asked_type
def test_examples_and_exams_are_as_many_as_the_papers(kind: HitType) -> None:
    examples_least, exam_least, pass_mark = FIGURES.get(kind.name, (1, 8, 0))
    assert kind.defaults.exam_questions >= exam_least
    if pass_mark:
        assert (kind.defaults.exam_questions, kind.defaults.pass_mark) == (exam_least, pass_mark)
    for variant in kind.variants or ("",):
        own = [q for q in kind.exam if kind.variant_of_pool(q.pool) in ("", variant)]
        assert len(own) >= kind.defaults.exam_questions, variant
        assert all(len(q.reason) > 20 for q in own), "each with the reason"
        shown = [p for p in kind.read_instructions(variant=variant) if isinstance(p, Example)]
        assert len(shown) >= examples_least, variant
        assert all(part.reasoning.strip() for part in shown)
