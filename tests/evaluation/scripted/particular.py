"""Servers that take chats only in their own way: below ``/no-system``, no system role; below ``/streams``, streams only.

The words of the errors are those of vLLM with Gemma's chat template, and of Alibaba's DashScope.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from evaluation.providers.scripted.http import Request, Response, json_response
from tests.evaluation.scripted.vendors import Answer

NO_SYSTEM = "System role not supported"
STREAMS_ONLY = "This model only support stream mode, please enable the stream parameter to access the model. "


async def no_system(request: Request, answer: Answer) -> Response:
    """A chat template's own error, as a 500: some servers run the template while they answer."""
    body = json.loads(request.body)
    if any(message["role"] == "system" for message in body.get("messages") or []):
        return _error(500, NO_SYSTEM)
    return await answer(replace(request, path=request.path.removeprefix("/no-system")))


async def streams(request: Request, answer: Answer) -> Response:
    """Server-sent events: a comment, each word of the reply, the count of tokens if it was asked for, and the end."""
    body = json.loads(request.body)
    if not body.pop("stream", False):
        return _error(400, STREAMS_ONLY)
    counted = body.pop("stream_options", {}).get("include_usage")
    path = request.path.removeprefix("/streams")
    response = await answer(replace(request, path=path, body=json.dumps(body).encode()))
    if response.status >= 400 or response.stream is not None:
        return response
    return Response(
        headers={"content-type": "text/event-stream"}, stream=_events(json.loads(response.body), counted)
    )


async def _events(reply: dict[str, Any], counted: bool) -> AsyncIterator[bytes]:
    usage, choice = reply.pop("usage"), reply["choices"][0]
    yield b": the model is being loaded\n\n"
    yield _event(reply, {"role": "assistant", "content": "", "reasoning_content": "Hm. ANSWER: 42"})
    for word in choice["message"]["content"].split(" "):
        yield _event(reply, {"content": f" {word}"})
    yield _event(reply, {}, choice["finish_reason"])
    if counted:
        yield f"data: {json.dumps(reply | {'choices': [], 'usage': usage})}\r\n\r\n".encode()
    yield b"data: [DONE]\n\n"


def _event(reply: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    about = {"object": "chat.completion.chunk", "usage": None, "choices": choices}
    return f"data: {json.dumps(reply | about)}\n\n".encode()


def _error(status: int, said: str) -> Response:
    return json_response({"error": {"message": said, "type": "invalid_request_error", "code": None}}, status)
