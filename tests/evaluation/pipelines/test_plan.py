"""A pipeline says before it starts what each step will ask and cost at most; empty steps are left out with a note."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from evaluation.models import Pipeline, Recipe, Report
from evaluation.pipelines.plan import pipeline_plan
from evaluation.pipelines.recipe import recipe_file, recipe_names
from evaluation.providers.scripted.world import truth
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute_across
from tests.evaluation.pipelines.carried import MATERIAL, material
from tests.evaluation.reports.studies import table_of
from tests.evaluation.run_factories import make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allowed")]


def test_a_dry_run_shows_calls_and_cost_and_writes_nothing(
    scripted: ScriptedProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_endpoint(scripted)
    call_command(
        "pipeline", "p1-yes-no", dataset=material("yes_no", tmp_path), endpoint="scripted", dry_run=True
    )
    told = capsys.readouterr().out
    # two questions, of which post-hoc asks once each; two systems and the forced one, ten follow-ups of each
    assert "explain-post-hoc: 2 calls" in told
    assert "counterfactuals-first: 60 calls" in told
    assert "counterfactuals-second: left out: no second model" in told
    assert "study: at most 100 items" in told
    assert [model.objects.count() for model in (Pipeline, Recipe)] == [0, 0]
    assert scripted.stats()["requests"] == 0


@pytest.mark.parametrize("name", ["p1-yes-no", "p2-medical", "p3-utility", "multiple-choice"])
def test_no_step_exceeds_the_planned_calls_and_cost(
    name: str, scripted: ScriptedProcess, tmp_path: Path
) -> None:
    endpoint = make_endpoint(scripted, model="scripted?quality=0.9")
    content = recipe_file(name)
    overrides = {"validated": {"by": "simulators"}} if name == "p3-utility" else {}
    call_command(
        "pipeline", name, dataset=material(content["task"], tmp_path), endpoint="scripted", inline=True, verbosity=0,
        override=["validated.by=simulators"] if overrides else [], allow_own_model=True,
    )  # fmt: skip
    pipeline = Pipeline.objects.get()
    inputs = list(pipeline.dataset.instances.values_list("input", flat=True))
    plans = pipeline_plan(
        content=content, instances=len(MATERIAL[content["task"]]), longest=max(map(len, inputs)), endpoint=endpoint,
        overrides=overrides,
    )  # fmt: skip
    for plan in plans:
        result = pipeline.results[plan.name]
        assert result.get("calls", 0) <= plan.calls, plan
        assert float(result.get("spent", 0)) <= float(plan.cost), plan


def test_every_shipped_recipe_can_be_planned(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted)
    for name in recipe_names():
        plans = pipeline_plan(content=recipe_file(name), instances=10, longest=100, endpoint=endpoint)
        assert sum(plan.calls for plan in plans) > 50, name


def test_forced_steps_without_a_right_answer_are_left_out_and_reported(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    make_endpoint(scripted, model="scripted?quality=1")
    path = tmp_path / "wrong.jsonl"
    rows = [row | {"answer": not truth(row["question"])} for row in MATERIAL["yes_no"]]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    call_command(
        "pipeline", "p1-yes-no", dataset=path, endpoint="scripted", inline=True, verbosity=0,
        override=["counterfactuals-first.n=2", "counterfactuals-baseline.n=2"], allow_own_model=True,
    )  # fmt: skip
    pipeline = Pipeline.objects.get()
    assert pipeline.state == "done", pipeline.reason
    left_out = {
        name
        for name, result in pipeline.results.items()
        if result.get("left_out") == "there was nothing to ask about"
    }
    assert left_out == {"explain-forced", "outputs-forced"}
    content = compute_across(
        studies=Report.objects.get().studies, choices=Choices(replicates=0), figures=False
    ).content
    notes = {row["head"][0]: row["cells"][-1]["text"] for row in table_of(content, "material-steps")["rows"]}
    assert notes["counterfactuals-second"] == "left out: no second model"
    assert {name for name, note in notes.items() if "nothing to ask" in note} == left_out
