"""Built-in exams: somebody who breaks any one rule of the instructions can't pass, whichever questions are drawn.

The chance of passing is exact for a first attempt: questions are drawn without replacement from each pool, so the number
of wrong answers is a sum of hypergeometric ones. Second attempts, which prefer new questions, are drawn with many seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import comb
from random import Random

import pytest

from annotator.core.allocation import exam_draw
from annotator.hit_types.base import HitType, Question
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.registry import hit_type_get, hit_types

#: Whether somebody who breaks the rule answers a question wrongly.
Fails = Callable[[Question], bool]


def of_pool(pool: str) -> Fails:
    """Every question of the pool is made so that breaking its rule gives a wrong answer."""
    return lambda question: question.pool == pool


def gold_is(name: str, value: str) -> Fails:
    """Never answering ``value`` to the field ``name``."""
    return lambda question: question.gold.get(name) == value


def some_gold_is(value: str) -> Fails:
    """Never answering ``value`` to anything."""
    return lambda question: value in question.gold.values()


def reversed_follow_up(question: Question) -> bool:
    """Giving the follow-up question the answer of the first one."""
    return question.gold["after"] != question.gold["follow_up_after"]


PREDICTIONS: dict[str, Fails] = {
    "answers what is true (rule 1)": of_pool("rule 1"),
    "finds nothing helpful where a fact is missing (rule 2)": of_pool("rule 2"),
    "never says Not helpful": gold_is("helpful", "no"),
    "always says Not helpful": gold_is("helpful", "yes"),
}
RULES: dict[str, dict[str, Fails]] = {
    "simulation": PREDICTIONS,
    "simulation_choice": PREDICTIONS,
    "simulation_revised": PREDICTIONS,
    "simulation_preference": {
        "never says Equally likely": gold_is("choice", "equally_likely"),
        "chooses the more helpful response": of_pool("odd reasons"),
    },
    "forward_simulation": {
        "ignores explanations": of_pool("explanation"),
        "ignores the words that counted": of_pool("words"),
    },
    "utility": {
        "answers what is true": of_pool("explanation alone"),
        "ignores what follows from an explanation": of_pool("work it out"),
    },
    "generalization_utility": {
        "answers what is true": of_pool("explanation alone"),
        "repeats the answer for the follow-up question": reversed_follow_up,
    },
    "plausibility": {
        "never says Moderate": some_gold_is("moderate"),
        "never says No": some_gold_is("no"),
        "never says Yes": some_gold_is("yes"),
        "takes whatever is true for a justification": of_pool("no reason"),
    },
    **{
        f"rationale_properties {group}": {
            f"always says {said} to {name}": gold_is(name, other)
            for name in names
            for said, other in (("yes", "no"), ("no", "yes"))
        }
        for group, names in {
            "surface_form": ("grammaticality", "validity"),
            "support": ("association", "contrast"),
            "informativeness": ("novelty", "leakage"),
            "style": ("coherence", "conciseness"),
        }.items()
    },
}
VALIDATION: dict[str, Fails] = {
    "always says that a question is of its kind": gold_is("relation", "no"),
    "never says that a question is of its kind": gold_is("relation", "yes"),
    "always says that the context answers it": gold_is("answerable", "no"),
}
#: Asked of similar reasoning alone, whose questions are in the exam of a study of all kinds too.
ANSWERS: dict[str, Fails] = {"always says that its answer is right": gold_is("answer_right", "no")}
#: The types with variants: the exam of a study of one variant, and of a study of all.
RULES |= {f"question_validation {kind}": VALIDATION for kind in ("rephrase", "counterfactual")}
RULES |= dict.fromkeys(("question_validation", "question_validation similar_reasoning"), VALIDATION | ANSWERS)
RULES |= {f"atomic_units {domain}": {"never says No": some_gold_is("no")} for domain in ("news", "medical")}
CASES = [(name, rule) for name, rules in RULES.items() for rule in rules]


def exam_of(name: str) -> tuple[HitType, list[Question]]:
    kind_name, _, variant = name.partition(" ")
    kind = hit_type_get(kind_name)
    return kind, [q for q in kind.exam if not variant or kind.variant_of_pool(q.pool) == variant]


def chance_of_passing(questions: list[Question], fails: Fails, *, count: int, pass_mark: int) -> float:
    """The exact chance that at most ``count - pass_mark`` of the drawn questions are answered wrongly."""
    by_key = {question.key: question.pool for question in questions}
    drawn = exam_draw(list(by_key.items()), count=count, rng=Random(1))
    from_pool = Counter(by_key[key] for key in drawn)
    wrong = {0: 1.0}
    for pool, taken in from_pool.items():
        size = sum(q.pool == pool for q in questions)
        bad = sum(fails(q) for q in questions if q.pool == pool)
        here = {
            k: comb(bad, k) * comb(size - bad, taken - k) / comb(size, taken)
            for k in range(max(0, taken - size + bad), min(bad, taken) + 1)
        }
        wrong_before, wrong = wrong, {}
        for before, chance in wrong_before.items():
            for k, more in here.items():
                wrong[before + k] = wrong.get(before + k, 0.0) + chance * more
    return sum(chance for number, chance in wrong.items() if number <= count - pass_mark)


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_breaking_one_rule_always_fails_the_exam(name: str, rule: str) -> None:
    kind, questions = exam_of(name)
    count, pass_mark = kind.defaults.exam_questions, kind.defaults.pass_mark
    assert chance_of_passing(questions, RULES[name][rule], count=count, pass_mark=pass_mark) == 0


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_breaking_one_rule_fails_a_second_attempt_too(name: str, rule: str) -> None:
    kind, questions = exam_of(name)
    count, pass_mark = kind.defaults.exam_questions, kind.defaults.pass_mark
    by_key = {question.key: question for question in questions}
    pools = [(question.key, question.pool) for question in questions]
    for seed in range(60):
        seen: set[str] = set()
        for attempt in range(2):
            drawn = exam_draw(pools, count=count, rng=Random(f"{seed} {attempt}"), seen=seen)
            right = sum(not RULES[name][rule](by_key[key]) for key in drawn)
            assert right < pass_mark, (attempt, drawn)
            seen.update(drawn)


def test_without_pools_somebody_who_breaks_a_rule_may_pass() -> None:
    """What the pools are for: the same questions in one pool let such people pass."""
    kind, questions = exam_of("simulation")
    one_pool = [Question(q.key, q.payload, q.gold, q.reason, "") for q in questions]
    keys = {q.key for q in questions if q.pool == "rule 1"}
    chance = chance_of_passing(one_pool, lambda q: q.key in keys, count=11, pass_mark=9)
    assert chance > 0.3
    assert kind.defaults.pass_mark == 9


def test_every_built_in_type_is_computed() -> None:
    """The exams of types that are declared in files are short examples, to be replaced by a study's own."""
    asked = {
        name
        for name, kind in hit_types().items()
        if not kind.external and not isinstance(kind, DeclaredHitType)
    }
    assert {name.partition(" ")[0] for name in RULES} == asked
