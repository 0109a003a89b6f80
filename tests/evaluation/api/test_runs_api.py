"""Runs over the REST API, and an endpoint's embeddings as an encoder."""

from __future__ import annotations

import numpy as np
import pytest
from django.test import Client

from annotator.models import Membership
from evaluation.metrics.encoders import Encoder
from evaluation.models import Run
from evaluation.runs.inline import run_inline
from evaluation.selectors.endpoint import endpoint_encoder
from tests.evaluation.run_factories import make_endpoint, make_material
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _allowed(scripted: ScriptedProcess, settings: object) -> None:
    settings.LLM_ALLOWED_HOSTS = [scripted.host]  # type: ignore[attr-defined]


def test_a_run_over_the_api(client: Client, scripted: ScriptedProcess) -> None:
    owner = make_user("owner", staff=True)
    make_endpoint(scripted, by=owner)
    study = make_material(4, by=owner)
    client.force_login(owner)
    url = f"/api/v1/studies/{study.slug}/runs/"
    made = client.post(url, {"endpoint": "scripted", "samples": 1}, content_type="application/json")
    assert made.status_code == 201, made.content
    run_pk = made.json()["id"]
    estimate = client.get(f"/api/v1/runs/{run_pk}/estimate/").json()
    assert estimate["calls"] == 4
    assert float(estimate["most"]) > float(estimate["likely"]) > 0
    assert scripted.stats()["requests"] == 0
    assert client.post(f"/api/v1/runs/{run_pk}/start/").json()["state"] == "running"
    assert client.post(f"/api/v1/runs/{run_pk}/pause/").json()["state"] == "paused"
    assert client.post(f"/api/v1/runs/{run_pk}/resume/").json()["state"] == "running"
    run_inline(run=Run.objects.get())
    shown = client.get(f"/api/v1/runs/{run_pk}/").json()
    assert (shown["state"], shown["progress"]["done"], shown["progress"]["total"]) == ("done", 4, 4)
    assert client.post(f"/api/v1/runs/{run_pk}/start/").status_code == 409
    assert len(client.get(url).json()) == 1
    again = client.post(url, {"endpoint": "scripted"}, content_type="application/json")
    assert again.status_code == 400
    assert "nothing to ask" in again.content.decode()


def test_runs_of_others_are_not_found_and_bad_input_is_refused(
    client: Client, scripted: ScriptedProcess
) -> None:
    owner, other, viewer = (make_user(name, staff=True) for name in ("owner", "other", "viewer"))
    make_endpoint(scripted, by=owner)
    study = make_material(2, by=owner)
    Membership.objects.create(study=study, user=viewer, role=Membership.Role.VIEWER)
    url = f"/api/v1/studies/{study.slug}/runs/"
    client.force_login(owner)
    for body in (
        {},
        {"endpoint": "no"},
        {"endpoint": "scripted", "samples": 0},
        {"endpoint": "scripted", "budget_cost": -1},
        {"endpoint": "scri\x00pted"},
        {"endpoint": "\ud800"},
        {"endpoint": ["scripted"]},
        {"endpoint": {"name": "scripted"}},
        {"endpoint": "scripted", "model": "m\x00"},
        {"endpoint": "scripted", "parameters": {"stop": "\x00"}},
        {"endpoint": "scripted", "parameters": {"messages": []}},
        {"endpoint": "scripted", "parameters": {"max_tokens": "many"}},
        {"endpoint": "scripted", "parameters": {"seed": 1.5}},
    ):
        assert client.post(url, body, content_type="application/json").status_code == 400, body
    pk = client.post(url, {"endpoint": "scripted"}, content_type="application/json").json()["id"]
    client.force_login(other)
    assert client.get(url).status_code == 404
    assert client.get(f"/api/v1/runs/{pk}/").status_code == 404
    assert client.post(f"/api/v1/runs/{pk}/start/").status_code == 404
    client.force_login(viewer)
    assert client.get(f"/api/v1/runs/{pk}/").status_code == 200
    assert client.post(f"/api/v1/runs/{pk}/start/").status_code == 404
    assert client.post(url, {"endpoint": "scripted"}, content_type="application/json").status_code in (
        403,
        404,
    )
    assert Run.objects.get().state == "queued"


def test_an_endpoints_embeddings_can_be_used_as_an_encoder(scripted: ScriptedProcess) -> None:
    encoder: Encoder = endpoint_encoder(make_endpoint(scripted))
    texts = ["can owls swim", "tax law", "can owls swim"]
    vectors = encoder.encode(texts)
    assert vectors.shape == (3, 64)
    assert np.array_equal(vectors[0], vectors[2])
    assert (encoder.name, encoder.version) == ("scripted", "scripted")
    encoder.encode(["tax law"])
    assert scripted.stats()["requests"] == 1
    assert encoder.encode([]).shape == (0, 0)
