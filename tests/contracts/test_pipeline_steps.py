"""Every kind of step: its words, its options, its plan, and what happens if it's carried out twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluation.core.step_kinds import STEP_KINDS
from evaluation.pipelines.contract import PipelineStep
from evaluation.pipelines.recipe import recipe_file, recipe_names
from tests.contracts.step_checks import (
    Recipe,
    done,
    options_check,
    plan_check,
    repeat_check,
    twice_check,
    words_check,
)
from tests.evaluation.scripted_process import ScriptedProcess

SHIPPED: list[Recipe] = [recipe_file(name) for name in recipe_names()]
every_kind = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in STEP_KINDS])


@every_kind
def test_a_kind_has_a_title_a_description_and_words(kind: PipelineStep) -> None:
    words_check(kind)


@every_kind
def test_bad_options_are_refused_and_named(kind: PipelineStep) -> None:
    options_check(kind, SHIPPED)


@pytest.mark.django_db  # the likely cost is that of earlier replies
@every_kind
def test_a_kind_is_planned_the_same_each_time(kind: PipelineStep) -> None:
    plan_check(kind, SHIPPED)


#: A short recipe with the kinds of step that train a model.
TRAINED: Recipe = {
    "name": "trained",
    "title": "Trained",
    "task": "yes_no",
    "steps": [
        {"name": "generalization", "kind": "generalization", "options": {"n": 1, "kinds": ["rephrase"]}},
        {"name": "validation", "kind": "study", "options": {"hit_type": "question_validation"}},
        {"name": "validators", "kind": "simulate", "options": {"study": "validation"}},
        {"name": "validated", "kind": "validate", "options": {"study": "validation", "by": "simulators"}},
        {"name": "alone", "kind": "gen_u", "options": {"rationale": "", "questions": "validated"}},
        {
            "name": "rationales",
            "kind": "explain",
            "options": {"method": "answer_reason", "system": "{model} · round", "part": "train"},
        },
        {
            "name": "rewards",
            "kind": "reward",
            "options": {"system": "{model} · round", "questions": "validated"},
        },
        {"name": "tune", "kind": "fine_tune", "options": {"epochs": 1}},
        {
            "name": "chosen",
            "kind": "choose_round",
            "options": {"rounds": [{"tuned": "tune", "system": "{model} · round"}]},
        },
        {"name": "report", "kind": "report", "options": {"study": "validation"}},
    ],
}
TWICE = {"p2-news": recipe_file("p2-news"), "trained": TRAINED}


def test_the_recipes_that_are_carried_out_twice_have_every_kind() -> None:
    held = {step["kind"] for recipe in TWICE.values() for step in recipe["steps"]}
    assert held == set(STEP_KINDS.names())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", TWICE)
def test_steps_can_be_carried_out_twice(
    name: str, scripted: ScriptedProcess, settings: Any, tmp_path: Path
) -> None:
    settings.LLM_ALLOWED_HOSTS = [scripted.host]
    pipeline = done(TWICE[name], scripted, tmp_path)
    twice_check(pipeline)
    repeat_check(pipeline)
