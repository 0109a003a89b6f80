"""Each recipe that ships, from a file of material to its report, on the scripted provider."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from annotator.core.tables.faults import FileRefused
from annotator.models import AtomicUnit, Dataset, Explanation, FollowUp, Item, Judgment, Output
from benchmarks.llm.recipes import material_files
from evaluation.models import Endpoint, Pipeline, Recipe, Report, Run
from evaluation.pipelines.advance import pipeline_advance, pipeline_cancel, pipeline_step_again
from evaluation.pipelines.create import pipeline_create, recipe_save
from evaluation.pipelines.recipe import RecipeError, recipe_check, recipe_file, recipe_names
from evaluation.runs.inline import run_inline
from evaluation.runs.lifecycle import run_start
from evaluation.services.dataset import dataset_load
from tests.evaluation.pipelines.carried import MATERIAL, carried_out, material  # noqa: F401
from tests.evaluation.reports.one_truth import check_one_truth, check_sentences
from tests.evaluation.run_factories import make_endpoint, material_run_create
from tests.evaluation.scripted_process import ScriptedProcess
from tests.public_data import PublicData

#: Training needs more questions than these tests have: see test_quark.py.
ONCE_THROUGH = [name for name in recipe_names() if name != "p3-quark"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allowed")]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ONCE_THROUGH)
def test_a_recipe_runs_with_an_endpoint_that_enforces_a_schema(
    name: str, scripted: ScriptedProcess, tmp_path: Path
) -> None:
    make_endpoint(scripted, model="scripted?quality=0.9", structured=True)
    recipe = recipe_file(name)
    recipe["steps"] = [step for step in recipe["steps"] if step["kind"] != "report"]
    own = tmp_path / "recipe.json"
    own.write_text(json.dumps(recipe), encoding="utf-8")
    path = material(recipe["task"], tmp_path)
    override = ["validated.by=simulators"] if name == "p3-utility" else []
    call_command(
        "pipeline",
        str(own),
        dataset=path,
        endpoint="scripted",
        inline=True,
        limit=1,
        verbosity=0,
        override=override,
        allow_own_model=True,
    )
    pipeline = Pipeline.objects.get()
    assert pipeline.state == "done"
    for run in pipeline.runs.all():
        assert set(run.calls.values_list("state", "error")) == {("done", "")}, run.kind
        call = run.calls.order_by("pk")[0]
        assert call.request["response_format"]["json_schema"]["strict"] is True
        assert set(json.loads(call.text)) == set(
            call.request["response_format"]["json_schema"]["schema"]["required"]
        )


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ONCE_THROUGH)
def test_a_recipe_runs_from_its_material_to_its_report(
    name: str, scripted: ScriptedProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("evaluation.management.commands.pipeline.time", SimpleNamespace(sleep=waits.append))
    pipeline = carried_out(name, scripted, tmp_path)
    assert pipeline.state == "done"
    assert waits == [], "a step that follows from the one before waited"
    assert set(pipeline.results) == {step["name"] for step in pipeline.recipe.content["steps"]}
    for step, result in pipeline.results.items():
        assert not result.get("unparsable"), (
            step,
            Run.objects.get(pk=result["run"]).calls.values_list("text", "error"),
        )
        assert not result.get("failed"), step
    assert Explanation.objects.filter(instance__dataset=pipeline.dataset).exists()
    for study in {r["study"] for r in pipeline.results.values() if "study" in r}:
        items = Item.objects.filter(study__slug=study)
        assert items.exists(), study
        assert Judgment.objects.filter(study__slug=study).count() == items.count()
    report = Report.objects.latest("pk")
    assert check_sentences(report.content or {}), "the recipe's report states figures"
    assert check_one_truth(report.content or {}), "the recipe's report has figures in several places"
    if name.startswith("p2"):
        roles = set(AtomicUnit.objects.values_list("role", flat=True))
        assert roles == ({"both"} if name == "p2-news" else {"input", "output"})


@pytest.mark.usefixtures("small")
def test_repeating_finished_steps_sends_no_requests(scripted: ScriptedProcess, tmp_path: Path) -> None:
    pipeline = carried_out("p2-medical", scripted, tmp_path)
    counts = {model: model.objects.count() for model in (Explanation, FollowUp, Output, AtomicUnit)}
    requests = scripted.stats()["requests"]
    assert pipeline_advance(pipeline_pk=pipeline.pk) == "done"
    again = run_inline(run=pipeline_step_again(pipeline=pipeline, name="explain-cot"))
    assert (again.state, again.spent_cost) == ("done", 0)  # from the cache, and the same explanation
    with pytest.raises(ValidationError, match="nothing to ask"):
        pipeline_step_again(pipeline=pipeline, name="units")
    with pytest.raises(ValidationError, match="report starts no run"):
        pipeline_step_again(pipeline=pipeline, name="report", choices={"labels_of": "simulators"})
    assert {model: model.objects.count() for model in counts} == counts
    assert scripted.stats()["requests"] == requests


def test_a_pipeline_stopped_anywhere_can_continue(scripted: ScriptedProcess, tmp_path: Path) -> None:
    endpoint = make_endpoint(scripted)
    dataset, _ = dataset_load(name="d", path=material("news", tmp_path), task="news")
    pipeline = pipeline_create(
        recipe=recipe_save(content=recipe_file("p2-news")), dataset=dataset, endpoint=endpoint
    )
    for _ in range(40):  # as if killed after each turn: every turn begins from the rows alone
        if pipeline_advance(pipeline_pk=pipeline.pk) == "done":
            break
        assert pipeline_advance(pipeline_pk=pipeline.pk) == "waiting"
        assert Run.objects.filter(pipeline=pipeline, state="running").count() == 1
        run_inline(run=Run.objects.get(pipeline=pipeline, state="running"))
    pipeline.refresh_from_db()
    assert pipeline.state == "done"
    steps = [step for step in pipeline.recipe.content["steps"] if step["kind"] not in ("study", "report")]
    assert pipeline.runs.count() == len(steps)


def test_a_pipeline_pauses_and_resumes_with_its_run(scripted: ScriptedProcess, tmp_path: Path) -> None:
    endpoint = make_endpoint(scripted)
    dataset, _ = dataset_load(name="d", path=material("news", tmp_path), task="news")
    recipe = recipe_save(content=recipe_file("p2-news"))
    overrides = {"explain-cot": {"model": "scripted?status=401"}}
    pipeline = pipeline_create(recipe=recipe, dataset=dataset, endpoint=endpoint, overrides=overrides)
    pipeline_advance(pipeline_pk=pipeline.pk)
    run = run_inline(run=pipeline.runs.get())
    assert pipeline_advance(pipeline_pk=pipeline.pk) == "paused"
    pipeline.refresh_from_db()
    assert "HTTP 401" in pipeline.reason
    Run.objects.filter(pk=run.pk).update(model="scripted", state="running")
    run_inline(run=run)
    assert pipeline_advance(pipeline_pk=pipeline.pk) == "waiting"
    pipeline.refresh_from_db()
    assert (pipeline.step, pipeline.state) == (1, "running")
    pipeline_cancel(pipeline=pipeline)
    assert pipeline_advance(pipeline_pk=pipeline.pk) == "cancelled"
    assert not pipeline.runs.filter(state="running").exists()


def test_each_generators_duplicates_are_dropped_and_counted(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    endpoint = make_endpoint(scripted)
    dataset, _ = dataset_load(name="d", path=material("yes_no", tmp_path), task="yes_no")

    def make(kind: str, **options: Any) -> Run:
        run = material_run_create(kind=kind, dataset=dataset, endpoint=endpoint, options=options)
        return run_inline(run=run_start(run=run))

    make("explain", method="cot", system="s")
    for generator in "ab":
        run = make("counterfactuals", n=7, generator=generator)
        assert run.samples == 7  # one at a time, with the generator's own guess
        assert {call.parsed["guess"] for call in run.calls.all()} <= {"yes", "no"}
        for explanation in Explanation.objects.all():
            texts = [f.text for f in explanation.follow_ups.filter(generator=generator)]
            assert len(texts) == len(set(texts))
            calls = run.calls.filter(subject=explanation.pk)
            dropped = sum(call.parsed.get("duplicates_of_others", 0) for call in calls)
            assert len(texts) + dropped == 7
    baseline = make("counterfactuals", n=3, way="baseline", generator="c")
    assert baseline.samples == 1
    assert set(FollowUp.objects.values_list("generator", "kind")) == {
        ("a", "counterfactual"), ("b", "counterfactual"), ("c", "baseline"),
    }  # fmt: skip


def test_invalid_choices_are_refused_before_any_request(scripted: ScriptedProcess, tmp_path: Path) -> None:
    endpoint = make_endpoint(scripted)
    dataset, _ = dataset_load(name="d", path=material("yes_no", tmp_path), task="yes_no")
    for kind, options, said in [
        ("explain", {"method": "magic"}, "method"),
        ("explain", {"task": "poetry"}, "no prompt"),
        ("explain", {"method": "forced"}, "base"),
        ("counterfactuals", {"n": 0}, "n:"),
        ("counterfactuals", {"n": 3, "way": "sideways"}, "way"),
        ("units", {"task": "yes_no"}, "no prompt"),
        ("outputs", {"system": "nobody"}, "nothing to ask"),
        ("outputs", {}, "system: is missing"),
        ("gen_u", {"rationale": "nobody"}, "rationale"),
    ]:
        with pytest.raises(ValidationError, match=said):
            material_run_create(kind=kind, dataset=dataset, endpoint=endpoint, options=options)
    assert Run.objects.count() == 0
    assert scripted.stats()["requests"] == 0


def test_a_recipe_is_a_version_of_its_content() -> None:
    content = recipe_file("p1-yes-no")
    first = recipe_save(content=content)
    assert recipe_save(content=content).pk == first.pk
    content["steps"] = content["steps"][:3]
    assert recipe_save(content=content).version == 2
    assert Recipe.objects.count() == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": "poetry"}, "task"),
        ({"steps": []}, "steps"),
        ({"steps": [{"kind": "explain"}]}, "name"),
        ({"steps": [{"name": "a", "kind": "explain"}, {"name": "a", "kind": "units"}]}, "twice"),
        ({"steps": [{"name": "a", "kind": "dance"}]}, "kind"),
        ({"steps": [{"name": "a", "kind": "simulate", "options": {"study": "b"}}]}, "before"),
    ],
)
def test_an_impossible_recipe_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        recipe_check({"name": "x", "task": "yes_no", "steps": [{"name": "a", "kind": "explain"}]} | change)


def test_every_shipped_recipe_is_valid() -> None:
    assert len(recipe_names()) >= 5
    for name in recipe_names():
        assert recipe_check(recipe_file(name))["name"] == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n", "has no rows"),
        ("{}", "input: is missing"),
        ('{"question": "a?"}\n{"question": ', ":2: .* is not JSON"),
        ('{"question": "a?", "answer": "perhaps"}', "gold_label: 'perhaps' is neither"),
        ('{"qid": "1", "question": "a?"}\n{"qid": "1", "question": "b?"}', "used twice"),
        ('{"question": "a\\u0000?"}', "NUL"),
        ("[1]", "expected a JSON object"),
        ("[{]", "not a JSON array"),
    ],
)
def test_a_faulty_file_is_refused_and_its_lines_are_named(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(text)
    with pytest.raises(FileRefused, match=said):
        dataset_load(name="d", path=path, task="yes_no")
    assert not Dataset.objects.exists()


def test_commands_list_what_exists(scripted: ScriptedProcess, tmp_path: Path) -> None:
    make_endpoint(scripted, name="one")
    with pytest.raises(CommandError, match="expected one of: one"):
        call_command("pipeline", "p2-news", dataset=tmp_path, endpoint="two")
    with pytest.raises(CommandError, match="no file"):
        call_command("pipeline", "p2-news", dataset=tmp_path / "x", endpoint="one")
    with pytest.raises(CommandError, match="no recipe"):
        call_command("pipeline", "p9", dataset=material("news", tmp_path), endpoint="one")
    with pytest.raises(CommandError, match="'scripted' would judge explanations of its own"):
        call_command("pipeline", "p2-news", dataset=material("news", tmp_path), endpoint="one")
    assert not Pipeline.objects.exists()
    with pytest.raises(CommandError, match="no study"):
        call_command("simulate", "nothing", endpoint="one")


@pytest.mark.usefixtures("small")
def test_a_second_pipeline_uses_its_own_systems_and_budget(
    scripted: ScriptedProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_endpoint(scripted)
    path = material("preference", tmp_path)
    allowed = {"inline": True, "allow_own_model": True}
    call_command("pipeline", "p1-preference", dataset=path, endpoint="scripted", **allowed)
    Endpoint.objects.update(model="scripted?quality=0.5")
    call_command("pipeline", "p1-preference", dataset=path, endpoint="scripted", budget=Decimal(1), **allowed)
    second = Pipeline.objects.order_by("pk").last()
    assert second is not None
    systems = Item.objects.filter(study=second.study).values_list("explanation__system__model", flat=True)
    assert set(systems) == {"scripted?quality=0.5"}
    assert all(run.budget_cost <= 1 for run in second.runs.all())

    call_command("pipeline_step", str(second.pk), "explain-cot", inline=True)
    assert "done" in capsys.readouterr().out
    with pytest.raises(CommandError, match="nothing to ask about"):
        call_command("pipeline_step", str(second.pk), "simulators")
    with pytest.raises(CommandError, match="no pipeline 0"):
        call_command("pipeline_step", "0", "x")


def test_public_questions_and_rationales_are_material_for_every_recipe(
    public_data: PublicData, tmp_path: Path
) -> None:
    """The benchmark ``llm-recipes`` carries each recipe out on them."""
    files = material_files(public_data.folder, tmp_path)
    assert {recipe_file(name)["task"] for name in recipe_names()} == set(files)
    for task, path in files.items():
        dataset, new = dataset_load(name=task, path=path, task=task)
        assert new == dataset.instances.count() > 100
        if task == "yes_no":
            assert not dataset.instances.filter(gold_rationale="").exists()
        if task in ("yes_no", "multiple_choice", "preference"):
            assert not dataset.instances.filter(gold_label="").exists()
