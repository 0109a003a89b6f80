"""Questionnaires of workspaces over the API: as HIT types of workspaces, and a study keeps the version that it was given."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from annotator.models import DeclaredType, Study, User
from annotator.services.study import study_update
from annotator.services.workspace import workspace_personal
from tests.annotator.declared import CLARITY
from tests.annotator.questionnaires import READING, READING_2

pytestmark = pytest.mark.django_db
OWN, ROOT = "/api/v1/questionnaires/own/", "/api/v1/questionnaires/"


def saved(api: APIClient) -> str:
    made = api.post(OWN, {"source": READING, "base": 0}, format="json")
    assert made.status_code == 201, made.content
    return f"{ROOT}{made.json()['type']}/"


def test_a_questionnaire_is_saved_read_copied_and_deleted(
    api: APIClient, other: APIClient, researcher: User
) -> None:
    root = saved(api)
    (listed,) = api.get(OWN).json()
    assert (listed["name"], listed["workspace"]) == ("reading", workspace_personal(user=researcher).pk)
    assert api.get("/api/v1/hit-types/own/").json() == [], "types are listed apart"
    assert api.get(f"/api/v1/hit-types/{listed['id']}/").status_code == 404
    assert api.post(f"{root}versions/", {"source": READING_2, "base": 1}, format="json").json()["number"] == 2
    assert api.post(f"{root}versions/", {"source": READING, "base": 1}, format="json").status_code == 409
    assert api.get(f"{root}?number=1").json()["source"] == READING
    assert api.post(f"{root}copy/", {"name": "reading_2"}, format="json").status_code == 201
    assert "already has a questionnaire" in str(api.post(f"{root}copy/", {}, format="json").json())
    for path, method in (
        (root, "get"),
        (root, "delete"),
        (f"{root}versions/", "post"),
        (f"{root}copy/", "post"),
    ):
        sent = {"source": READING} if method == "post" else None
        assert getattr(other, method)(path, sent, format="json").status_code == 404
    assert api.delete(root).status_code == 204
    assert [one["name"] for one in api.get(OWN).json()] == ["reading_2"]


@pytest.mark.parametrize(
    ("source", "said"),
    [(CLARITY, "declares a HIT type"), (READING.replace("kind: scale", "kind: scael"), "Did you mean scale?"),
     (READING.replace("name: reading", "name: trust"), "that comes with Foretell"),
     (READING + "---\n" + READING.replace("name: reading", "name: more"), "has 2 questionnaires"),
     (READING.replace("licence: CC0 1.0\n", ""), "licence")],
)  # fmt: skip
def test_what_is_no_questionnaire_of_ones_own_is_refused(source: str, said: str, api: APIClient) -> None:
    reply = api.post(OWN, {"source": source, "base": 0}, format="json")
    assert reply.status_code == 400
    assert said in str(reply.json())
    assert not DeclaredType.objects.exists()


def test_a_file_of_either_kind_is_checked(api: APIClient) -> None:
    def check(source: str) -> Any:
        return api.post("/api/v1/hit-types/check/", {"source": source}, format="json").json()

    assert (check(READING)["kind"], check(CLARITY)["kind"]) == ("questionnaire", "hit_type")
    assert all(one["passed"] for one in check(READING)["checks"])
    wrong = check(READING.replace("kind: scale", "kind: scael"))
    assert [one["line"] for one in wrong["problems"]] == [8]
    assert "questionnaire" in str(api.post(
        "/api/v1/hit-types/own/", {"source": READING, "base": 0}, format="json"
    ).json())  # fmt: skip


def test_a_study_asks_the_workspaces_own_questionnaire_and_keeps_its_version(api: APIClient) -> None:
    root = saved(api)
    made = api.post("/api/v1/studies/", {"template": "simulation", "slug": "s", "title": "S"}, format="json")
    assert made.status_code == 201
    study = study_update(study=Study.objects.get(), questionnaire_before="demographics, reading")
    assert "for pleasure" in study.questionnaire_before
    assert "How old are you?" in study.questionnaire_before
    api.post(f"{root}versions/", {"source": READING_2, "base": 1}, format="json")
    study = study_update(study=study, title="T")
    assert "for pleasure" in study.questionnaire_before, "a study keeps what it was given"
    assert "for fun" in study_update(study=study, questionnaire_before="reading").questionnaire_before
    assert api.delete(root).status_code == 204
    study.refresh_from_db()
    assert "for fun" in study.questionnaire_before
    reply = api.patch("/api/v1/studies/s/", {"questionnaire_after": "reading"}, format="json")
    assert reply.status_code == 400
    assert "expected one of: demographics" in str(reply.json())
