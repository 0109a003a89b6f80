"""The scripted provider reads messages whose content is a list of parts, as gateways such as litellm send it."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from tests.evaluation.scripted_process import ScriptedProcess

INSTRUCTIONS = "Write 3 short news articles. Write a numbered list, one article an entry, and nothing else."
CHAT = [
    ("user", "How the robot decides: I name the person at the centre.\nNumber of articles: 2"),
    ("assistant", "1. Pianist Tomas Lind won on Sunday.\n2. Adela Cruz has grown a pumpkin."),
    ("user", "How the robot decides: I begin with the figure that led to it.\nNumber of articles: 3"),
]


def post(scripted: ScriptedProcess, path: str, body: dict[str, Any]) -> dict[str, Any]:
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "none"}
    request = urllib.request.Request(scripted.root + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as reply:
        found: dict[str, Any] = json.load(reply)
    return found


def in_parts(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def openai_reply(scripted: ScriptedProcess, form: Any) -> tuple[str, int]:
    chat = [("system", INSTRUCTIONS), *CHAT]
    messages = [{"role": role, "content": form(text)} for role, text in chat]
    reply = post(scripted, "/v1/chat/completions", {"model": "scripted", "messages": messages})
    return reply["choices"][0]["message"]["content"], reply["usage"]["prompt_tokens"]


def anthropic_reply(scripted: ScriptedProcess, form: Any) -> tuple[str, int]:
    messages = [{"role": role, "content": form(text)} for role, text in CHAT]
    body = {"model": "scripted", "max_tokens": 2000, "temperature": 0}
    body |= {"messages": messages, "system": form(INSTRUCTIONS)}
    reply = post(scripted, "/anthropic/v1/messages", body)
    return reply["content"][0]["text"], reply["usage"]["input_tokens"]


@pytest.mark.parametrize("reply", [openai_reply, anthropic_reply])
def test_content_in_parts_gets_the_same_reply_as_text(scripted: ScriptedProcess, reply: Any) -> None:
    text, tokens = reply(scripted, str)
    assert [line[:2] for line in text.splitlines()] == ["1.", "2.", "3."]
    assert reply(scripted, in_parts) == (text, tokens)
