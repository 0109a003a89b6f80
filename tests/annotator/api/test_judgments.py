from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from annotator.models import Exclusion, Export, Study, User
from annotator.services import exports
from annotator.services.exports import export_build
from tests.annotator.services.collecting import filled, free_places
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/studies/mine/"


@pytest.fixture
def mine(researcher: User) -> Study:
    study = make_study(by=researcher, slug="mine")
    for key in ("a", "b"):
        item = make_item(study, key=key)
        for name in ("ann", "=bob"):
            make_judgment(item, make_rater(name))
    return study


def test_judgments_are_listed(api: APIClient, mine: Study) -> None:
    found = api.get(f"{ROOT}judgments/?rater=ann").data
    assert found["next"] is None
    assert [(j["item"], j["rater"], j["excluded"]) for j in found["results"]] == [
        ("a", "ann", ""),
        ("b", "ann", ""),
    ]
    assert found["results"][0]["response"] == {"helpful": "yes", "answer": "yes"}


def test_lists_are_paginated(api: APIClient, mine: Study) -> None:
    first = api.get(f"{ROOT}judgments/?page_size=3").data
    assert len(first["results"]) == 3
    rest = api.get(first["next"]).data
    assert len(rest["results"]) == 1
    assert rest["next"] is None
    assert api.get(f"{ROOT}judgments/?cursor=nonsense").status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        "user__password__startswith=x", "rater__user__password__startswith=x", "_connector=OR", "id__in=1", "page=2",
        "rater_kind=robot", "excluded=1", "rater=a&rater=b", "standing=",
    ],
)  # fmt: skip
def test_unknown_filters_are_refused(api: APIClient, mine: Study, query: str) -> None:
    for address in ("judgments/", "judgments/export/"):
        reply = api.get(f"{ROOT}{address}?{query}")
        assert reply.status_code == 400, reply.content
        assert list(reply.json()["errors"]) == [query.partition("=")[0]]


def test_a_nul_byte_in_a_filter_is_refused(api: APIClient, mine: Study) -> None:
    for address in ("judgments/", "judgments/export/"):
        assert api.get(f"{ROOT}{address}?rater=%00").status_code == 400


def test_exports_are_streamed(api: APIClient, mine: Study) -> None:
    reply: Any = api.get(f"{ROOT}judgments/export/")
    assert reply.streaming
    assert reply["Content-Disposition"] == 'attachment; filename="mine-judgments.csv"'
    rows = list(csv.DictReader(io.StringIO(b"".join(reply.streaming_content).decode())))
    assert [row["rater"] for row in rows] == ["ann", "'=bob", "ann", "'=bob"]
    reply = api.get(f"{ROOT}judgments/export/?as=jsonl&form=ratings&item=a")
    rows = [json.loads(line) for line in b"".join(reply.streaming_content).splitlines()]
    assert [(row["rater"], row["value"]) for row in rows] == [("ann", "yes"), ("=bob", "yes")]


@pytest.mark.parametrize("query", ["as=xlsx", "form=all", "as=csv&as=jsonl"])
def test_unknown_exports_are_not_found(api: APIClient, mine: Study, query: str) -> None:
    assert api.get(f"{ROOT}judgments/export/?{query}").status_code == 400


def test_large_studies_are_exported_by_a_job(
    api: APIClient, mine: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotator.api.judgments.STREAMED", 3)
    reply = api.get(f"{ROOT}judgments/export/")
    assert reply.status_code == 409
    assert "ask for an export" in reply.json()["detail"]


def test_an_export_is_requested_built_and_downloaded(
    api: APIClient,
    mine: Study,
    settings: Any,
    tmp_path: Path,
    queued: list[Any],
    django_capture_on_commit_callbacks: Any,
) -> None:
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path)},
        }
    }
    with django_capture_on_commit_callbacks(execute=True):
        reply = api.post(
            f"{ROOT}exports/", {"form": "ratings", "format": "jsonl", "filters": {"item": "a"}}, format="json"
        )
    assert (reply.status_code, reply.data["state"]) == (202, "queued")
    pk = reply.data["id"]
    assert queued == [("annotator.export_build", {"export_pk": pk})]
    assert api.get(f"/api/v1/exports/{pk}/file/").status_code == 409
    assert export_build(export_pk=pk)
    assert api.get(f"/api/v1/exports/{pk}/").data["rows"] == 2
    file: Any = api.get(f"/api/v1/exports/{pk}/file/")
    assert file["Content-Type"] == "application/gzip"
    assert f"mine-ratings-{pk}.jsonl.gz" in file["Content-Disposition"]
    assert b"".join(file.streaming_content)[:2] == b"\x1f\x8b"
    (tmp_path / Export.objects.get().file).unlink()
    assert api.get(f"/api/v1/exports/{pk}/file/").status_code == 404


