"""The contract of a provider, over every member of the registry, against a server that imitates its API and its faults.

A new provider needs an imitation in ``tests/evaluation/scripted`` and its address in ``BASE_PATHS``.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from annotator.core.outgoing.hosts import HostPolicy
from evaluation.models import Endpoint
from evaluation.providers import prices
from evaluation.providers.base import FATAL, ChatReply, ChatRequest, ProviderError
from evaluation.providers.client import client_of
from evaluation.providers.contract import Access, Provider
from evaluation.providers.registry import DEFAULT, PROVIDERS
from foretell import env
from tests.evaluation.providers.asking import Ask, ask, chat
from tests.evaluation.providers.misbehaviour import EXPECTED
from tests.evaluation.scripted.server import BASE_PATHS
from tests.evaluation.scripted_process import ScriptedProcess

KEY = "sk-a-key-that-nobody-may-see"
each_provider = pytest.mark.parametrize("name", PROVIDERS.names())
MESSAGES = (
    {"role": "system", "content": "Answer yes or no.\nANSWER: YES\nANSWER: NO"},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Question: Do emus swim?"},
    {"role": "assistant", "content": "ANSWER: NO"},
    {"role": "user", "content": "Question: Do owls swim?"},
)
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


def asked(scripted: ScriptedProcess, name: str, request: Ask, **access: Any) -> Any:
    return ask(scripted, request, api=name, path=BASE_PATHS[name], **access)


def failed(scripted: ScriptedProcess, name: str, request: Ask, **access: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        asked(scripted, name, request, key=KEY, **access)
    shown = f"{caught.value} {caught.value!r} {caught.value.reply!r} {caught.value.__cause__!r}"
    assert KEY not in shown
    assert 5 < len(str(caught.value)) <= 1000
    return caught.value


def test_every_provider_has_an_imitation() -> None:
    assert sorted(BASE_PATHS) == PROVIDERS.names()
    assert DEFAULT in PROVIDERS


@each_provider
def test_a_provider_declares_itself(name: str) -> None:
    provider = PROVIDERS.get(name)
    assert provider.name == name
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert len(name) <= (Endpoint._meta.get_field("protocol").max_length or 0)
    assert provider.title
    assert [one.label for one in PROVIDERS].count(provider.label) == 1
    access = Access("https://api.example.org/v1", KEY, HostPolicy(), 60.0)
    for version in ("", "2024-10-21"):
        headers = provider.headers(Access(access.base_url, KEY, access.policy, 60.0, api_version=version))
        assert {header.lower() for header in headers} <= provider.reserved_headers
        assert any(KEY in value for value in headers.values())
    assert not any(KEY in value for value in provider.headers(Access("", "", HostPolicy(), 1.0)).values())
    assert KEY not in repr(access)
    for host, section in provider.price_hosts.items():
        assert "." in host
        model = next(iter(prices._content()["models"][section]))
        price = provider.list_price(host=host, model=model)
        assert price is not None
        assert price.tokens_out > 0
    assert provider.list_price(host="llm.example.org", model="any") is None


@each_provider
def test_a_reply_has_text_model_tokens_and_raw_json(scripted: ScriptedProcess, name: str) -> None:
    reply: ChatReply = asked(scripted, name, chat("scripted?cached=0.5"))
    default: ChatReply = asked(scripted, DEFAULT, chat("scripted?cached=0.5"))
    assert (reply.text, reply.model) == (default.text, default.model)
    assert (reply.tokens_in, reply.tokens_out) == (default.tokens_in, default.tokens_out)
    assert reply.tokens_cached == default.tokens_cached != 0
    assert reply.finish == "stop"
    assert reply.seconds > 0
    assert reply.raw
    assert PROVIDERS.get(name).read_chat(reply.raw).text == reply.text


@each_provider
def test_a_chat_with_instructions_demonstrations_and_a_schema(scripted: ScriptedProcess, name: str) -> None:
    parameters = {"max_tokens": 200, "temperature": 0.5, "top_p": 0.9, "stop": "###", "seed": 3}
    request = ChatRequest("scripted", MESSAGES, parameters, SCHEMA)
    reply = asked(scripted, name, lambda client: client.chat(request))
    assert json.loads(reply.text)["answer"] in ("yes", "no")


@each_provider
def test_models_and_embeddings(scripted: ScriptedProcess, name: str) -> None:
    assert asked(scripted, name, lambda client: client.models()) == ["scripted"]
    texts = ["owls swim", "emus fly"]
    embed: Ask = lambda client: client.embed("scripted", texts)  # noqa: E731
    if type(PROVIDERS.get(name)).embed_request is Provider.embed_request:
        lacking = failed(scripted, name, embed)
        assert lacking.kind == "not_found"
        assert "has no embeddings" in str(lacking)
    else:
        assert (asked(scripted, name, embed) == asked(scripted, DEFAULT, embed)).all()


@each_provider
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
def test_each_failure_has_its_own_kind(scripted: ScriptedProcess, name: str, fault: str, kind: str) -> None:
    request = chat(f"scripted?faults=1&kinds={fault}&retry_after=2")
    error = failed(scripted, name, request, timeout=1.0 if fault == "hang" else 300.0)
    # Anthropic's API has one word for a refusal of the model and of a filter.
    assert error.kind in ((kind, "refusal") if fault == "filter" else (kind,))
    assert error.retry_after == (2.0 if fault == "429" else None)
    assert not error.fatal


@each_provider
@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        ("scripted?status=401", "unauthorized", "told"),
        ("scripted?status=402", "no_quota", "told"),
        ("scripted?status=403", "unauthorized", "told"),
        ("scripted?status=404", "not_found", "told"),
        ("scripted?status=503", "server", "told"),
        ("scripted?refuse=owls", "context_length", "HTTP 400"),
        ("scripted?refuse=owls&code=bad", "bad_request", "not accepted"),
        ("scripted?speed=1", "bad_request", "no such option"),
    ],
)
def test_each_status_has_its_kind_and_the_servers_message(
    scripted: ScriptedProcess, name: str, model: str, kind: str, words: str
) -> None:
    error = failed(scripted, name, chat(model))
    assert error.kind == kind
    assert words in str(error)
    assert error.fatal == (kind in FATAL)


@each_provider
def test_a_reply_that_was_cut_off_says_so(scripted: ScriptedProcess, name: str) -> None:
    assert asked(scripted, name, chat("scripted?faults=1&kinds=cut")).finish == "length"


@each_provider
@pytest.mark.parametrize(("fault", "kind"), EXPECTED.items())
def test_a_reply_that_no_correct_server_sends_is_read_or_gets_an_error(
    scripted: ScriptedProcess, name: str, fault: str, kind: str
) -> None:
    """Of the endless ones, "timeout" comes from the time limit and "too_large" from the limit on bytes."""
    if (name, fault) == ("gemini", "misfit"):
        kind = "server"  # llama.cpp's server doesn't speak this API, so its words mean nothing here
    request = chat(f"scripted?faults=1&kinds={fault}")
    if kind:
        timeout = 1.0 if kind == "timeout" else 300.0
        assert failed(scripted, name, request, timeout=timeout).kind == kind
        return
    reply: ChatReply = asked(scripted, name, request)
    assert reply.text or (reply.finish == "length" and reply.reasoning)
    if fault in ("parts", "thinking") and reply.reasoning:
        assert PROVIDERS.get(name).reasoning(reply.raw) == reply.reasoning


@each_provider
def test_a_wrong_key_is_refused_and_not_shown(name: str) -> None:
    locked = ScriptedProcess("--key", "sk-right")
    try:
        error = failed(locked, name, chat("scripted"))
    finally:
        locked.stop()
    assert error.kind == "unauthorized"
    assert "sk-" not in str(error)


@each_provider
def test_a_host_that_is_not_allowed_is_refused_before_anything_is_sent(name: str) -> None:
    for address in ("https://127.0.0.1/v1", "http://api.example.org/v1"):
        with pytest.raises(ProviderError) as caught:
            client_of(PROVIDERS.get(name), Access(address, KEY, HostPolicy(), 60.0))
        assert caught.value.kind == "refused_host"


@each_provider
def test_the_parts_that_only_some_providers_have(scripted: ScriptedProcess, name: str) -> None:
    provider = PROVIDERS.get(name)
    request = ChatRequest("scripted", MESSAGES, {"max_tokens": 50})

    async def batch(client: Any) -> Any:
        assert provider.batch_api is not None
        api = provider.batch_api(client)
        batch_id = await api.send([api.line(str(n), request) for n in range(2)])
        while not (read := await api.read(batch_id)).over:
            await asyncio.sleep(0.05)
        return read

    if provider.batch_api is not None:
        read = asked(scripted, name, batch)
        assert (read.complete, sorted(read.replies)) == (True, ["0", "1"])
        assert all(isinstance(reply, ChatReply) for reply in read.replies.values())
    if provider.fine_tuner is not None:
        tuner = provider.fine_tuner
        error = failed(scripted, name, lambda client: tuner(client).job_read("ftjob-none"))
        assert error.kind == "not_found"


def test_the_documentation_has_a_row_for_each_provider() -> None:
    text = (env.ROOT / "docs/endpoints.md").read_text("utf-8")
    table = re.search(r"^\| service \| protocol \| base URL \|\n\|[-|]+\n((?:\|.+\n)+)", text, re.MULTILINE)
    assert table is not None
    named = {row.split("|")[2].strip().partition(",")[0] for row in table.group(1).splitlines()}
    assert named == {provider.title for provider in PROVIDERS}
