"""Anthropic's and Gemini's own protocols: the same contract as the OpenAI protocol, faults included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from annotator.core.outgoing.hosts import HostPolicy
from annotator.models import Judgment
from evaluation.models import Endpoint
from evaluation.providers.client import client_of
from evaluation.providers.contract import Access
from evaluation.providers.registry import PROVIDERS
from evaluation.providers.scripted.http import Request, Response
from evaluation.runs.create import RunPlan
from evaluation.services.endpoint import endpoint_save
from evaluation.services.endpoint_trial import endpoint_try
from evaluation.simulators.start import simulation_create
from tests.evaluation.providers.asking import chat, in_thread
from tests.evaluation.run_factories import make_endpoint, make_material, make_run, states, work
from tests.evaluation.scripted.server import Imitator
from tests.evaluation.scripted_process import ScriptedProcess

VENDORS: dict[str, dict[str, Any]] = {
    "anthropic": {"api": "anthropic", "path": "/anthropic/v1"},
    "gemini": {"api": "gemini", "path": "/gemini/v1beta"},
}
each_vendor = pytest.mark.parametrize("vendor", VENDORS)


@each_vendor
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("scripted_allowed")
@pytest.mark.parametrize("structured", [False, True])
def test_a_run_with_samples_stores_the_same_judgments_over_any_protocol(
    scripted: ScriptedProcess, vendor: str, structured: bool
) -> None:
    plain = make_endpoint(scripted, name="plain", structured=structured)
    own = make_endpoint(
        scripted,
        name="own",
        structured=structured,
        protocol=vendor,
        base_url=scripted.root + VENDORS[vendor]["path"],
    )
    study = make_material(6)
    for endpoint in (plain, own):
        run = make_run(endpoint, study, samples=1)
        work(run)
        assert (run.state, states(run)) == ("done", {"done": 6})
        assert run.spent_cost > 0
    judged = Judgment.objects.order_by("item_id", "rater_id").values_list("item_id", "response")
    by_item: dict[int, list[Any]] = {}
    for item, response in judged:
        by_item.setdefault(item, []).append(response)
    assert all(len(two) == 2 and two[0] == two[1] for two in by_item.values())
    sampled = make_run(own, make_material(2), samples=3, parameters={"temperature": 0.7})
    work(sampled)
    assert states(sampled) == {"done": 6}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("scripted_allowed")
def test_a_run_completes_despite_faults_over_anthropics_protocol(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, protocol="anthropic", base_url=f"{scripted.root}/anthropic/v1")
    model = "scripted?faults=0.3&kinds=429,500,truncated,nonsense,partial,parts&seed=3&retry_after=0.02"
    run = make_run(endpoint, make_material(10), model=model, max_attempts=20, max_unparsable=20)
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 10})
    assert scripted.stats()["requests"] == run.sent_calls


@pytest.mark.django_db
@pytest.mark.usefixtures("scripted_allowed")
def test_the_batch_api_is_refused_where_a_protocol_has_none(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, protocol="gemini", base_url=f"{scripted.root}/gemini/v1beta")
    with pytest.raises(ValidationError, match="Batches need an endpoint"):
        simulation_create(study=make_material(1), endpoint=endpoint, plan=RunPlan(mode="batch"))


class Recorder(Imitator):
    """The scripted provider, keeping the requests that it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []

    async def __call__(self, request: Request) -> Response:
        self.requests.append(request)
        if request.path.startswith("/openai/"):  # Azure's form of path
            request = replace(request, path=request.path.replace("/openai/deployments/mine", "/v1"), query="")
        return await super().__call__(request)


def recorded(protocol: str = "openai", **access: Any) -> Request:
    """The request that one chat sends."""
    import asyncio

    from evaluation.providers.scripted.http import serve

    async def main() -> Request:
        app = Recorder()
        server = await serve(app, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        path = {"openai": "/openai/deployments/mine"}.get(protocol) or VENDORS[protocol]["path"]
        policy = HostPolicy.from_entries([f"127.0.0.1:{port}"])
        client = client_of(
            PROVIDERS.get(protocol), Access(f"http://127.0.0.1:{port}{path}", "sk-1", policy, 300.0, **access)
        )
        try:
            await asyncio.wait_for(chat("scripted")(client), 60)
        finally:
            await client.aclose()
            server.close()
        return app.requests[0]

    found: Request = in_thread(main())
    return found


def test_azure_gets_its_version_and_the_key_in_its_own_header() -> None:
    sent = recorded(api_version="2024-10-21")
    assert sent.path == "/openai/deployments/mine/chat/completions"
    assert sent.query == "api-version=2024-10-21"
    assert sent.headers["api-key"] == "sk-1"
    assert "authorization" not in sent.headers


@pytest.mark.parametrize(
    ("protocol", "key"),
    [("openai", "authorization"), ("anthropic", "x-api-key"), ("gemini", "x-goog-api-key")],
)
def test_further_headers_are_sent_beside_the_key(protocol: str, key: str) -> None:
    sent = recorded(protocol, headers={"X-Project": "explanations"})
    assert sent.headers["x-project"] == "explanations"
    assert sent.headers[key].endswith("sk-1")


@pytest.mark.django_db
@pytest.mark.usefixtures("scripted_allowed")
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("headers", {"Authorization": "Bearer sk"}, "Enter a key"),
        ("headers", {"X-A": "a\r\nX-B: b"}, "printable"),
        ("headers", ["x"], "JSON object"),
        ("ca_certificates", "hello", "not a PEM certificate"),
        ("ca_certificates", "-----BEGIN PRIVATE KEY-----", "private key"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_at_their_field(
    scripted: ScriptedProcess, field: str, value: Any, said: str
) -> None:
    endpoint = Endpoint(name="e", base_url=scripted.base_url, model="scripted", **{field: value})
    with pytest.raises(ValidationError) as refused:
        endpoint_save(endpoint=endpoint)
    assert said in str(refused.value.message_dict[field])


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("scripted_allowed")
def test_an_endpoint_of_each_protocol_can_be_tested(scripted: ScriptedProcess) -> None:
    for vendor, how in VENDORS.items():
        endpoint = make_endpoint(scripted, name=vendor, protocol=vendor, base_url=scripted.root + how["path"])
        tried = endpoint_try(endpoint=endpoint)
        assert tried.ok, tried.message
