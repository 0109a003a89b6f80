"""Replies of servers that answer in streams only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluation.providers.apis.openai import OpenAI
from evaluation.providers.base import ProviderError
from evaluation.providers.streamed import completion_of
from tests.evaluation.providers.asking import ask, chat
from tests.evaluation.scripted_process import ScriptedProcess


def event(finish: str | None = None, end: str = "\n\n", **delta: Any) -> bytes:
    chunk = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}{end}".encode()


def test_a_stream_is_the_same_reply_as_a_whole_one(scripted: ScriptedProcess) -> None:
    whole = ask(scripted, chat("scripted"))
    streamed = ask(scripted, chat("scripted"), path="/streams/v1", streams=True)
    assert streamed.text.strip() == whole.text
    assert streamed.reasoning == "Hm. ANSWER: 42"
    for name in ("finish", "model", "fingerprint", "tokens_in", "tokens_out"):
        assert getattr(streamed, name) == getattr(whole, name)
    with pytest.raises(ProviderError, match="streams only"):
        ask(scripted, chat("scripted"), path="/streams/v1")


def test_a_server_that_streams_nothing_may_answer_whole(scripted: ScriptedProcess) -> None:
    assert ask(scripted, chat("scripted"), streams=True).text == ask(scripted, chat("scripted")).text


def test_a_server_that_knows_no_stream_options_is_asked_without_them(scripted: ScriptedProcess) -> None:
    found = ask(scripted, chat("scripted?without=stream_options"), path="/v1", streams=True)
    assert found.text


def test_events_are_read_whatever_their_line_ends() -> None:
    content = b": hi\r\n\r\n" + event(end="\r\n\r\n", content="ANSWER:\u2028") + event("stop", content=" YES")
    assert OpenAI().read_chat(completion_of(content)).text == "ANSWER:\u2028 YES"


def test_a_stream_that_ends_early_is_a_cut_connection() -> None:
    with pytest.raises(ProviderError, match="ended before the reply was complete") as found:
        completion_of(event(content="ANSWER: Y"))
    assert found.value.kind == "connection"
    assert found.value.reply is not None
    assert found.value.reply.raw["choices"][0]["message"]["content"] == "ANSWER: Y"


def test_errors_within_a_stream_are_the_replys() -> None:
    content = event(content="ANS") + b'data: {"error": {"code": 429, "message": "Slow down."}}\n\n'
    with pytest.raises(ProviderError, match="Slow down") as found:
        OpenAI().read_chat(completion_of(content))
    assert found.value.kind == "rate_limit"
    with pytest.raises(ProviderError, match="not a JSON object"):
        completion_of(event(content="A") + b"data: {broken\n\n")


def test_a_cut_off_reply_and_its_log_probabilities_are_read() -> None:
    chunk = {
        "choices": [
            {"delta": {"content": "YES"}, "logprobs": {"content": [{"token": "YES", "logprob": -0.1}]}}
        ]
    }
    read = OpenAI().read_chat(completion_of(f"data: {json.dumps(chunk)}\n\n".encode() + event("length")))
    assert (read.finish, read.tokens) == ("length", (("YES", -0.1),))
