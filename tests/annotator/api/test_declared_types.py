"""HIT types of workspaces over the API."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from annotator.models import DeclaredType, User
from annotator.services.workspace import workspace_personal
from tests.annotator.declared import CLARITY

pytestmark = pytest.mark.django_db
OWN = "/api/v1/hit-types/own/"
CLEARER = CLARITY.replace("Can it be understood at first reading?", "Is it clear at first reading?")


def test_a_type_is_saved_read_copied_and_deleted(api: APIClient, other: APIClient, researcher: User) -> None:
    made = api.post(OWN, {"source": CLARITY, "base": 0}, format="json")
    assert made.status_code == 201
    pk = made.json()["type"]
    root = f"/api/v1/hit-types/{pk}/"
    assert api.get(OWN).json()[0]["workspace"] == workspace_personal(user=researcher).pk
    assert api.post(f"{root}versions/", {"source": CLEARER, "base": 1}, format="json").json()["number"] == 2
    conflict = api.post(f"{root}versions/", {"source": CLARITY, "base": 1}, format="json")
    assert conflict.status_code == 409
    assert "saved version 2" in conflict.json()["detail"]
    assert api.get(root).json()["source"] == CLEARER
    assert api.get(f"{root}?number=1").json()["source"] == CLARITY
    assert api.get(f"{root}?number=9").status_code == api.get(f"{root}?number=x").status_code == 404
    assert [one["number"] for one in api.get(f"{root}versions/").json()] == [2, 1]
    assert api.post(f"{root}copy/", {"name": "clarity_2"}, format="json").status_code == 201
    assert "already has a type" in str(api.post(f"{root}copy/", {}, format="json").json())
    study = api.post("/api/v1/studies/", {"template": "clarity", "slug": "c", "title": "C"}, format="json")
    assert study.status_code == 201
    assert "is used by c" in str(api.delete(root).json())
    for path, method in (
        (root, "get"),
        (root, "delete"),
        (f"{root}versions/", "get"),
        (f"{root}versions/", "post"),
        (f"{root}copy/", "post"),
    ):
        assert (
            getattr(other, method)(
                path, {"source": CLARITY} if method == "post" else None, format="json"
            ).status_code
            == 404
        )
    assert other.get(OWN).json() == []
    assert (
        other.post(
            "/api/v1/studies/", {"template": "clarity", "slug": "d", "title": "D"}, format="json"
        ).status_code
        == 400
    )
    second = DeclaredType.objects.get(name="clarity_2")
    assert api.delete(f"/api/v1/hit-types/{second.pk}/").status_code == 204


def test_a_file_is_checked_and_every_problem_has_its_line(api: APIClient) -> None:
    good = api.post("/api/v1/hit-types/check/", {"source": CLARITY}, format="json").json()
    assert good["name"] == "clarity"
    assert len(good["checks"]) == 5
    assert all(one["passed"] for one in good["checks"])
    wrong = {"source": CLARITY.replace("kind: choice", "kind: chioce")}
    assert api.post("/api/v1/hit-types/check/", wrong, format="json").json()["problems"][0]["line"] == 25
    refused = api.post(OWN, wrong, format="json")
    assert refused.status_code == 400
    assert refused.json()["problems"][0]["path"] == "stages.first.questions.clear.kind"
    assert not DeclaredType.objects.exists()
