"""One request at a time against the scripted provider: replies read, failures named, hosts refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest

from annotator.core.outgoing.hosts import (
    HostPolicy,
    HostRefused,
    check_address,
    check_origin,
    origin_of,
    resolve,
)
from evaluation.providers.apis.openai import OpenAI
from evaluation.providers.base import ChatReply, ChatRequest, ProviderError
from evaluation.providers.client import client_of
from evaluation.providers.contract import Access, ModelClient
from evaluation.providers.scripted.options import FAULTS
from tests.evaluation.providers.asking import ask, chat, in_thread
from tests.evaluation.scripted_process import ScriptedProcess


def test_a_reply_has_text_model_fingerprint_tokens_and_raw_json(scripted: ScriptedProcess) -> None:
    reply: ChatReply = ask(scripted, chat("scripted"))
    assert reply.text
    assert reply.model == "scripted-1"
    assert reply.fingerprint.startswith("fp_")
    assert (reply.tokens_in or 0) > 0
    assert (reply.tokens_out or 0) > 0
    assert reply.raw["choices"][0]["message"]["content"] == reply.text


def test_the_same_question_gets_the_same_answer(scripted: ScriptedProcess) -> None:
    first, second = (ask(scripted, chat("scripted")).text for _ in range(2))
    assert first == second
    assert scripted.stats()["paid_again"] == 1


@pytest.mark.parametrize("fault", ["refusal", "nonsense", "cut"])
def test_refusals_and_nonsense_arrive_as_text(scripted: ScriptedProcess, fault: str) -> None:
    reply = ask(scripted, chat(f"scripted?faults=1&kinds={fault}"))
    assert reply.text != ask(scripted, chat("scripted")).text
    assert (reply.finish == "length") == (fault == "cut")


def test_every_fault_is_tested() -> None:
    assert set(FAULTS) == {
        "429", "500", "hang", "disconnect", "truncated", "empty", "filter", "refusal", "nonsense", "cut",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_request"),
        (401, "unauthorized"),
        (402, "no_quota"),
        (403, "unauthorized"),
        (404, "not_found"),
    ],
)
def test_errors_that_no_retry_can_fix_are_fatal(scripted: ScriptedProcess, status: int, kind: str) -> None:
    with pytest.raises(ProviderError) as caught:
        ask(scripted, chat(f"scripted?status={status}"))
    assert (caught.value.kind, caught.value.fatal, caught.value.status) == (kind, True, status)


def test_a_redirect_is_not_followed(scripted: ScriptedProcess) -> None:
    with pytest.raises(ProviderError) as caught:
        ask(scripted, chat("scripted"), path="/redirect/v1")
    assert caught.value.kind == "refused_host"
    assert scripted.stats()["requests"] == 0


def test_models_and_embeddings(scripted: ScriptedProcess) -> None:
    assert ask(scripted, lambda client: client.models()) == ["scripted"]
    vectors = ask(
        scripted, lambda client: client.embed("scripted", ["can owls swim", "owls swim", "tax law"])
    )
    assert vectors.shape == (3, 64)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


# -- hosts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/v1",
        "https://localhost/v1",
        "https://[::1]/v1",
        "https://[::ffff:127.0.0.1]/v1",
        "https://[64:ff9b::7f00:1]/v1",
        "https://169.254.169.254/latest",
        "https://[fd00:ec2::254]/latest",
        "https://10.0.0.7/v1",
        "https://192.168.1.1/v1",
        "https://100.64.0.1/v1",
        "https://0.0.0.0/v1",
        "https://2130706433/v1",
        "https://0x7f000001/v1",
        "https://127.1/v1",
        "https://017700000001/v1",
        "http://93.184.216.34/v1",  # public, but not over TLS
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://127.0.0.1:6379/_FLUSHALL",
        "https://user:secret@example.com/v1",
        "https:///v1",
        "https://example.com:99999/v1",
        "https://example.com/v1?x=",
    ],
)
def test_forbidden_addresses_are_refused(url: str) -> None:
    async def main() -> None:
        await resolve(origin_of(url), HostPolicy())

    with pytest.raises(HostRefused):
        in_thread(main())


def test_the_operator_may_allow_a_private_host_and_only_that_port() -> None:
    policy = HostPolicy.from_entries(["127.0.0.1:8081", "llm.internal"])
    check_origin(origin_of("http://127.0.0.1:8081/v1"), policy)
    check_origin(origin_of("http://LLM.internal:5000/v1"), policy)
    with pytest.raises(HostRefused):
        check_origin(origin_of("http://127.0.0.1:5432/v1"), policy)


def test_only_listed_hosts_are_allowed_in_strict_mode() -> None:
    policy = HostPolicy.from_entries(["api.example.com"], only=True)
    check_origin(origin_of("https://api.example.com/v1"), policy)
    with pytest.raises(HostRefused, match="operator"):
        check_origin(origin_of("https://api.openai.com/v1"), policy)


def test_public_addresses_are_allowed() -> None:
    for address in ("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"):
        assert check_address(address) is None, "raises HostRefused for others"


def test_a_name_that_resolves_to_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, scripted: ScriptedProcess
) -> None:
    """DNS rebinding: the name had a public address when the endpoint was saved, and has a private one when a request is sent."""
    asked = []

    async def inward(self: asyncio.AbstractEventLoop, host: Any, port: Any, **rest: Any) -> list[Any]:
        asked.append(host)
        return [(2, 1, 6, "", ("93.184.216.34", port)), (2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", inward)

    async def main() -> None:
        port = scripted.host.rsplit(":", 1)[1]
        client = client_of(
            OpenAI(),
            Access(
                base_url=f"https://rebinding.example:{port}/v1", key="sk", policy=HostPolicy(), timeout=300
            ),
        )
        try:
            await client.chat(ChatRequest("scripted", ({"role": "user", "content": "x"},)))
        finally:
            await client.aclose()

    with pytest.raises(ProviderError) as caught:
        in_thread(main())
    assert caught.value.kind == "refused_host"
    assert asked == [
        "rebinding.example"
    ]  # looked up once, so the address that is checked is the one that is used
    assert scripted.stats()["requests"] == 0


def test_a_base_url_without_v1_is_explained(scripted: ScriptedProcess) -> None:
    with pytest.raises(ProviderError, match="Does the base URL need /v1 at its end") as caught:
        ask(scripted, chat("scripted"), path="")
    assert caught.value.kind == "not_found"


def test_a_server_without_json_schemas_is_explained_whatever_its_status() -> None:
    said = (
        "1 validation error:\\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be"
        " 'text' or 'json_object'\", 'input': 'json_schema'}"
    )
    body = {"error": {"message": said, "type": "internal_server_error", "param": None, "code": None}}
    message, kind = OpenAI().read_error(500, body, base_url="http://127.0.0.1:8000/v1")
    assert kind == "bad_request"
    assert message.endswith("Clear *structured* in the endpoint's settings, and start a new run.")


SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
}


def chat_with_schema(model: str) -> ChatRequest:
    return ChatRequest(model, ({"role": "user", "content": "Can owls swim?"},), schema=SCHEMA)


def test_a_server_that_takes_schemas_in_objects_is_sent_the_other_form_only_once(
    scripted: ScriptedProcess,
) -> None:
    async def three_times(client: ModelClient) -> list[str]:
        return [(await client.chat(chat_with_schema("scripted"))).text for _ in range(3)]

    usual = ask(scripted, three_times)
    assert json.loads(usual[0])["answer"] in ("yes", "no")
    scripted.reset()
    assert ask(scripted, three_times, path="/llama-cpp-python/v1") == usual
    assert scripted.stats()["counts"] == {"schemas refused": 1, "requests": 3, "answered": 3}


def test_a_server_that_takes_schemas_in_no_form_is_explained(scripted: ScriptedProcess) -> None:
    request = chat_with_schema("scripted?status=400")
    with pytest.raises(ProviderError, match="doesn't take JSON schemas") as caught:
        ask(scripted, lambda client: client.chat(request), path="/llama-cpp-python/v1")
    assert (caught.value.kind, caught.value.status, caught.value.lacks) == ("bad_request", 500, "json_schema")


def test_the_words_of_an_error_do_not_decide_on_the_form_of_a_chat() -> None:
    request = chat_with_schema("m")
    said = "The server doesn't take JSON schemas. Clear *structured* in the endpoint's settings, and start a new run."
    refused = ProviderError("bad_request", said)
    assert OpenAI().other_chat_body({}, request, refused) is None
    refused.lacks = "json_schema"
    assert OpenAI().other_chat_body({}, request, refused) is not None
    assert OpenAI().lacks({"error": {"message": said}}) == ""


def test_an_error_of_the_second_form_is_the_request_s_own(scripted: ScriptedProcess) -> None:
    request = chat_with_schema("scripted?status=503")
    with pytest.raises(ProviderError, match="told to answer 503") as caught:
        ask(scripted, lambda client: client.chat(request), path="/llama-cpp-python/v1")
    assert caught.value.kind == "server"


def test_the_detail_of_an_error_is_its_message() -> None:
    message, kind = OpenAI().read_error(404, {"detail": "Not Found"}, base_url="http://127.0.0.1:8000")
    assert (message, kind) == ("Not Found. Does the base URL need /v1 at its end?", "not_found")


@pytest.mark.parametrize("url", ["http://llm.example:8000/v1", "https://10.0.0.7/v1"])
def test_the_error_for_a_refused_host_names_the_setting_that_allows_it(url: str) -> None:
    with pytest.raises(HostRefused, match="setting LLM_ALLOWED_HOSTS"):
        check_origin(origin_of(url), HostPolicy())
