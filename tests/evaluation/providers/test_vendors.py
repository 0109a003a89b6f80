"""Anthropic's and Gemini's own protocols: the same contract as the OpenAI protocol, faults included."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from annotator.models import Judgment
from evaluation.models import Endpoint
from evaluation.providers.anthropic import Anthropic
from evaluation.providers.base import ChatReply, ChatRequest, ProviderError
from evaluation.providers.gemini import Gemini
from evaluation.providers.scripted.app import Scripted
from evaluation.providers.scripted.http import Request, Response
from evaluation.runs.create import RunPlan
from evaluation.services.endpoint import endpoint_save, endpoint_try
from evaluation.simulators.start import simulation_create
from tests.evaluation.providers.asking import ask, chat, in_thread
from tests.evaluation.providers.misbehaviour import EXPECTED
from tests.evaluation.run_factories import make_endpoint, make_material, make_run, states, work
from tests.evaluation.scripted_process import ScriptedProcess

VENDORS: dict[str, dict[str, Any]] = {
    "anthropic": {"kind": Anthropic, "path": "/anthropic/v1"},
    "gemini": {"kind": Gemini, "path": "/gemini/v1beta"},
}
each_vendor = pytest.mark.parametrize("vendor", VENDORS)
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


@each_vendor
def test_a_reply_has_text_model_tokens_and_raw_json(scripted: ScriptedProcess, vendor: str) -> None:
    reply: ChatReply = ask(scripted, chat("scripted?cached=0.5"), **VENDORS[vendor])
    plain: ChatReply = ask(scripted, chat("scripted?cached=0.5"))
    assert (reply.text, reply.model) == (plain.text, plain.model)
    assert (reply.tokens_in, reply.tokens_out) == (plain.tokens_in, plain.tokens_out)
    assert reply.tokens_cached == plain.tokens_cached != 0
    assert reply.finish == "stop"
    assert "choices" not in reply.raw


@each_vendor
def test_a_chat_with_instructions_demonstrations_and_a_schema(scripted: ScriptedProcess, vendor: str) -> None:
    messages = (
        {"role": "system", "content": "Answer yes or no.\nANSWER: YES\nANSWER: NO"},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Question: Do emus swim?"},
        {"role": "assistant", "content": "ANSWER: NO"},
        {"role": "user", "content": "Question: Do owls swim?"},
    )
    parameters = {"max_tokens": 200, "temperature": 0.5, "top_p": 0.9, "stop": "###", "seed": 3}
    request = ChatRequest("scripted", messages, parameters, SCHEMA)
    reply = ask(scripted, lambda client: client.chat(request), **VENDORS[vendor])
    assert json.loads(reply.text)["answer"] in ("yes", "no")


@each_vendor
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("429", "rate_limit"),
        ("500", "server"),
        ("hang", "timeout"),
        ("disconnect", "connection"),
        ("truncated", "invalid_reply"),
        ("empty", "invalid_reply"),
        ("filter", "content_filter"),
    ],
)
def test_each_failure_has_its_own_kind(scripted: ScriptedProcess, vendor: str, fault: str, kind: str) -> None:
    model = f"scripted?faults=1&kinds={fault}&retry_after=2"
    with pytest.raises(ProviderError) as caught:
        ask(scripted, chat(model), timeout=1.0 if fault == "hang" else 300.0, **VENDORS[vendor])
    refusal = (vendor, fault) == ("anthropic", "filter")
    assert caught.value.kind == ("refusal" if refusal else kind)
    assert caught.value.retry_after == (2.0 if fault == "429" else None)


@each_vendor
@pytest.mark.parametrize(
    ("model", "kind", "said"),
    [
        ("scripted?status=401", "unauthorized", "told"),
        ("scripted?status=403", "unauthorized", "told"),
        ("scripted?status=404", "not_found", "told"),
        ("scripted?status=503", "server", "told"),
        ("scripted?refuse=owls", "context_length", "HTTP 400"),
        ("scripted?refuse=owls&code=bad", "bad_request", "not accepted"),
        ("scripted?speed=1", "bad_request", "no such option"),
    ],
)
def test_each_status_has_its_kind_and_the_vendors_message(
    scripted: ScriptedProcess, vendor: str, model: str, kind: str, said: str
) -> None:
    with pytest.raises(ProviderError, match=said) as caught:
        ask(scripted, chat(model), **VENDORS[vendor])
    assert caught.value.kind == kind


@each_vendor
@pytest.mark.parametrize(("kind", "error"), EXPECTED.items())
def test_a_misbehaving_reply_has_the_same_outcome_as_in_the_openai_protocol(
    scripted: ScriptedProcess, vendor: str, kind: str, error: str
) -> None:
    found = ""
    limit = 1.0 if error == "timeout" else 300.0
    try:
        reply: ChatReply = ask(
            scripted, chat(f"scripted?faults=1&kinds={kind}"), timeout=limit, **VENDORS[vendor]
        )
        assert reply.text or (reply.finish == "length" and reply.reasoning)
    except ProviderError as raised:
        found = raised.kind
    assert found == error


def test_models_and_embeddings(scripted: ScriptedProcess) -> None:
    for vendor in VENDORS.values():
        assert ask(scripted, lambda client: client.models(), **vendor) == ["scripted"]
    texts = ["owls swim", "emus fly"]
    mine = ask(scripted, lambda client: client.embed("scripted", texts), **VENDORS["gemini"])
    assert (mine == ask(scripted, lambda client: client.embed("scripted", texts))).all()
    with pytest.raises(ProviderError, match="has no embeddings"):
        ask(scripted, lambda client: client.embed("scripted", texts), **VENDORS["anthropic"])


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


class Recorder(Scripted):
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

    from evaluation.providers.hosts import HostPolicy
    from evaluation.providers.openai_compatible import OpenAICompatible
    from evaluation.providers.rest import Access
    from evaluation.providers.scripted.http import serve

    async def main() -> Request:
        app = Recorder()
        server = await serve(app, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        path = {"openai": "/openai/deployments/mine"}.get(protocol) or VENDORS[protocol]["path"]
        kind = OpenAICompatible if protocol == "openai" else VENDORS[protocol]["kind"]
        policy = HostPolicy.from_entries([f"127.0.0.1:{port}"])
        client = kind(Access(f"http://127.0.0.1:{port}{path}", "sk-1", policy, 300.0, **access))
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