def test_an_export_is_asked_for_while_redis_is_unavailable(
    api: APIClient, mine: Study, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    from kombu.exceptions import OperationalError

    def unavailable(*args: Any, **rest: Any) -> None:
        raise OperationalError

    monkeypatch.setattr("celery.app.base.Celery.send_task", unavailable)
    with django_capture_on_commit_callbacks(execute=True):
        assert api.post(f"{ROOT}exports/", {}, format="json").status_code == 202
    assert Export.objects.get().state == "queued"


@pytest.mark.parametrize(
    "body", [{"filters": {"x": "y"}}, {"filters": [1]}, {"form": "all"}, {"format": "xlsx"}]
)
def test_invalid_export_requests_are_refused(api: APIClient, mine: Study, body: dict[str, Any]) -> None:
    assert api.post(f"{ROOT}exports/", body, format="json").status_code == 400
    assert not Export.objects.exists()


def test_exclusions_are_created_by_name_key_or_id(api: APIClient, mine: Study) -> None:
    judgment = mine.judgments.first()
    for target in ({"rater": "ann"}, {"item": "b"}, {"judgment": judgment.pk}):
        reply = api.post(f"{ROOT}exclusions/", {"reason": "Too fast.", **target}, format="json")
        assert reply.status_code == 201, reply.data
        name, value = next(iter(target.items()))
        assert reply.data[name] == value
    assert [j["excluded"] for j in api.get(f"{ROOT}judgments/").data["results"]] == [
        "Too fast.",
        "",
        "Too fast.",
        "Too fast.",
    ]
    lifted = api.post(f"/api/v1/exclusions/{reply.data['id']}/lift/")
    assert lifted.data["lifted_at"]
    assert len(api.get(f"{ROOT}exclusions/").data["results"]) == 3
    assert api.get(f"{ROOT}progress/").data["excluded"] == 2


def test_other_people_are_asked_instead(api: APIClient, researcher: User) -> None:
    study, people = filled(by=researcher)
    root = f"/api/v1/studies/{study.slug}/"
    body = {"reason": "a bot", "rater": people[0].rater.name, "collect_again": True}
    made = api.post(f"{root}exclusions/", body, format="json")
    assert (made.status_code, made.data["collect_again"], made.data["places_opened"]) == (201, True, 3)
    lifted = api.post(f"/api/v1/exclusions/{made.data['id']}/lift/")
    assert (lifted.data["places_opened"], free_places(study)) == (0, {})
    again = api.post(f"{root}exclusions/", body | {"collect_again": False}, format="json")
    assert (again.data["collect_again"], again.data["places_opened"]) == (False, 0)
    asked = api.post(f"/api/v1/exclusions/{again.data['id']}/collect/")
    assert (asked.status_code, asked.data["places_opened"]) == (200, 3)
    assert [one["places_opened"] for one in api.get(f"{root}exclusions/").data["results"]] == [0, 3]
    refused = api.post(f"/api/v1/exclusions/{made.data['id']}/collect/")
    assert refused.status_code == 400
    body = {"reason": "x", "item": "item-0", "collect_again": True}
    assert "collect_again" in api.post(f"{root}exclusions/", body, format="json").data["errors"]


def test_invalid_exclusions_are_refused(api: APIClient, mine: Study) -> None:
    make_judgment(mine.items.get(key="a"), make_rater("ann", kind="simulator"))
    theirs = make_judgment(make_item(make_study()), make_rater("zoe"))
    bodies = [
        ({}, "reason"),
        ({"reason": "", "item": "a"}, "reason"),
        ({"reason": "x"}, "detail"),
        ({"reason": "x", "item": "a", "rater": "=bob"}, "detail"),
        ({"reason": "x", "item": "nowhere"}, "item"),
        ({"reason": "x", "rater": "zoe"}, "rater"),
        ({"reason": "x", "rater": "ann"}, "rater"),
        ({"reason": "x", "judgment": theirs.pk}, "judgment"),
        ({"reason": "x", "judgment": 10**30}, "judgment"),
    ]
    for body, field in bodies:
        reply = api.post(f"{ROOT}exclusions/", body, format="json")
        assert reply.status_code == 400, (body, reply.data)
        assert field in reply.data["errors"], (body, reply.data)
    assert not Exclusion.objects.exists()
    body = {"reason": "x", "rater": "ann", "rater_kind": "simulator"}
    assert api.post(f"{ROOT}exclusions/", body, format="json").status_code == 201


def test_the_number_of_queries_is_independent_of_a_lists_length(api: APIClient, mine: Study) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            api.get(f"{ROOT}judgments/")
            api.get(f"{ROOT}exclusions/")
        return len(queries)

    count()  # the first view is recorded in the audit trail
    before = count()
    for number in range(8):
        item = make_item(mine, key=f"more-{number}")
        make_judgment(item, make_rater(f"r{number}"))
        api.post(f"{ROOT}exclusions/", {"reason": "x", "item": item.key}, format="json")
    assert count() == before
    assert exports.STREAMED == 100_000
