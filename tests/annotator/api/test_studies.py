from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from annotator.models import Study, User
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/studies/"
NEW = {"template": "simulation", "slug": "fresh", "title": "Fresh", "redundancy": 5}


def test_a_study_is_created_from_a_template(api: APIClient, researcher: User) -> None:
    reply = api.post(ROOT, NEW)
    assert reply.status_code == 201, reply.data
    assert (reply.data["hit_type"], reply.data["state"], reply.data["role"]) == (
        "simulation",
        "draft",
        "owner",
    )
    study = Study.objects.get(slug="fresh")
    assert (study.redundancy, study.exam_questions, study.pass_mark) == (5, 11, 9)
    assert "What we keep" in study.consent_text
    assert study.memberships.get().user == researcher


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"template": "nonsense"}, "template"),
        ({"slug": "no spaces allowed"}, "slug"),
        ({"slug": ""}, "slug"),
        ({"redundancy": 0}, "redundancy"),
        ({"redundancy": 10**30}, "redundancy"),
        ({"pass_mark": 40}, "pass_mark"),
        ({"pay_per_item": "-1"}, "pay_per_item"),
        ({"title": "\x00"}, "title"),
        ({"title": "\ud800"}, "title"),
        ({"title": ""}, "title"),
        ({"minutes_per_item": "NaN"}, "minutes_per_item"),
    ],
)
def test_an_invalid_study_is_refused(api: APIClient, changes: dict[str, Any], field: str) -> None:
    reply = api.post(ROOT, json.dumps(NEW | changes), content_type="application/json")
    assert reply.status_code == 400
    assert field in reply.data["errors"], reply.data
    assert not Study.objects.exists()


def test_a_slug_can_be_used_once(api: APIClient) -> None:
    assert api.post(ROOT, NEW).status_code == 201
    assert api.post(ROOT, NEW).status_code == 400
    assert Study.objects.count() == 1


def test_read_only_fields_are_ignored(api: APIClient) -> None:
    forged = NEW | {"state": "live", "snapshot": 1, "join_token": "guess", "id": 2_000_000_000}
    assert set(api.post(ROOT, forged).data["errors"]) == {"snapshot", "join_token", "id"}, "not fields at all"
    api.post(ROOT, NEW | {"state": "live", "role": "owner"})
    study = Study.objects.get(slug="fresh")
    assert (study.state, study.snapshot) == ("draft", None)
    assert study.join_token != "guess"
    assert study.pk != 2_000_000_000
    api.patch(f"{ROOT}fresh/", {"state": "closed", "slug": "other", "hit_type": "toy"})
    assert Study.objects.values_list("state", "slug", "hit_type").get() == ("draft", "fresh", "simulation")


def test_a_draft_and_a_live_study_can_be_changed(api: APIClient, researcher: User) -> None:
    study = make_study(by=researcher, items=1, slug="mine")
    assert api.patch(f"{ROOT}mine/", {"title": "Renamed", "redundancy": 2}).data["title"] == "Renamed"
    assert api.post(f"{ROOT}mine/launch/").data["state"] == "live"
    first = Study.objects.get().snapshot_id
    reply = api.patch(f"{ROOT}mine/", {"redundancy": 1})
    assert (reply.status_code, list(reply.data["errors"])) == (400, ["redundancy"])
    assert api.patch(f"{ROOT}mine/", {"summary": "New words"}).status_code == 200
    assert Study.objects.get().snapshot_id != first
    assert study.snapshots.count() == 2


def test_a_study_is_launched_paused_resumed_and_closed(api: APIClient, researcher: User) -> None:
    make_study(by=researcher, slug="mine")
    reply = api.post(f"{ROOT}mine/launch/")
    assert (reply.status_code, reply.data["errors"]["detail"][0][:22]) == (400, "There are no items yet")
    make_item(Study.objects.get())
    for verb, state in (("launch", "live"), ("pause", "paused"), ("resume", "live"), ("close", "closed")):
        assert api.post(f"{ROOT}mine/{verb}/").data["state"] == state
    assert api.post(f"{ROOT}mine/resume/").status_code == 400
    assert api.patch(f"{ROOT}mine/", {"title": "Too late"}).status_code == 400
    assert api.post(f"{ROOT}mine/reopen/").data["state"] == "paused"
    assert api.post(f"{ROOT}mine/reopen/").status_code == 400


def test_the_progress_of_a_study(api: APIClient, researcher: User) -> None:
    make_study(by=researcher, slug="mine", items=2)
    draft = api.get(f"{ROOT}mine/progress/").data
    assert (draft["items"], draft["places"], draft["done"], draft["free"]) == (2, 6, 0, 6)
    assert (draft["median_seconds"], draft["pay_per_hour"]) == (None, None)
    api.post(f"{ROOT}mine/launch/")
    assert api.get(f"{ROOT}mine/progress/").data["free"] == 6


def test_the_items_of_a_study(api: APIClient, researcher: User) -> None:
    study = make_study(by=researcher, slug="mine")
    make_item(study, key="a", gold={"helpful": "no"}, role="gold")
    found = api.get(f"{ROOT}mine/items/").data["results"]
    assert (found[0]["key"], found[0]["system"], found[0]["gold"]) == ("a", "robot-a", {"helpful": "no"})


def test_the_number_of_queries_is_independent_of_a_lists_length(api: APIClient, researcher: User) -> None:
    def count(address: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert api.get(address).status_code == 200
        return len(queries)

    study = make_study(by=researcher, slug="mine", items=1)
    count(ROOT)  # the first request also stores that the token is used
    before = count(ROOT), count(f"{ROOT}mine/items/")
    for number in range(5):
        make_study(by=researcher)
        make_item(study, key=f"more-{number}", system=f"s{number}")
    assert (count(ROOT), count(f"{ROOT}mine/items/")) == before


def test_hit_types_describe_their_import_columns(api: APIClient) -> None:
    found = {kind["name"]: kind for kind in api.get("/api/v1/hit-types/").data}
    columns = {column["name"]: column["required"] for column in found["simulation"]["columns"]}
    assert columns["question"] is True
    assert columns["real_output"] is False
    assert found["simulation"]["variables"][0]["abstain"] == ["cannot_guess"]
    assert found["external_labels"]["external"] is True


def test_the_documentation_page_needs_a_login_and_loads_nothing_external(
    api: APIClient, researcher: User
) -> None:
    assert api.get("/api/v1/docs/").status_code == 302, "a page is for people, who log in"
    api.force_login(researcher)
    page = api.get("/api/v1/docs/").content.decode()
    assert "/api/v1/studies/{slug}/judgments/import/" in page
    assert not re.search(r"""(src|href|action|url)\s*[=(]\s*["']?(https?:)?//""", page), (
        "nothing comes from elsewhere"
    )
