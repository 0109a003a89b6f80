"""A study on one variant of a HIT type has that variant's instructions, practice and exam."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import annotator.demo
from annotator.models import ExamQuestion, Study, User
from annotator.selectors.study import study_hit_type
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_create, study_launch

ROWS = (Path(annotator.demo.__path__[0]) / "rationale_properties.jsonl").read_text().splitlines()


def launched(researcher: User, rows: list[str]) -> Study:
    study = study_create(by=researcher, hit_type="rationale_properties", slug="props", title="Props")
    material_import(study=study, file=io.BytesIO("\n".join(rows).encode()), name="props.jsonl")
    study_launch(study=study, by=researcher)
    study.refresh_from_db()
    return study


@pytest.mark.django_db
def test_items_of_one_group(researcher: User) -> None:
    study = launched(researcher, [row for row in ROWS if json.loads(row)["group"] == "support"])
    assert study.snapshot
    content = study.snapshot.content
    assert {question["pool"] for question in content["practice"]} == {"support"}
    pools = ExamQuestion.objects.filter(exam_id=content["exam"]).values_list("pool", flat=True)
    assert len(pools) == 16
    assert set(pools) == {"support"}
    assert "Non-ambiguity" in content["instructions"]
    assert "Giveaway" not in content["instructions"]
    kind = study_hit_type(study)
    assert kind.headline == "association"
    assert [variable.name for variable in kind.variables] == ["association", "contrast"]


@pytest.mark.django_db
def test_items_of_two_groups_have_nothing_of_the_others(researcher: User) -> None:
    study = launched(researcher, [row for row in ROWS if json.loads(row)["group"] in ("support", "style")])
    assert study.snapshot
    content = study.snapshot.content
    pools = set(ExamQuestion.objects.filter(exam_id=content["exam"]).values_list("pool", flat=True))
    assert pools == {question["pool"] for question in content["practice"]} == {"support", "style"}
    assert "Non-ambiguity" in content["instructions"]
    assert "Giveaway" not in content["instructions"]


@pytest.mark.django_db
def test_items_of_several_groups(researcher: User) -> None:
    study = launched(researcher, ROWS)
    assert study.snapshot
    content = study.snapshot.content
    pools = set(ExamQuestion.objects.filter(exam_id=content["exam"]).values_list("pool", flat=True))
    assert pools == {"surface_form", "support", "informativeness", "style"}
    assert "Non-ambiguity" in content["instructions"]
    assert "Giveaway" in content["instructions"]
