"""Judgments of declared types are exported, and the file is imported into another study: every answer is as it was."""

from __future__ import annotations

import csv
import io

import pytest

from annotator.models import Study
from annotator.services.exports import judgments_export
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.material_import import material_import
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.study import study_create
from annotator.services.workspace import workspace_create
from tests.annotator.declared import clarity, clarity_lines
from tests.annotator.demo_studies import DECLARED, demo_lines
from tests.annotator.services.imports.judgments_files import refused
from tests.factories import make_user

pytestmark = pytest.mark.django_db
Responses = dict[tuple[str, str], dict[str, object]]


def draft(name: str, slug: str) -> Study:
    lab = workspace_create(by=make_user(slug, staff=True), name=slug)
    if name == "clarity":
        clarity(lab)
    study = study_create(by=None, workspace=lab, hit_type=name, slug=slug, title=slug.title())
    lines = clarity_lines(4) if name == "clarity" else demo_lines(name)
    material_import(study=study, file=io.BytesIO(b"\n".join(lines)), name="m.jsonl")
    return study


def responses(study: Study) -> Responses:
    rows = study.judgments.values_list("item__key", "rater__name", "response")
    return {(item, rater): response for item, rater, response in rows}


@pytest.mark.parametrize("name", [*DECLARED, "clarity"])
def test_exported_judgments_are_imported_as_they_were(name: str) -> None:
    here = draft(name, "here")
    raters = rehearsal_raters(study=here, count=2, accuracy=0.6, spread=0, seed=3)
    rehearse(study=here, raters=raters, seed=3)
    exported = b"".join(judgments_export(study=here, filters={"rehearsal": "yes"})).decode()
    header = next(csv.reader(io.StringIO(exported)))
    fields = [one for one in header if one.startswith("response.")]
    columns = JudgmentColumns(
        "item", tuple(ValueColumn(one, one.removeprefix("response.")) for one in fields), "rater"
    )
    there = draft(name, "there")
    judgments_import(study=there, file=io.BytesIO(exported.encode()), name="j.csv", columns=columns)
    assert responses(there) == responses(here)
    assert len(responses(there)) == 8
    first, *_ = there.items.values_list("key", flat=True)
    wrong = exported.replace(first, "no-such-item")
    assert any("no-such-item" in fault for fault in refused(there, wrong, columns))
