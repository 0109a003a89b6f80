"""What a browser measured is kept with the judgment, for every stage, and is in the exports."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from annotator.core.behaviour import NAMES
from annotator.hit_types.registry import hit_type_get
from annotator.models import Judgment
from annotator.services.assignment import assignment_next
from annotator.services.exports import judgments_export
from annotator.services.stage_submit import stage_submit
from tests.annotator.demo_studies import demo_study
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db

MEASURED: dict[str, Any] = dict.fromkeys(NAMES, 7)


def test_every_signal_is_stored_and_exported() -> None:
    study = make_study(items=1, launched=True)
    participation = make_participation(study)
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    stage_submit(
        user_id=participation.rater.user_id or 0,
        assignment_pk=assignment.pk,
        stage=0,
        raw={"helpful": "no"},
        signals=MEASURED | {"secret": "text", "left": -1},
    )
    kept = {name: value for name, value in Judgment.objects.get().signals.items() if name != "stages"}
    assert kept == {name: 7 for name in NAMES if name != "left"}
    (line,) = b"".join(judgments_export(study=study, format="jsonl")).decode().splitlines()
    assert json.loads(line)["signals"] == kept
    (row,) = csv.DictReader(io.StringIO(b"".join(judgments_export(study=study)).decode()))
    assert {name: row[f"signal.{name}"] for name in NAMES} == dict.fromkeys(NAMES, "7") | {"left": ""}


def test_signals_of_earlier_stages_are_stored() -> None:
    study = demo_study("utility", consent_text="", practice_required=False, exam_required=False)
    participation = make_participation(study)
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    for stage, signals in enumerate(({"pastes": 1, "first_ms": 900}, {"pastes": 2, "first_ms": 400})):
        stage_submit(
            user_id=participation.rater.user_id or 0,
            assignment_pk=assignment.pk,
            stage=stage,
            raw=stage_answers(assignment, stage),
            signals=signals,
        )
    kept = Judgment.objects.get().signals
    assert (kept["pastes"], kept["first_ms"]) == (3, 900)
    names = [stage.name for stage in hit_type_get("utility").stages(assignment.item.payload)]
    assert [kept["pages"][name]["pastes"] for name in names] == [1, 2]
    assert set(kept["pages"]) == set(kept["stages"])


def stage_answers(assignment: Any, stage: int) -> dict[str, str]:
    kind = hit_type_get("utility")
    fields = kind.stages(assignment.item.payload, assignment.presentation)[stage].fields
    return {field.name: field.options[0].value for field in fields}
