"""Recipes that study several models, and the evaluator that they share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from annotator.models import Explanation, FollowUp, Item
from evaluation.models import Pipeline
from evaluation.pipelines.create import overrides_check
from evaluation.pipelines.plan import pipeline_plan
from evaluation.pipelines.recipe import RecipeError, recipe_check, recipe_file
from tests.evaluation.pipelines.carried import carried_out, material
from tests.evaluation.run_factories import make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allowed", "small")]
MODEL, OTHER, EVALUATOR = "scripted?quality=1", "scripted?quality=0.9", "scripted?quality=1&seed=5"


def test_one_evaluator_writes_and_judges_for_all_models_that_are_compared(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    first = carried_out(
        "p2-news", scripted, tmp_path, model=MODEL, evaluator=EVALUATOR, allow_own_model=False
    )
    assert first.state == "done"
    asked = {run.options["step"]: run.model for run in first.runs.all()}
    assert {asked[step] for step in ("counterfactuals", "units", "simulators")} == {EVALUATOR}
    assert {
        asked[step] for step in ("explain-cot", "explain-post-hoc", "outputs-cot", "from-explanation-cot")
    } == {MODEL}
    assert set(FollowUp.objects.values_list("generator", flat=True)) == {EVALUATOR}

    def second(**options: Any) -> None:
        make_endpoint(scripted, name="other", model=OTHER)
        call_command(
            "pipeline", "p2-news", dataset=material("news", tmp_path), endpoint="other", inline=True, verbosity=0, **options
        )  # fmt: skip

    with pytest.raises(
        CommandError, match=f"one evaluator must write .* name '{EVALUATOR}'".replace("?", r"\?")
    ):
        second(allow_own_model=True)
    assert Pipeline.objects.count() == 1


def test_a_third_model_is_studied_beside_the_second(scripted: ScriptedProcess, tmp_path: Path) -> None:
    third = "scripted?quality=0.8"
    pipeline = carried_out("p3-utility", scripted, tmp_path, model=MODEL, second=OTHER, third=third)
    assert pipeline.state == "done"
    names = {f"{model} · answer then reason" for model in (MODEL, OTHER, third)}
    assert "left_out" in pipeline.results["explain-cot"], (
        "two prompt forms of one model are no models compared"
    )
    explained = Explanation.objects.filter(instance__dataset=pipeline.dataset)
    assert set(explained.values_list("system__name", flat=True)) == names | {"gold"}
    assert (
        set(Item.objects.filter(study=pipeline.study).values_list("explanation__system__name", flat=True))
        == names
    )
    for slot in ("second", "third"):
        assert pipeline.results[f"gen-u-with-{slot}"]["calls"]


def test_the_plan_of_one_model_has_its_two_forms(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, model=MODEL)
    for overrides, gone in (
        ({}, {"explain-second", "explain-third", "gen-u-with-second", "gen-u-with-third"}),
        ({"*": {"second": OTHER}}, {"explain-cot", "gen-u-with-cot", "explain-third", "gen-u-with-third"}),
    ):
        plan = pipeline_plan(
            content=recipe_file("p3-utility"),
            instances=3,
            longest=100,
            endpoint=endpoint,
            overrides=overrides,
        )
        assert {step.name for step in plan if step.note.startswith("left out")} == gone


def test_what_a_recipe_says_of_its_slots_is_checked() -> None:
    step = {"name": "a", "kind": "explain", "options": {"method": "cot"}}
    for wrong in ({"without_third": 3}, {"with_second": {}}):
        with pytest.raises(RecipeError, match=r"(third|second): expected"):
            recipe_check({"name": "x", "task": "yes_no", "steps": [step | wrong]})
    with pytest.raises(ValidationError, match="expected one of"):
        overrides_check(content={"steps": [step]}, overrides={"*": {"fourth": "m"}})
