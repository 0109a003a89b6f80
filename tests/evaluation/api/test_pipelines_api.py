"""Datasets, endpoints and recipes over the API, and pipelines that are started on them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from annotator.models import Dataset, User
from annotator.services.api_tokens import api_token_make
from annotator.services.workspace import workspace_personal
from evaluation.models import Endpoint, Pipeline, Recipe
from tests.factories import make_user

pytestmark = pytest.mark.django_db
QUESTIONS = b'{"qid": "a", "question": "Can a glacier bury a lighthouse?", "answer": false}\n'


def client_of(user: User, **scopes: bool) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {api_token_make(user=user, **scopes)}")
    return client


def endpoint_of(user: User, name: str = "mine") -> Endpoint:
    return Endpoint.objects.create(
        name=name, base_url="http://127.0.0.1:1/v1", model="m", workspace=workspace_personal(user=user)
    )


def sent(client: APIClient, content: bytes = QUESTIONS, **values: Any) -> Any:
    file = SimpleUploadedFile("questions.jsonl", content)
    return client.post("/api/v1/datasets/", {"file": file, "task": "yes_no", **values})


@pytest.fixture
def rosa() -> User:
    return make_user("rosa", staff=True)


def test_a_file_becomes_a_dataset_once(rosa: User) -> None:
    client = client_of(rosa)
    made = sent(client)
    assert (made.status_code, made.json()["instances"]) == (201, 1)
    assert sent(client).json() == made.json()
    assert client.get("/api/v1/datasets/").json() == [made.json()]
    wrong = sent(client, b'{"qid": "a"}\n')
    assert wrong.status_code == 400
    assert wrong.headers["Content-Type"] == "application/problem+json"
    assert (wrong.json()["status"], wrong.json()["title"]) == (400, "Bad Request")
    assert wrong.json()["faults"][0]["line"] == 1
    others = workspace_personal(user=make_user("eve", staff=True))
    assert "workspace" in sent(client, workspace=others.pk).json()["errors"]
    assert Dataset.objects.count() == 1


def test_a_pipeline_is_started_on_what_one_may_use(rosa: User) -> None:
    client = client_of(rosa)
    endpoint_of(rosa)
    body = {
        "recipe": "p1-yes-no",
        "dataset": sent(client).json()["id"],
        "endpoint": "mine",
        "overrides": {"*": {"allow_own_model": True}},
    }

    def refused(**changed: Any) -> set[str]:
        reply = client.post("/api/v1/pipelines/", {**body, **changed}, format="json")
        assert reply.status_code == 400, reply.content
        return set(reply.json()["errors"])

    eve = make_user("eve", staff=True)
    endpoint_of(eve, "hers")
    assert refused(endpoint="hers") == {"endpoint"}
    assert refused(recipe="absent") == {"recipe"}
    assert refused(content={"name": "x"}) == {"recipe"}, "one of both"
    assert refused(overrides={"absent": {}}) == {"overrides"}
    assert refused(overrides=[]) == {"overrides"}
    assert refused(dataset=sent(client_of(eve)).json()["id"]) == {"dataset"}
    own = {name: value for name, value in body.items() if name != "recipe"}
    strange = client.post("/api/v1/pipelines/", {**own, "content": {"name": "x"}}, format="json")
    assert "content" in strange.json()["errors"]
    assert not Pipeline.objects.exists()
    assert not Recipe.objects.filter(name="x").exists()
    assert client_of(rosa, may_run=False).post("/api/v1/pipelines/", body, format="json").status_code == 403

    made = client.post("/api/v1/pipelines/", body, format="json")
    assert made.status_code == 201, made.content
    assert client.get("/api/v1/pipelines/").json()[0]["id"] == made.json()["id"]
    assert [one["name"] for one in client.get("/api/v1/endpoints/").json()] == ["mine"]
    recipes = client.get("/api/v1/recipes/").json()
    assert {one["name"]: one["id"] for one in recipes}["p2-news"] is None
    assert [one["id"] for one in recipes if one["id"]] == [Pipeline.objects.get().recipe_id]


def test_nobody_sees_what_another_lab_has(rosa: User) -> None:
    sent(client_of(rosa))
    endpoint_of(rosa)
    eve = client_of(make_user("eve", staff=True))
    assert eve.get("/api/v1/datasets/").json() == []
    assert eve.get("/api/v1/endpoints/").json() == []
    assert client_of(make_user("anna")).get("/api/v1/datasets/").status_code == 403
