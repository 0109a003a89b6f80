"""Adjudicated labels in the tables of ratings of releases and exports: beside the raters' own, described, and reproduced."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest

from annotator.models import Membership, Study
from annotator.services.adjudication import adjudication_record
from annotator.services.exports import judgments_export
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from tests.evaluation.releases.releases import built
from tests.evaluation.reports.adjudicated import adjudicated_study
from tests.evaluation.reports.studies import stored
from tests.factories import make_item, make_judgment, make_rater, make_user

pytestmark = pytest.mark.django_db


def study_with_a_third() -> Study:
    """Of three contested items, two people decide the first, a third decides the last, and nobody adjudicates the one without."""
    study = adjudicated_study(items=2)
    third = make_user("third.privat", staff=True)
    Membership.objects.create(study=study, user=third, role="reviewer")
    adjudication_record(item=study.items.get(key="i1"), by=third, raw={"helpful": "yes", "answer": "no"})
    item = make_item(study, key="without")
    for name, answer in (("ann", "yes"), ("ben", "no")):
        make_judgment(item, make_rater(name), answer)
    return study


#: Item -> adjudicated, adjudicators, third_decided.
EXPECTED = {"i0": ("yes", "2", "no"), "i1": ("no", "3", "yes"), "without": ("", "", "")}


def columns(text: str) -> dict[str, tuple[str, str, str]]:
    found: dict[str, tuple[str, str, str]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        assert row["value"] == {"ann": "yes", "ben": "no"}.get(row["rater"], row["value"]), (
            "raters' own ratings stay"
        )
        cells = (row["adjudicated"], row["adjudicators"], row["third_decided"])
        assert found.setdefault(row["item"], cells) == cells
    return found


def test_a_release_has_adjudicated_labels_beside_the_ratings_and_reproduces_them() -> None:
    _, file = built(stored(study_with_a_third(), adjudicated=True))
    archive = zipfile.ZipFile(file)
    assert columns(archive.read("ratings.csv").decode()) == EXPECTED
    assert "| `third_decided` | yes if the third adjudicator decided" in archive.read("README.md").decode()
    assert '"adjudicators"' in archive.read("datapackage.json").decode()
    assert release_reproduce(release_open(file)).exact


def test_an_export_of_ratings_has_them() -> None:
    study = study_with_a_third()
    text = b"".join(judgments_export(study=study, form="ratings")).decode()
    assert columns(text) == EXPECTED
    assert b'"third_decided":"yes"' in b"".join(judgments_export(study=study, form="ratings", format="jsonl"))
