"""The hash of a report's inputs changes with whatever the report shows."""

from __future__ import annotations

import io

import pytest

from annotator.models import Dataset, System
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn
from evaluation.ratings.load import study_ratings
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


def test_headings_are_part_of_the_hash() -> None:
    study = make_study(slug="owls")
    make_judgment(make_item(study, system="robot"), make_rater("ann"))
    digests = [study_ratings(study=study).digest]
    for change in (
        lambda: System.objects.update(model="gpt-4"),
        lambda: System.objects.update(method="forced"),
        lambda: Dataset.objects.update(name="renamed"),
        lambda: type(study).objects.update(title="Birds"),
    ):
        change()
        study.refresh_from_db()
        digests.append(study_ratings(study=study).digest)
    assert len(set(digests)) == len(digests)
    assert study_ratings(study=study).digest == digests[-1]


def test_correct_labels_are_part_of_the_hash() -> None:
    study = make_study(hit_type="external_labels", slug="labels")
    columns = JudgmentColumns("q", (ValueColumn("says", gold="right"),), "who")
    file = io.BytesIO(b"q,who,says,right\n1,ann,yes,yes\n2,ann,no,yes\n")
    judgments_import(study=study, file=file, name="j.csv", columns=columns)
    before = study_ratings(study=study).digest
    study.items.filter(key="2").update(gold={"says": "no"})
    assert study_ratings(study=study).digest != before
