"""Replies and errors in the words of servers that are almost like OpenAI's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from evaluation.providers.apis.openai import OpenAI, _job
from evaluation.providers.base import ProviderError
from evaluation.providers.client import retry_after_of


def reply(finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]}


@pytest.mark.parametrize("kind", ["reasoning", "thinking", "reasoning_text"])
def test_parts_of_reasoning_are_not_the_reply(kind: str) -> None:
    parts = [{"type": kind, "text": "ANSWER: NO? Hm."}, {"type": "text", "text": "ANSWER: YES"}]
    read = OpenAI().read_chat(reply(content=parts))
    assert (read.text, read.reasoning) == ("ANSWER: YES", "ANSWER: NO? Hm.")
    with pytest.raises(ProviderError, match="only the model's reasoning"):
        OpenAI().read_chat(reply(content=parts[:1]))


@pytest.mark.parametrize("finish", ["length", "max_tokens", "model_length", "MAX_TOKENS"])
def test_a_reply_that_was_cut_off_is_recognised_in_any_words(finish: str) -> None:
    assert OpenAI().read_chat(reply(finish, content="ANSWER: Y")).finish == "length"
    assert OpenAI().read_chat(reply(finish, content="")).text == "", "all tokens went into thinking"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"code": 1002, "msg": "The service is too busy."}, "The service is too busy."),
        ({"detail": "Model not loaded."}, "Model not loaded."),
        (
            {"detail": [{"loc": ["body", "seed"], "msg": "extra fields not permitted"}]},
            "body.seed: extra fields",
        ),
        ({"error": {"message": "Bad."}}, "Bad."),
        ({"error": "plain words"}, "plain words"),
    ],
)
def test_the_servers_own_words_are_found(body: dict[str, Any], said: str) -> None:
    message, _ = OpenAI().read_error(400, body, base_url="http://x/v1")
    assert message.startswith(said)
    with pytest.raises(ProviderError, match=said.split(":")[0]):
        OpenAI().read_chat(body)


def test_an_error_within_a_choice_is_the_error_of_the_reply() -> None:
    failed = {"error": {"code": 502, "message": "Upstream is down."}, "finish_reason": "error"}
    with pytest.raises(ProviderError, match="Upstream is down") as found:
        OpenAI().read_chat({"choices": [{**failed, "message": {"role": "assistant", "content": ""}}]})
    assert found.value.kind == "server"
    limited = {"error": {"code": 429, "message": "Slow down."}}
    with pytest.raises(ProviderError) as found:
        OpenAI().read_chat({"choices": [limited]})
    assert found.value.kind == "rate_limit"


@pytest.mark.parametrize(
    ("job", "state", "error"),
    [
        ({"status": "completed", "fine_tuned_model": "m"}, "succeeded", ""),
        ({"status": "SUCCEEDED", "fine_tuned_model": "m"}, "succeeded", ""),
        ({"status": "error"}, "failed", "The endpoint reports the state 'error'."),
        ({"status": "expired"}, "failed", "The endpoint reports the state 'expired'."),
        ({"status": "failed", "error": {"msg": "Too few lines."}}, "failed", "Too few lines."),
        ({"status": "canceled"}, "cancelled", ""),
        ({"fine_tuned_model": "m"}, "succeeded", ""),
        ({"error": {"message": "Out of memory."}}, "failed", "Out of memory."),
        ({}, "running", ""),
        ({"status": "queued", "error": None}, "running", ""),
    ],
)
def test_states_of_fine_tuning_in_the_words_of_other_servers(
    job: dict[str, Any], state: str, error: str
) -> None:
    read = _job({"id": "job-1"} | job)
    assert (read.state, read.error) == (state, error)


def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    seconds = retry_after_of({"retry-after": later})
    assert seconds is not None
    assert 80 < seconds <= 90
    assert retry_after_of({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert retry_after_of({"retry-after": "tomorrow"}) is None
    assert retry_after_of({}) is None
