"""The recipe `gain-yes-no`: from a file to a report of what explanations add."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from annotator.hit_types.arms import arm_of
from annotator.models import Item, Judgment, Study
from evaluation.models import Report
from evaluation.pipelines.recipe import RecipeError, recipe_check
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute
from tests.evaluation.pipelines.carried import carried_out
from tests.evaluation.reports.studies import cells_of
from tests.evaluation.scripted_process import ScriptedProcess

FIRST, SECOND = "scripted?quality=0.9", "scripted?quality=0.9&seed=2"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("allowed", "small")
def test_from_a_file_to_the_report(scripted: ScriptedProcess, tmp_path: Path) -> None:
    pipeline = carried_out("gain-yes-no", scripted, tmp_path, model=FIRST, second=SECOND)
    assert pipeline.state == "done"
    study = Study.objects.get(slug=pipeline.results["study"]["study"])
    assert study.raters_by_arm == {"": 3, "answer_only": 3, "nothing": 3}
    arms = Counter(
        arm_of(payload) for payload in Item.objects.filter(study=study).values_list("payload", flat=True)
    )
    assert set(arms) == {"", "answer_only", "nothing"}
    assert len(set(arms.values())) == 1
    # Simulators are asked in every arm, and shown nothing that the arm hides.
    judged = Judgment.objects.filter(study=study, source="simulator")
    assert judged.values("rater").distinct().count() == 2
    assert judged.count() == 2 * arms.total()
    run = pipeline.runs.filter(kind="simulate").first()
    for call in run.calls.select_related("item"):
        asked = call.request["messages"][-1]["content"]
        assert ("explanation" in asked) == (arm_of(call.item.payload) == "")
    report = Report.objects.get(pk=pipeline.results["report"]["report"])
    assert report.state == "done", report.error
    cells = cells_of(
        compute(study=study, choices=Choices(replicates=0), figures=False).content, "simulatability-gain"
    )
    assert {head.rpartition(" All ")[2] for head, _ in cells if " All " in head} == {"answer only", "nothing"}


def test_control_arms_that_a_type_lacks_are_refused() -> None:
    steps = [{"name": "s", "kind": "study", "options": {"hit_type": "plausibility", "nothing_raters": 2}}]
    with pytest.raises(RecipeError, match="s: nothing_raters: plausibility has no such control arm"):
        recipe_check({"name": "x", "task": "yes_no", "steps": steps})
