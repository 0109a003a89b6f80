"""Exams: somebody who breaks any one rule of the instructions can't pass, whichever questions are drawn.

The chance of passing is exact for a first attempt: questions are drawn without replacement from each pool, so the number
of wrong answers is a sum of hypergeometric ones. Second attempts, which prefer new questions, are drawn with many seeds.
What is a rule, which questions test it, and what no question can test, is in each type's ``exam_rules.json``.
"""

from __future__ import annotations

from random import Random

import pytest

from annotator.core.allocation import exam_draw
from annotator.hit_types.base import HitType, Question
from annotator.hit_types.registry import hit_type_get
from tests.contracts.exam_rules import (
    Broken,
    cases,
    chance_of_passing,
    exams_of,
    instruction_rules,
    rules_of,
    types_with_exam,
)

CASES = [
    pytest.param(name, exam, broken, id=f"{name} {exam} {broken.breaks}") for name, exam, broken in cases()
]
every_type = pytest.mark.parametrize("name", types_with_exam())


def exam_of(name: str, exam: str) -> tuple[HitType, list[Question]]:
    kind = exams_of(hit_type_get(name))[exam]
    return kind, list(kind.exam)


@pytest.mark.parametrize(("name", "exam", "broken"), CASES)
def test_breaking_one_rule_always_fails_the_exam(name: str, exam: str, broken: Broken) -> None:
    """Or passes it with the chance that is documented, with the reason."""
    kind, questions = exam_of(name, exam)
    count, pass_mark = kind.defaults.exam_questions, kind.defaults.pass_mark
    chance = chance_of_passing(questions, broken.fails, count=count, pass_mark=pass_mark)
    assert chance == pytest.approx(broken.passes, abs=0.005)
    assert (chance == 0) == (broken.why == "")


@pytest.mark.parametrize(("name", "exam", "broken"), CASES)
def test_breaking_one_rule_fails_a_second_attempt_too(name: str, exam: str, broken: Broken) -> None:
    kind, questions = exam_of(name, exam)
    count, pass_mark = kind.defaults.exam_questions, kind.defaults.pass_mark
    by_key = {question.key: question for question in questions}
    pools = [(question.key, question.pool) for question in questions]
    for seed in range(40 if broken.passes == 0 else 0):
        seen: set[str] = set()
        for attempt in range(2):
            drawn = exam_draw(pools, count=count, rng=Random(f"{seed} {attempt}"), seen=seen)
            right = sum(not broken.fails(by_key[key]) for key in drawn)
            assert right < pass_mark, (attempt, drawn)
            seen.update(drawn)


ARMED = [name for name, kind in types_with_exam().items() if kind.control_arms]


@pytest.mark.parametrize("name", ARMED)
def test_an_exam_with_arms_allows_as_many_wrong_answers_as_without(name: str) -> None:
    plain = hit_type_get(name).defaults
    wrong = plain.exam_questions - plain.pass_mark
    for exam, kind in exams_of(hit_type_get(name)).items():
        more = (wrong + 1) * len(exam.split())
        assert kind.defaults.exam_questions == plain.exam_questions + more
        assert kind.defaults.pass_mark == plain.pass_mark + more
        assert (
            len(kind.exam) >= 2 * kind.defaults.exam_questions
        )  # enough for a second attempt with other questions


@pytest.mark.parametrize("name", ARMED)
def test_with_the_numbers_of_an_exam_without_arms_somebody_who_breaks_a_rule_may_pass(name: str) -> None:
    """What the larger exam is for."""
    kind = hit_type_get(name)
    plain, armed = kind.defaults, kind.with_arms(kind.control_arms)
    always_caught = [broken for broken in rules_of(name)[0] if broken.passes == 0]
    assert any(
        chance_of_passing(
            list(armed.exam), broken.fails, count=plain.exam_questions, pass_mark=plain.pass_mark
        )
        for broken in always_caught
    )


@every_type
def test_every_rule_of_the_instructions_is_tested_or_says_why_not(name: str) -> None:
    broken, entries = rules_of(name)
    known = {one.breaks for one in broken}
    used: set[str] = set()
    kind = hit_type_get(name)
    texts = instruction_rules(kind.with_arms(kind.control_arms).instructions)
    assert texts
    for text in texts:
        (entry,) = [one for one in entries if text.startswith(one["text"])]
        assert ("breaks" in entry) != ("untested" in entry), text
        assert set(entry.get("breaks", ())) <= known, text
        assert entry.get("breaks") or len(entry["untested"].split()) > 1, text
        used |= set(entry.get("breaks", ()))
    for entry in entries:
        assert any(text.startswith(entry["text"]) for text in texts), entry["text"]
    assert used, "no rule of the instructions is tested"


@every_type
def test_every_question_tests_a_rule(name: str) -> None:
    """A question that whoever breaks a rule would answer rightly, whatever the rule, tells nothing."""
    broken, _ = rules_of(name)
    for kind in exams_of(hit_type_get(name)).values():
        for question in kind.exam:
            assert any(one.fails(question) for one in broken) or _shows_the_ordinary(kind, question)


def _shows_the_ordinary(kind: HitType, question: Question) -> bool:
    """Some questions are there so that not every answer is the unusual one."""
    return (kind.name, question.pool) in {
        ("simulation_revised", "first guess"),
        ("forward_simulation", "agrees with the truth"),
        ("generalization_utility", "same answer"),
        ("atomic_units", "news/list"),
        ("atomic_units", "medical/list"),
    }


@every_type
def test_what_somebody_does_who_breaks_a_rule_names_questions_that_exist(name: str) -> None:
    kind = hit_type_get(name)
    kind = kind.with_arms(kind.control_arms)
    keys, pools = {q.key for q in kind.exam}, {q.pool for q in kind.exam}
    for broken in rules_of(name)[0]:
        for one in broken.wrong:
            named = one.get("pool", [])
            assert set(one.get("keys", ())) <= keys
            assert set([named] if isinstance(named, str) else named) <= pools
            assert any(broken.fails(question) for question in kind.exam)


def test_without_pools_somebody_who_breaks_a_rule_may_pass() -> None:
    """What the pools are for: the same questions in one pool let such people pass."""
    kind, questions = exam_of("simulation", "")
    one_pool = [Question(q.key, q.payload, q.gold, q.reason, "") for q in questions]
    keys = {q.key for q in questions if q.pool == "rule 1"}
    chance = chance_of_passing(one_pool, lambda q: q.key in keys, count=11, pass_mark=9)
    assert chance > 0.3
    assert kind.defaults.pass_mark == 9


def test_the_rules_of_instructions_are_found() -> None:
    text = (
        "## Your task\n\nRead **one\nthing** and\n\n- say *what* it is,\n  in a word.\n\n1. First.\n\n```example\n- not this\n```\n\n"
        "**Rule 1. Stick** to it.\n> **Important.** Mind this.\n"
    )
    assert instruction_rules(text) == [
        "say what it is, in a word.",
        "First.",
        "Rule 1. Stick to it.",
        "Important. Mind this.",
    ]
