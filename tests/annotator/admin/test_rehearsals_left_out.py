"""A rehearsal's synthetic judgments and raters are in no list and no export unless somebody asks for them."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.test import Client

from annotator.models import Judgment, Participation, Qualification, Rater, Study, User
from annotator.services.exam import qualification_grant
from annotator.services.rehearsal.run import rehearsal_request, rehearsal_run
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher: User) -> Study:
    """Two synthetic judgments of each of two items, and one of a person."""
    study = make_study(items=2, redundancy=2, by=researcher)
    rehearsal_run(
        rehearsal_pk=rehearsal_request(study=study, by=researcher, raters=3, accuracy=0.9, seed=1).pk
    )
    assert study.judgments.filter(rater__rehearsal=True).count() == 4
    make_judgment(make_item(study), make_rater("ann"))
    return study


def rows(client: Client, address: str) -> list[dict[str, str]]:
    reply = client.get(address)
    assert reply.status_code == 200
    return list(csv.DictReader(io.StringIO(b"".join(reply.streaming_content).decode())))  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", ["judgments", "ratings"])
@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("", {"False": 1}),
        ("&rater_kind=human", {"False": 1}),
        ("&excluded=no", {"False": 1}),
        ("&rehearsal=no", {"False": 1}),
        ("&rehearsal=both", {"False": 1, "True": 4}),
        ("&rehearsal=yes", {"True": 4}),
        ("&source=rehearsal", {"True": 4}),
    ],
)
def test_exports_of_page_and_api(
    researcher_client: Client, study: Study, form: str, query: str, kinds: dict[str, int]
) -> None:
    for address in (
        f"/admin/annotator/study/{study.pk}/download/?form={form}{query}",
        f"/api/v1/studies/{study.slug}/judgments/export/?form={form}{query}",
    ):
        judged = {row["judgment"]: row["rehearsal"] for row in rows(researcher_client, address)}
        found = list(judged.values())
        assert {kind: found.count(kind) for kind in set(found)} == kinds, address


def test_lists(researcher_client: Client, study: Study) -> None:
    address = f"/api/v1/studies/{study.slug}/judgments/"
    assert len(researcher_client.get(address).json()["results"]) == 1
    assert len(researcher_client.get(f"{address}?rehearsal=both").json()["results"]) == 5
    refused = researcher_client.get(f"{address}?rehearsal=perhaps")
    assert (refused.status_code, "no, yes, both" in json.dumps(refused.json())) == (400, True)
    page = researcher_client.get(f"/admin/annotator/study/{study.pk}/judgments/").content.decode()
    assert "4 judgments of a rehearsal are left out, here and in exports." in " ".join(page.split())


def number(context: Any) -> int:
    """How many rows a list has."""
    total: int = context["total"] if "total" in context else context["cl"].result_count
    return total


def test_lists_across_studies(client: Client, researcher: User, study: Study) -> None:
    User.objects.filter(pk=researcher.pk).update(is_superuser=True)
    client.force_login(researcher)
    synthetic = Rater.objects.filter(rehearsal=True).first()
    assert synthetic is not None
    qualification_grant(rater=synthetic, hit_type="utility", workspace=study.workspace, by=researcher)
    for model in (Judgment, Rater, Participation, User, Qualification):
        address = f"/admin/annotator/{model.__name__.lower()}/"
        shown, both, only = (
            number(client.get(f"{address}{query}").context)
            for query in ("", "?rehearsal=both", "?rehearsal=yes")
        )
        assert (shown + only, only > 0) == (both, True), (model, shown, only, both)


def test_the_home_page_counts_no_rehearsal(researcher_client: Client, study: Study) -> None:
    [row] = researcher_client.get("/admin/annotator/study/").context["rows"]
    assert row.judgments == 1
