"""What every kind of step must fulfil; the tests of this folder apply it to those that ship, and to one that is added."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command

from annotator.models import AtomicUnit, Explanation, FollowUp, Item, Judgment, Output
from evaluation.models import Endpoint, FineTuning, Pipeline, Report, Reward, Run
from evaluation.pipelines.advance import pipeline_step_again, step_advance
from evaluation.pipelines.contract import PipelineStep, step_kind
from evaluation.pipelines.model_step import ModelStep
from evaluation.pipelines.plan import pipeline_plan
from evaluation.pipelines.recipe import RecipeError, recipe_check
from tests.evaluation.pipelines.carried import material, questions
from tests.evaluation.run_factories import make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess

Recipe = Mapping[str, Any]
#: No option takes all of these.
IMPOSSIBLE: tuple[Any, ...] = (3.5, "nothing like it", [[]], {"a": []})
ROWS = (Explanation, FollowUp, Output, AtomicUnit, Item, Judgment, Reward, FineTuning, Run, Report)


def step_of(kind: PipelineStep, recipes: list[Recipe]) -> tuple[Recipe, int]:
    """A recipe with such a step, and the step's number in it."""
    for recipe in recipes:
        for number, step in enumerate(recipe["steps"]):
            if step["kind"] == kind.name:
                return recipe, number
    raise AssertionError(f"no recipe has a step of the kind {kind.name}")


def changed(recipe: Recipe, number: int, **options: Any) -> dict[str, Any]:
    """The recipe with other options of one step; those that are None are left out."""
    copy: dict[str, Any] = deepcopy(dict(recipe))
    step = copy["steps"][number]
    step["options"] = {k: v for k, v in (step.get("options", {}) | options).items() if v is not None}
    return copy


def words_check(kind: PipelineStep) -> None:
    assert isinstance(kind, PipelineStep)
    assert type(step_kind(kind.name)) is type(kind)
    assert kind.title
    assert (type(kind).__doc__ or "").strip()
    assert kind.words or not isinstance(kind, ModelStep)
    for words in kind.words.values():
        assert 1 <= len(words) <= 2
        assert all(words)


def options_check(kind: PipelineStep, recipes: list[Recipe]) -> None:
    recipe, number = step_of(kind, recipes)
    name = recipe["steps"][number]["name"]
    assert recipe_check(recipe)
    assert kind.options
    for option in kind.options:
        refused = []
        for value in IMPOSSIBLE:
            try:
                recipe_check(changed(recipe, number, **{option: value}))
            except RecipeError as error:
                refused.append(str(error))
        assert refused, f"{option} takes anything"
        assert all(text.startswith(f"{name}: {option}: ") for text in refused), refused
    for option in kind.required:
        with pytest.raises(RecipeError, match=f"^{name}: {option}: is missing"):
            recipe_check(changed(recipe, number, **{option: None}))


def plan_check(kind: PipelineStep, recipes: list[Recipe]) -> None:
    recipe, _ = step_of(kind, recipes)
    endpoint = Endpoint(pk=1, name="lab", model="m", price_in=1, price_out=2)
    first, second = (
        pipeline_plan(content=recipe, instances=7, longest=100, endpoint=endpoint) for _ in range(2)
    )
    assert first == second
    assert [(plan.name, plan.kind) for plan in first] == [
        (step["name"], step["kind"]) for step in recipe["steps"]
    ]
    own = [plan for plan in first if plan.kind == kind.name]
    assert any(plan.calls for plan in own) == isinstance(kind, ModelStep)
    assert all((plan.cost > 0) == (plan.calls > 0) for plan in own)


def done(recipe: Recipe, scripted: ScriptedProcess, folder: Path) -> Pipeline:
    """The pipeline of a recipe on the scripted provider, carried out."""
    make_endpoint(scripted, model="scripted?quality=0.7")
    file = folder / "recipe.json"
    file.write_text(json.dumps(recipe), encoding="utf-8")
    path = material("news", folder) if recipe["task"] == "news" else questions(folder)
    call_command(
        "pipeline", str(file), dataset=path, endpoint="scripted", inline=True, verbosity=0, allow_own_model=True
    )  # fmt: skip
    pipeline = Pipeline.objects.get()
    assert pipeline.state == "done"
    return pipeline


def twice_check(pipeline: Pipeline) -> None:
    """Each step of a finished pipeline gives the same result if it's carried out again, and makes no rows."""
    counts = {model: model.objects.count() for model in ROWS}
    for step in pipeline.recipe.content["steps"]:
        result = pipeline.results[step["name"]]
        assert step_advance(pipeline, step) == result, step["name"]
        assert pipeline.state == "done"
    assert {model: model.objects.count() for model in ROWS} == counts


def repeat_check(pipeline: Pipeline) -> None:
    """Each step can be repeated, or says why not; it then still has its result."""
    refused: list[str] = []
    for step in pipeline.recipe.content["steps"]:
        try:
            made = pipeline_step_again(pipeline=pipeline, name=step["name"])
        except ValidationError as error:
            refused.append("; ".join(error.messages))
        else:
            assert made.pk
    assert all(refused)
    before = pipeline.results
    pipeline.refresh_from_db()
    assert pipeline.results == before
