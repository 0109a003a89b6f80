"""Ollama's form of the OpenAI protocol, from its documentation: prompts that it cuts off, models that it lacks."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import Item, Judgment
from evaluation.providers.base import ProviderError
from tests.evaluation.providers.asking import ask, chat
from tests.evaluation.run_factories import make_endpoint, make_material, make_run, states, work
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user, simulation_payload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("scripted_allowed")]


def test_a_prompt_that_the_server_cut_off_is_flagged_on_its_call_its_judgment_and_the_page(
    scripted: ScriptedProcess, client: Client
) -> None:
    study = make_material(2)
    long = "Birds of the northern coast fly low over the water when a storm comes. " * 300
    Item.objects.create(study=study, key="long", payload=simulation_payload(7) | {"explanation": long})
    endpoint = make_endpoint(scripted, base_url=f"{scripted.root}/ollama/v1")
    run = make_run(endpoint, study)
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 3})
    assert {call.key: call.flags for call in run.calls.all()} == {
        "item-0": [], "item-1": [], "long": ["prompt_cut_off"],
    }  # fmt: skip
    judgment = Judgment.objects.get(study=study, item__key="long")
    assert judgment.signals["flags"] == ["prompt_cut_off"]
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    page = client.get(reverse("admin:evaluation_run_change", args=[run.pk])).content.decode()
    assert "1 prompt that the server seems to have cut off" in page
    assert client.get(f"/api/v1/runs/{run.pk}/").json()["progress"]["cut_off"] == 1


def test_a_model_that_was_not_pulled_pauses_the_run_and_says_what_to_do(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, base_url=f"{scripted.root}/ollama/v1", model="llama3.2:1b")
    run = make_run(endpoint, make_material(2))
    work(run)
    assert (run.state, states(run)) == ("paused", {"pending": 2})
    assert 'model "llama3.2:1b" not found, try pulling it first. Run `ollama pull`' in run.reason


@pytest.mark.parametrize("path", ["/ollama", "/ollama/api"])
def test_an_address_without_v1_is_explained(scripted: ScriptedProcess, path: str) -> None:
    with pytest.raises(ProviderError, match=r"HTTP 404: 404 page not found\. Does the base URL need /v1"):
        ask(scripted, chat("scripted"), path=path)


def test_thinking_beside_the_reply_is_stored_and_not_read(scripted: ScriptedProcess) -> None:
    reply = ask(scripted, chat("scripted"), path="/ollama/v1")
    assert reply.reasoning.endswith("ANSWER: 42")
    assert "42" not in reply.text
    assert reply.fingerprint == "fp_ollama"
