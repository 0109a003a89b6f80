"""The recipe of Joshi et al. 2023 has the paper's design: which questions and rationales are in which table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.models import Explanation, FollowUp, Item, Output, Study
from evaluation.models import Pipeline, Report
from evaluation.pipelines.advance import pipeline_advance, pipeline_resume, pipeline_step_again
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute_across
from evaluation.runs.inline import run_inline
from tests.evaluation.pipelines.carried import carried_out, material
from tests.evaluation.reports.studies import table_of
from tests.evaluation.run_factories import make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_rater, record_judgment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allowed", "small")]
MODEL = "scripted?quality=0.9"
TWO = {f"{MODEL} · reason then answer", f"{MODEL} · answer then reason"}
OPPOSITE = {"yes": "no", "no": "yes"}


def study_of(pipeline: Pipeline, step: str) -> Study:
    return Study.objects.get(slug=pipeline.results[step]["study"])


def systems_in(study: Study) -> set[str]:
    return set(Item.objects.filter(study=study).values_list("explanation__system__name", flat=True))


def content_of(pipeline: Pipeline, **choices: Any) -> Any:
    report = Report.objects.get(pk=pipeline.results["report"]["report"])
    chosen = Choices(replicates=0, min_overlap=1, **choices)
    return compute_across(studies=report.studies, choices=chosen, figures=False).content


def carried_on(pipeline: Pipeline) -> str:
    while (state := pipeline_advance(pipeline_pk=pipeline.pk)) == "waiting":
        run_inline(run=pipeline.runs.get(state="running"))
    return state


def test_later_steps_use_accepted_questions_and_gold_rationales(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    pipeline = carried_out("p3-utility", scripted, tmp_path, model=MODEL)
    questions = FollowUp.objects.filter(instance__dataset=pipeline.dataset, explanation__isnull=True)
    for question in questions.select_related("instance"):
        gold = question.instance.gold_label
        if question.kind == "rephrase":
            assert question.gold_label == gold
        elif question.kind == "counterfactual":
            assert question.gold_label == OPPOSITE[gold]
    result = pipeline.results["validated"]
    accepted = questions.filter(verdicts__study=study_of(pipeline, "validation"), verdicts__accepted=True)
    assert result["questions"] == questions.count() == 18
    assert 0 < result["accepted"] == accepted.count() < 18

    # The study and GEN-U have the accepted questions and no other.
    generalization = study_of(pipeline, "generalization-study")
    texts = set(Item.objects.filter(study=generalization).values_list("follow_up__text", flat=True))
    assert texts == set(accepted.values_list("text", flat=True))
    outputs = Output.objects.filter(system__method="GEN-U")
    assert set(outputs.values_list("follow_up", flat=True)) == set(accepted.values_list("pk", flat=True))
    names = Counter(outputs.values_list("system__name", flat=True))
    assert set(names) == {
        f"{MODEL} · GEN-U {how}" for how in ("without", *(f"with {system}" for system in TWO))
    }

    gold = Explanation.objects.filter(system__name="gold", instance__dataset=pipeline.dataset)
    assert {e.text for e in gold} == {e.instance.gold_rationale for e in gold.select_related("instance")}
    assert not pipeline.runs.filter(options__step="explain-gold").exists()
    assert systems_in(study_of(pipeline, "study")) == TWO
    for step in ("generalization-study", "properties-support", "properties-style"):
        assert systems_in(study_of(pipeline, step)) == TWO | {"gold"}
    for item in Item.objects.filter(study=generalization):
        assert item.payload["arms"] == [["question", "follow_up", "question_again", "follow_up_again"]]

    content = content_of(pipeline)
    table = table_of(content, "p3-questions-simulators")
    counts = {row["head"][0]: [cell["value"] for cell in row["cells"]] for row in table["rows"]}
    assert counts["All"][0] == 18
    assert counts["All"][4] == result["accepted"]
    assert {c["label"] for c in table_of(content, "p3-table-6")["columns"]} >= {f"GEN-U ({MODEL})"}
    assert {row["head"][0] for row in table_of(content, "p3-gen-u-1")["rows"]} == TWO


def test_each_pipeline_uses_its_own_validators_verdicts(scripted: ScriptedProcess, tmp_path: Path) -> None:
    first = carried_out("p3-utility", scripted, tmp_path, model=MODEL)
    asked = set(
        Item.objects.filter(study=study_of(first, "generalization-study")).values_list("follow_up__text")
    )
    validation = study_of(first, "validation")
    before = dict(validation.question_verdicts.values_list("follow_up", "accepted"))
    assert set(before.values()) == {True, False}

    # Another model's pipeline on the same dataset: people reject every question.
    with pytest.raises(CommandError, match="still need a judgment by 3 people"):
        call_command(
            "pipeline", "p3-utility", dataset=material("yes_no", tmp_path), endpoint="scripted", inline=True,
            override=["generalization.n=3"], allow_own_model=True, verbosity=0,
        )  # fmt: skip
    second = Pipeline.objects.latest("pk")
    assert second.dataset == first.dataset
    people_judge(study_of(second, "validation"), lambda item, number: {"relation": "no", "answerable": "no"})
    pipeline_resume(pipeline=second)
    assert carried_on(second) == "done"
    second.refresh_from_db()
    assert second.results["validated"]["accepted"] == 0
    assert "left_out" in second.results["generalization-study"]

    assert dict(validation.question_verdicts.values_list("follow_up", "accepted")) == before
    pipeline_step_again(pipeline=first, name="generalization-study")
    assert asked == set(
        Item.objects.filter(study=study_of(first, "generalization-study")).values_list("follow_up__text")
    )


def people_judge(study: Study, respond: Any, names: str = "abc") -> None:
    for name in names:
        rater = make_rater(f"{study.slug[-20:]}-{name}")
        for number, item in enumerate(Item.objects.filter(study=study).order_by("pk")):
            record_judgment(item, rater, respond(item, number))


def test_the_recipe_waits_for_three_people_and_table_20_comes_from_the_papers_own_hit(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    make_endpoint(scripted, model=MODEL)
    with pytest.raises(CommandError, match="18 of 18 questions still need a judgment by 3 people"):
        call_command(
            "pipeline", "p3-utility", dataset=material("yes_no", tmp_path), endpoint="scripted", inline=True,
            override=['generalization-study.arms=["figure_11"]'], allow_own_model=True,
        )  # fmt: skip
    pipeline = Pipeline.objects.get()
    fine = {"relation": "yes", "answerable": "yes", "answer_right": "yes"}
    poor = {"relation": "yes", "answerable": "no"}
    people_judge(study_of(pipeline, "validation"), lambda item, number: poor if number % 6 == 0 else fine)
    pipeline_resume(pipeline=pipeline)
    assert carried_on(pipeline) == "done"
    pipeline.refresh_from_db()
    assert pipeline.results["validated"] == {
        "questions": 18, "accepted": 15, "not_relation": 0, "not_answerable": 3, "not_answer_right": 1, "by": "people",
    }  # fmt: skip

    study = study_of(pipeline, "generalization-study")
    assert {item.payload["arms"][0][-1] for item in Item.objects.filter(study=study)} == {"follow_up_again"}
    people_judge(
        study,
        lambda item, number: {
            "before": "no", "after": item.instance.gold_label, "follow_up_after": ("yes", "no")[number % 2],
        },
    )  # fmt: skip
    content = content_of(pipeline)
    cells = [cell for row in table_of(content, "p3-table-20")["rows"] for cell in row["cells"]]
    assert [cell["value"] for cell in cells if cell["value"] is not None]
    details = table_of(content, "p3-table-20-details")["rows"]
    for row in details:  # the HIT has no answer before: that figure alone is not defined, and says why
        before, after, difference, _ = row["cells"]
        assert after["value"] is not None
        assert before["value"] is difference["value"] is None
        assert "without a label before the rationale" in before["reason"]
    assert {row["head"][0] for row in details} >= {"gold", "Combined (models)"}
