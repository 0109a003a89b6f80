"""A study on one variant of a HIT type has that variant's instructions, practice and exam."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError

import annotator.demo
from annotator.core.tables.faults import FileRefused
from annotator.hit_types.registry import hit_type_get
from annotator.models import ExamQuestion, Study, User
from annotator.selectors.study import study_hit_type
from annotator.services.imports.material_import import material_import
from annotator.services.items import item_edit
from annotator.services.study import study_create, study_launch, study_update
from annotator.services.study_templates import study_create_from_template

FOLDER = Path(annotator.demo.__path__[0])
ROWS = (FOLDER / "rationale_properties.jsonl").read_text().splitlines()


def launched(researcher: User, rows: list[str]) -> Study:
    study = study_create(by=researcher, hit_type="rationale_properties", slug="props", title="Props")
    material_import(study=study, file=io.BytesIO("\n".join(rows).encode()), name="props.jsonl")
    study_launch(study=study, by=researcher)
    study.refresh_from_db()
    return study


@pytest.mark.django_db
def test_a_study_of_one_group_has_only_its_questions_and_instructions(researcher: User) -> None:
    study = launched(researcher, [row for row in ROWS if json.loads(row)["group"] == "support"])
    assert study.snapshot
    content = study.snapshot.content
    assert {question["pool"] for question in content["practice"]} == {"support"}
    pools = ExamQuestion.objects.filter(exam_id=content["exam"]).values_list("pool", flat=True)
    assert len(pools) == 16
    assert {pool.partition("/")[0] for pool in pools} == {"support"}
    assert "Non-ambiguity" in content["instructions"]
    assert "Giveaway" not in content["instructions"]
    kind = study_hit_type(study)
    assert kind.headline == "association"
    assert [variable.name for variable in kind.variables] == ["association", "contrast"]


@pytest.mark.django_db
def test_a_template_of_one_group_applies_before_there_are_items(researcher: User) -> None:
    study = study_create_from_template(
        by=researcher, template="rationale_properties/support", slug="support", title="Support"
    )
    kind = study_hit_type(study)
    assert {q.pool.partition("/")[0] for q in (*kind.exam, *kind.practice)} == {"support"}
    assert "Non-ambiguity" in kind.instructions
    assert "Giveaway" not in kind.instructions
    assert [variable.name for variable in kind.variables] == ["association", "contrast"]
    medical = study_create_from_template(
        by=researcher, template="atomic_units/medical", slug="medical", title="Medical"
    )
    empty = study_hit_type(medical)
    lines = (FOLDER / "atomic_units.jsonl").read_text().splitlines()
    rows = [line for line in lines if json.loads(line)["domain"] == "medical"]
    material_import(study=medical, file=io.BytesIO("\n".join(rows).encode()), name="medical.jsonl")
    assert study_hit_type(medical).instructions == empty.instructions
    assert [q.key for q in study_hit_type(medical).exam] == [q.key for q in empty.exam]


@pytest.mark.django_db
def test_a_study_of_one_group_refuses_other_groups(researcher: User) -> None:
    study = study_create_from_template(
        by=researcher, template="rationale_properties/support", slug="support", title="Support"
    )
    support = [row for row in ROWS if json.loads(row)["group"] == "support"]
    style = next(row for row in ROWS if json.loads(row)["group"] == "style")
    with pytest.raises(FileRefused, match=r"group.*is 'style'; this study takes 'support' only"):
        material_import(study=study, file=io.BytesIO("\n".join([*support, style]).encode()), name="a.jsonl")
    assert not study.items.exists()
    # A file that does not name the group is taken for the study's own.
    bare = [{key: value for key, value in json.loads(row).items() if key != "group"} for row in support]
    plain = "\n".join(map(json.dumps, bare)).encode()
    assert material_import(study=study, file=io.BytesIO(plain), name="b.jsonl").items == len(support)
    columns = ("key", "question", "answer", "rationale")
    table = "\n".join([",".join(columns), "one,Can ice float?,yes,Ice is lighter than water."]).encode()
    assert material_import(study=study, file=io.BytesIO(table), name="c.csv").items == 1
    assert set(study.items.values_list("payload__group", flat=True)) == {"support"}

    item = study.items.first()
    assert item is not None
    with pytest.raises(ValidationError, match="this study takes 'support' only"):
        item_edit(item=item, payload=item.payload | {"group": "style"}, gold=None)
    other = [vars(q) for q in hit_type_get(study.hit_type).practice if q.pool == "style"]
    with pytest.raises(ValidationError, match="this study takes 'support' only"):
        study_update(study=study, practice_own=other)
    with pytest.raises(ValidationError, match="is not a variant of simulation; it has: none"):
        study_create(by=researcher, hit_type="simulation", slug="x", title="X", variant="support")


@pytest.mark.django_db
def test_a_study_of_two_groups_leaves_out_the_other_groups(researcher: User) -> None:
    study = launched(researcher, [row for row in ROWS if json.loads(row)["group"] in ("support", "style")])
    assert study.snapshot
    content = study.snapshot.content
    every = ExamQuestion.objects.filter(exam_id=content["exam"]).values_list("pool", flat=True)
    pools = {pool.partition("/")[0] for pool in every}
    assert pools == {question["pool"] for question in content["practice"]} == {"support", "style"}
    assert "Non-ambiguity" in content["instructions"]
    assert "Giveaway" not in content["instructions"]


@pytest.mark.django_db
def test_a_study_of_all_groups_has_everything(researcher: User) -> None:
    study = launched(researcher, ROWS)
    assert study.snapshot
    content = study.snapshot.content
    every = ExamQuestion.objects.filter(exam_id=content["exam"]).values_list("pool", flat=True)
    pools = {pool.partition("/")[0] for pool in every}
    assert pools == {"surface_form", "support", "informativeness", "style"}
    assert "Non-ambiguity" in content["instructions"]
    assert "Giveaway" in content["instructions"]
