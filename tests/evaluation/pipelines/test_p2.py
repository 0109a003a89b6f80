"""The recipes of Limpijankit et al. 2025 have the paper's design: parsing is judged once, and the sanity check has data."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from annotator.models import Item
from evaluation.models import Report
from evaluation.pipelines.advance import step_advance
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute_across
from tests.evaluation.pipelines.carried import carried_out
from tests.evaluation.reports.studies import table_of
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allowed")]
MODEL = "scripted?quality=1"
SYSTEMS = {f"{MODEL} · chain of thought", f"{MODEL} · post-hoc"}
CHECKS = {f"{system} · from explanation" for system in SYSTEMS}


def content_of(report: Report, **choices: Any) -> Any:
    chosen = Choices(replicates=0, min_overlap=1, **choices)
    return compute_across(studies=report.studies, choices=chosen, figures=False).content


@pytest.mark.parametrize("task", ["news", "medical"])
def test_the_sanity_check_has_a_precision_of_one_and_asks_about_parsing_once(
    task: str, scripted: ScriptedProcess, tmp_path: Path
) -> None:
    pipeline = carried_out(f"p2-{task}", scripted, tmp_path, model=MODEL)
    items = list(Item.objects.filter(study=pipeline.study).select_related("explanation__system"))
    by_system = Counter(item.explanation.system.name for item in items)
    assert set(by_system) == SYSTEMS | CHECKS
    assert set(by_system.values()) == {3}  # three counterfactuals of each explanation, and a check of each
    asked = {
        system: [item.payload["ask"] for item in items if item.explanation.system.name == system]
        for system in by_system
    }
    for system in SYSTEMS:
        assert sorted("parse" in parts for parts in asked[system]) == [False, False, True]
    for system in CHECKS:
        assert all(parts == ["input", "output"] for parts in asked[system])

    simulator = pipeline.runs.get(kind="simulate").rater
    assert simulator is not None
    content = content_of(Report.objects.get(), rule=f"single:{simulator.name}")
    table = table_of(content, "p2-sanity")
    assert {row["head"][0] for row in table["rows"]} == CHECKS
    for row in table["rows"]:
        precision, verdict, checked, below = row["cells"]
        assert (precision["value"], verdict["text"], below["value"]) == (1.0, "passed", 0)
        assert checked["value"] > 0
    rule = "part" if task == "medical" else "whole"
    assert {item.payload["matching"] for item in items} == {rule}
    (section,) = [s for s in content["sections"] if s["id"] == "p2-table-1"]
    assert ("if part of it was" in " ".join(section["notes"])) == (rule == "part")
    heads = {row["head"][1] for row in table_of(content, "p2-table-1")["rows"]}
    assert heads == {"Chain of thought", "Post-hoc", "All"}  # the check is in no other table


def test_what_a_simulator_finds_missing_is_not_in_the_steps_counts(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    pipeline = carried_out("p2-news", scripted, tmp_path, model=MODEL)
    run = pipeline.runs.get(options__step="simulators")
    call = run.calls.filter(parsed__has_key="complete").first()
    assert call is not None
    call.parsed |= {"complete": "no", "missing": "where it happened"}
    call.save(update_fields=["parsed"])
    del pipeline.results["simulators"]
    steps = {step["name"]: step for step in pipeline.recipe.content["steps"]}
    numbers = step_advance(pipeline, steps["simulators"])
    assert numbers is not None
    assert "missing" not in numbers
    assert numbers["calls"] == run.calls.count()
