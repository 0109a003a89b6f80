"""The recipe of Chen et al. 2024 has the paper's design: which rows are in the study, and in which table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from annotator.hit_types.base import prompt_part
from annotator.models import Dataset, Explanation, FollowUp, Instance, Item, Study
from annotator.services.workspace import workspace_personal
from evaluation.models import Pipeline, Report
from evaluation.pipelines.contract import step_kind
from evaluation.pipelines.material import MaterialStep
from evaluation.prompts import prompt_file
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute_across
from evaluation.runs.create import RunPlan
from tests.evaluation.pipelines.carried import carried_out
from tests.evaluation.reports.one_truth import check_one_truth, check_sentences
from tests.evaluation.reports.studies import cells_of, table_of
from tests.evaluation.run_factories import make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_rater, make_user, record_judgment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allowed", "small")]
FIRST, SECOND = "scripted?quality=0.9", "scripted?quality=0.9&seed=2"
FOUR = {f"{model} · {method}" for model in (FIRST, SECOND) for method in ("chain of thought", "post-hoc")}
FORCED = {f"{model} · forced" for model in (FIRST, SECOND)}


def study_of(pipeline: Pipeline, step: str) -> Study:
    return Study.objects.get(slug=pipeline.results[step]["study"])


def content_of(pipeline: Pipeline, **choices: Any) -> Any:
    report = Report.objects.get(pk=pipeline.results["report"]["report"])
    return compute_across(
        studies=report.studies,
        choices=Choices(**{"replicates": 0, "min_overlap": 1} | choices),
        figures=False,
    ).content


def people_judge(study: Study, respond: Any) -> None:
    for rater in (make_rater("ann"), make_rater("bob")):
        for number, item in enumerate(Item.objects.filter(study=study).order_by("pk")):
            record_judgment(item, rater, respond(item, number))


def test_two_models_two_methods_and_forced_explanations_reach_study_and_tables(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    pipeline = carried_out("p1-yes-no", scripted, tmp_path, model=FIRST, second=SECOND)
    assert pipeline.state == "done"
    study, plausibility = study_of(pipeline, "study"), study_of(pipeline, "plausibility")
    systems = Item.objects.filter(study=study).values_list("explanation__system__name", flat=True)
    assert set(systems) == FOUR | FORCED
    # Forced: the post-hoc prompt, the other answer, and only where post-hoc was right; answers come from its prompt.
    prompt = prompt_file("explain", "yes_no")
    for model in (FIRST, SECOND):
        own = Explanation.objects.filter(instance__dataset=pipeline.dataset, system__model=model)
        right = {
            e.instance_id: e.output
            for e in own.filter(system__method="post_hoc")
            if e.output == e.instance.gold_label
        }
        forced = own.filter(system__method="forced")
        assert {e.instance_id for e in forced} == set(right)
        assert all(e.output != right[e.instance_id] for e in forced)
    for step, part in (
        ("explain-forced", "because"),
        ("outputs-forced", "post_hoc"),
        ("explain-post-hoc", "post_hoc"),
    ):
        run = pipeline.runs.get(options__step=step)
        instructions = prompt_part(prompt, part).partition("## user")[0].removeprefix("## system").strip()
        assert {call.request["messages"][0]["content"] for call in run.calls.all()} == {instructions}
    # Every explanation: three of each model, from the explanation; three of the baseline for the four systems only.
    follow_ups = FollowUp.objects.filter(instance__dataset=pipeline.dataset)
    made = Counter(follow_ups.values_list("explanation__system__name", "explanation", "generator", "kind"))
    ways = {(generator, kind) for _, _, generator, kind in made}
    assert ways == {
        (FIRST, "counterfactual"),
        (SECOND, "counterfactual"),
        (f"{FIRST} · baseline", "baseline"),
    }
    assert {system for system, _, _, kind in made if kind == "baseline"} == FOUR
    # Plausibility: the four explanations of a question on one page.
    for item in Item.objects.filter(study=plausibility):
        names = Explanation.objects.filter(pk__in=item.parts.values()).values_list("system__name", flat=True)
        assert set(names) == FOUR

    people_judge(study, lambda item, number: {"helpful": "yes", "answer": "yes" if number % 3 else "no"})
    people_judge(
        plausibility,
        lambda item, number: {
            f"justifies_{key}": ("yes", "moderate", "no")[(number + place) % 3]
            for place, key in enumerate(sorted(item.parts))
        },
    )
    content = content_of(pipeline)
    rows = {head[1] for head, _ in cells_of_heads(content, "p1-table-1")}
    assert rows == {FIRST, SECOND, f"mixed: {FIRST} + {SECOND}", f"{FIRST} · baseline"}
    assert {head[1] for head, _ in cells_of_heads(content, "p1-table-2")} == {
        f"{model} · post-hoc" for model in (FIRST, SECOND)
    }
    columns = [f"{c['group']} {c['label']}" for c in table_of(content, "p1-table-4")["columns"]]
    assert len(columns) == 4
    assert not any("forced" in column for column in columns)
    assert [c["label"][:3] for c in table_of(content, "p1-table-3")["columns"]] == ["H–H", "H–s", "H–s"]
    assert table_of(content, "p1-precision-plausibility-systems")["rows"]
    assert {row["head"][0] for row in table_of(content, "p1-precision-plausibility-systems")["rows"]} <= FOUR
    notes = " ".join(table_of(content, "p1-table-4")["notes"])
    assert "baseline" in notes
    content = content_of(pipeline, replicates=50)
    assert check_one_truth(content) > 20
    assert check_sentences(content)


def cells_of_heads(content: Any, table: str) -> list[tuple[list[str], Any]]:
    return [(row["head"], row["cells"]) for row in table_of(content, table)["rows"]]


def test_preferences_are_reported_on_the_second_models_judgments(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    pipeline = carried_out("p1-preference", scripted, tmp_path, model=FIRST, second=SECOND)
    report = Report.objects.get(pk=pipeline.results["report"]["report"])
    simulator = pipeline.runs.get(options__step="simulators-second").rater
    assert simulator is not None
    assert report.choices["rule"] == f"single:{simulator.name}"
    assert simulator.name.startswith(SECOND)
    assert cells_of(report.content or {}, "p1-table-4")


def test_without_a_second_model_its_steps_are_left_out(scripted: ScriptedProcess, tmp_path: Path) -> None:
    pipeline = carried_out("p1-preference", scripted, tmp_path, model=FIRST)
    heats = {(run.kind, run.parameters.get("temperature")) for run in pipeline.runs.all()}
    assert {(kind, heat) for kind, heat in heats if kind in ("explain", "outputs")} == {
        ("explain", 0),
        ("outputs", 0),
    }
    assert ("counterfactuals", 1.0) in heats
    left_out = {name for name, result in pipeline.results.items() if "left_out" in result}
    assert left_out == {
        step["name"] for step in pipeline.recipe.content["steps"] if step["name"].endswith("-second")
    }
    assert Item.objects.filter(study=pipeline.study).values("explanation__system").distinct().count() == 2


@pytest.mark.parametrize(
    ("options", "of_endpoint", "sent"),
    [
        ({}, {}, 0),
        ({"temperature": 0.7}, {}, 0.7),
        ({"samples": 2}, {}, None),
        ({}, {"temperature": None}, None),
        ({}, {"temperature": 0.3}, None),
    ],
)
def test_explanations_have_temperature_0_unless_somebody_chose_one(
    scripted: ScriptedProcess, options: Any, of_endpoint: Any, sent: float | None
) -> None:
    step = step_kind("explain")
    assert isinstance(step, MaterialStep)
    boss = make_user("boss")
    endpoint = make_endpoint(scripted, by=boss, parameters=of_endpoint)
    dataset = Dataset.objects.create(name="questions", workspace=workspace_personal(user=boss))
    Instance.objects.create(dataset=dataset, key="q", input="Can owls swim?", gold_label="no")
    chosen = {"task": "yes_no", "method": "cot", "system": "s"} | options
    run = step.run_draft(owner=dataset, endpoint=endpoint, plan=RunPlan(), options=chosen)
    assert run.parameters.get("temperature") == sent
