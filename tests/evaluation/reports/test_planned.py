"""Reports of a study with a sealed plan: planned and exploratory values in every format, deviations and early looks."""

from __future__ import annotations

import csv
import io
import json

import pytest

from annotator.models import AuditEntry, Exclusion, Rater, Study
from evaluation.models import AnalysisPlan
from evaluation.planning.plan_document import plan_parse
from evaluation.reports.exports import export
from evaluation.reports.pages import page_of
from evaluation.reports.plan_results import plan_of_facts
from evaluation.services.analysis_plan import plan_save
from tests.evaluation.reports.plans import H1, judge, sealed_study
from tests.evaluation.reports.studies import cells_of, computed, small_study, stored, table_of

pytestmark = pytest.mark.django_db


def test_planned_and_exploratory_values_are_told_apart_in_every_format() -> None:
    study = sealed_study()
    judge(study)
    Study.objects.update(state="closed", snapshot=study.snapshots.create(number=1, digest="d", content={}))
    content = stored(study, replicates=100).content
    assert content is not None
    details, kappa = cells_of(content, "p1-table-4-details"), cells_of(content, "agreement-simulation")
    marks = {key: cell["analysis"] for key, cell in details.items() if "analysis" in cell}
    planned = {key for key, mark in marks.items() if mark == "planned"}
    assert planned == {
        ("People robot-a", "Macro precision Common instances"),
        ("People robot-b", "Macro precision Common instances"),
        ("People robot-b", "Micro precision"), ("gpt robot-b", "Micro precision"),
    }  # fmt: skip
    assert set(marks.values()) == {"planned", "exploratory"}
    (value,) = [
        cell
        for (row, column), cell in kappa.items()
        if row.startswith("Cohen") and row.endswith("people with gpt") and column == "All labels Value"
    ]
    assert value["analysis"] == "planned"
    assert {cell["analysis"] for cell in cells_of(content, "p1-table-4").values()} == {
        "planned",
        "exploratory",
    }

    results = cells_of(content, "planned-comparisons")
    assert results["H1", "Value"]["value"] > results["H1", "Compared with"]["value"]
    assert results["H1", "Difference"]["low"] > 0
    assert results["H1", "Result"]["text"] == results["H3", "Result"]["text"] == "supported"
    assert results["H2", "Value"]["value"] == value["value"]
    assert 0 <= results["H1", "p (Holm)"]["value"] < 0.05
    (section,) = [one for one in content["sections"] if one["id"] == "analysis-plan"]
    assert "Nothing deviates from the plan." in section["prose"]

    for block in (one for part in content["sections"] for one in part["blocks"]):
        numbers = [cell for row in block.get("rows", ()) for cell in row["cells"] if cell["kind"] == "number"]
        if any(cell["shape"] != "count" for cell in numbers):
            assert any("xploratory" in said or "planned" in said for said in block["denominators"]), block[
                "id"
            ]

    rows = list(csv.DictReader(io.StringIO(export(content, {}, "csv"))))
    assert {row["analysis"] for row in rows} == {"", "planned", "exploratory"}
    assert {
        row["row"]
        for row in rows
        if row["analysis"] == "planned" and row["column_group"] == "Macro precision"
    } == {"robot-a", "robot-b"}
    html, latex, text = (export(content, {}, name) for name in ("html", "latex", "text"))
    assert '<span class="rtable__interval">planned</span>' in html
    assert r"\textsuperscript{P}" in latex
    assert "] planned" in text
    said = "Every other value is exploratory."
    assert all(said in shown for shown in (html, latex, text))
    shown = [b for s in page_of(content, lambda name: "").sections for b in s.blocks if b.kind == "table"]
    assert any("planned" in detail for block in shown for _, detail in getattr(block, "details", ()))
    assert json.loads(export(content, {}, "json"))["plan"]["sha256"] == AnalysisPlan.objects.get().digest


def test_reports_without_a_sealed_plan_say_nothing_of_plans() -> None:
    study = small_study(simulator=True)
    before = computed(study).content
    plan_save(study=study, document={"hypotheses": [H1]})
    content = computed(study).content
    assert content == before
    assert "plan" not in content
    assert "xploratory" not in json.dumps(content)
    assert export(content, {}, "csv").splitlines()[0].endswith(",software")


def test_deviations_and_early_looks_are_named() -> None:
    study = sealed_study(exclusion_rules={"Too fast": "under 5 seconds"}, options={"ties": "wrong"})
    judge(study, instances=8)
    ann, bob = Rater.objects.get(name="ann"), Rater.objects.get(name="bob")
    item = study.items.first()
    assert item is not None
    for target in ({"rater": ann}, {"item": item}):
        Exclusion.objects.create(study=study, reason="no reason at all", **target)
    Exclusion.objects.create(study=study, rater=bob, reason="too fast: 2 s")
    Study.objects.filter(pk=study.pk).update(redundancy=5)
    study.refresh_from_db()
    content = stored(study, rule="per_rater").content
    assert content is not None
    (section,) = [one for one in content["sections"] if one["id"] == "analysis-plan"]
    said = " ".join(section["prose"])
    assert "2 exclusions (1 rater and 1 item) follow none of the plan’s rules." in said
    assert "The study has 5 raters for each item; the plan was sealed with 2." in said
    assert (
        "How several raters’ labels are combined: Each rater alone, then the mean; the plan says Majority"
        in said
    )
    assert "Units on which raters tie: Left out; the plan says Counted as wrong." in said
    assert (
        "looked at before the study was complete, 1 time: at 32 of 160 judgments. The plan allows no early look"
        in said
    )
    assert AuditEntry.objects.filter(action="study.plan_looked").count() == 1
    assert "2 times: at 32 of 160 judgments; at 32 of 160 judgments" in json.dumps(
        stored(study).content, ensure_ascii=False
    )
    facts = dict(content["plan"])
    assert plan_of_facts(facts) == plan_parse(facts["plan"])
    with pytest.raises(ValueError, match="SHA-256"):
        plan_of_facts(facts | {"sealed_at": "2020-01-01T00:00:00+00:00"})


def test_reports_across_studies_are_exploratory() -> None:
    from tests.evaluation.reports.across_studies import across

    study = sealed_study(instances=2)
    judge(study, instances=2)
    assert (
        table_of(across(study, small_study()), "p1-table-4")["denominators"][-1]
        == "Every value is exploratory."
    )
