"""The test of an endpoint sends what a run would send, and proposes the setting that a server asks for."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from annotator.models import AuditEntry
from evaluation.models import Endpoint
from evaluation.runs.lifecycle import run_retry_failed
from evaluation.services.endpoint_trial import endpoint_correct, endpoint_try
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    make_endpoint,
    make_material,
    make_run,
    states,
    work,
)
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = SCRIPTED_MARKS


def endpoint_without(scripted: ScriptedProcess, *names: str, **fields: object) -> Endpoint:
    """An endpoint whose server refuses these parameters by name."""
    return make_endpoint(scripted, model=f"scripted?{urlencode({'without': '|'.join(names)})}", **fields)


def test_the_test_sends_the_request_of_a_run_and_reads_its_reply(scripted: ScriptedProcess) -> None:
    assert endpoint_try(endpoint=make_endpoint(scripted)).ok
    nonsense = make_endpoint(scripted, name="nonsense", model="scripted?faults=1&kinds=nonsense")
    tried = endpoint_try(endpoint=nonsense)
    assert not tried.ok, "a reply that no run could read isn't a success"
    assert "The reply was:" in tried.message
    assert tried.profile == ""


@pytest.mark.parametrize(
    ("refused", "parameters", "button"),
    [
        ("temperature", {}, "Leave out temperature"),
        ("max_tokens", {}, "Use max_completion_tokens instead of max_tokens"),
        ("seed", {"seed": 5}, "Leave out seed"),
    ],
)
def test_a_setting_that_the_server_refuses_is_corrected_with_one_click(
    client: Client, scripted: ScriptedProcess, refused: str, parameters: dict[str, int], button: str
) -> None:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    endpoint = endpoint_without(scripted, refused, parameters=parameters)
    page = client.post(reverse("admin:evaluation_endpoint_try", args=[endpoint.pk]), follow=True)
    assert "did not respond as expected" in page.content.decode()
    assert button in page.content.decode()
    correct = reverse("admin:evaluation_endpoint_correct", args=[endpoint.pk])
    page = client.post(correct, {"profile": page.context["proposed"].name}, follow=True)
    assert "The endpoint responded in" in page.content.decode()
    run = make_run(Endpoint.objects.get(pk=endpoint.pk), make_material(2))
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 2})
    assert AuditEntry.objects.filter(target=endpoint.name, action="endpoints.saved").exists()


def test_an_endpoint_with_max_completion_tokens_passes_the_test(scripted: ScriptedProcess) -> None:
    endpoint = endpoint_without(scripted, "max_tokens", parameters={"max_completion_tokens": 4000})
    assert endpoint_try(endpoint=endpoint).ok


def test_unknown_profiles_are_refused(client: Client, scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted)
    for profile in ("", "leave-out-model", "leave-out-<b>", "other"):
        with pytest.raises(ValidationError):
            endpoint_correct(endpoint=endpoint, profile=profile)
    client.force_login(make_user("someone", staff=True))
    correct = reverse("admin:evaluation_endpoint_correct", args=[endpoint.pk])
    assert client.post(correct, {"profile": "leave-out-temperature"}).status_code == 404
    assert Endpoint.objects.get(pk=endpoint.pk).parameters == {}


@pytest.mark.parametrize(
    ("path", "fields", "button"),
    [
        ("/no-system/v1", {}, "Put the instructions into the first question"),
        ("/streams/v1", {}, "Ask for streams"),
        ("/v1", {"model": "scripted?faults=1&kinds=thinking"}, "Allow 8,000 tokens for thinking"),
    ],
)
def test_what_a_model_or_server_needs_is_proposed_after_a_refusal(
    client: Client, scripted: ScriptedProcess, path: str, fields: dict[str, str], button: str
) -> None:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    endpoint = make_endpoint(scripted, base_url=scripted.root + path, **fields)
    page = client.post(reverse("admin:evaluation_endpoint_try", args=[endpoint.pk]), follow=True)
    assert "did not respond as expected" in page.content.decode()
    assert f">{button}</button>" in page.content.decode()
    correct = reverse("admin:evaluation_endpoint_correct", args=[endpoint.pk])
    page = client.post(correct, {"profile": page.context["proposed"].name}, follow=True)
    if not fields:
        assert "The endpoint responded in" in page.content.decode()
        run = make_run(Endpoint.objects.get(pk=endpoint.pk), make_material(3))
        work(run)
        assert (run.state, states(run)) == ("done", {"done": 3})
        assert run.spent_cost > 0, "the tokens of streams are counted"
        assert "42" not in "".join(run.calls.values_list("text", flat=True))
    else:
        assert Endpoint.objects.get(pk=endpoint.pk).thinking_tokens == 8000
        assert page.context["proposed"].name == "long-thinking"


def test_the_page_of_a_paused_run_proposes_what_its_server_needs(
    client: Client, scripted: ScriptedProcess
) -> None:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    endpoint = make_endpoint(scripted, base_url=f"{scripted.root}/no-system/v1")
    run = make_run(endpoint, make_material(12))
    work(run)
    assert run.state == "paused"
    assert "Choose *no system role*" in run.reason
    page = client.get(reverse("admin:evaluation_run_change", args=[run.pk]))
    assert page.context["proposed"].name == "fold-system"
    assert "Put the instructions into the first question</button>" in page.content.decode()
    correct = reverse("admin:evaluation_endpoint_correct", args=[endpoint.pk])
    client.post(correct, {"profile": "fold-system"})
    run_retry_failed(run=run)
    work(run)  # takes over the settings
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 12})


def test_a_profile_is_chosen_on_the_endpoints_page(client: Client, scripted: ScriptedProcess) -> None:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    endpoint = make_endpoint(scripted, parameters={"max_tokens": 9, "top_p": 0.5})
    page = client.get(reverse("admin:evaluation_endpoint_change", args=[endpoint.pk])).content.decode()
    assert '<option value="no-thinking">Turn thinking off (Qwen3' in page
    correct = reverse("admin:evaluation_endpoint_correct", args=[endpoint.pk])
    client.post(correct, {"profile": "max-completion-tokens"})
    client.post(correct, {"profile": "fold-system"})
    endpoint.refresh_from_db()
    assert endpoint.parameters == {"max_completion_tokens": 4000, "top_p": 0.5}
    assert endpoint.fold_system


def test_only_protocols_that_stream_can_be_asked_to() -> None:
    with pytest.raises(ValidationError, match="Only with the OpenAI protocol"):
        Endpoint(
            name="e", base_url="https://api.anthropic.com/v1", protocol="anthropic", model="m", stream=True
        ).clean()
