"""Anthropic's own protocol: POST /v1/messages. https://docs.anthropic.com/en/api/messages"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evaluation.providers.base import ChatImage, ChatReply, ChatRequest, ErrorKind, ProviderError
from evaluation.providers.images import base64_of, body_made, content_of, messages_in_parts
from evaluation.providers.replies import count_of, error_in_body
from evaluation.providers.rest import Access, RestClient

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

VERSION = "2023-06-01"
#: The tool that makes a reply follow a schema.
TOOL = "reply"
#: Parameters of other protocols that this one refuses.
_UNKNOWN = frozenset({"seed", "n", "logprobs", "top_logprobs", "frequency_penalty", "presence_penalty"})
_FINISH = {"max_tokens": "length", "model_context_window_exceeded": "length"}


class Anthropic:
    """One endpoint. ``base_url`` ends with /v1. Raises ``ProviderError`` (refused_host) if requests to the host aren't allowed."""

    def __init__(self, access: Access) -> None:
        headers = {"anthropic-version": VERSION} | ({"x-api-key": access.key} if access.key else {})
        self.rest = RestClient(access, headers=headers, read_error=read_error)

    async def chat(self, request: ChatRequest) -> ChatReply:
        started = time.perf_counter()
        raw = await self.rest.send("POST", "/messages", await body_made(messages_body, request))
        return read_message(raw, seconds=time.perf_counter() - started)

    async def embed(self, model: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        raise ProviderError("not_found", "Anthropic has no embeddings. Choose another endpoint as encoder.")

    async def models(self) -> list[str]:
        raw = await self.rest.send("GET", "/models")
        return [str(model.get("id")) for model in raw.get("data") or [] if isinstance(model, dict)]

    async def aclose(self) -> None:
        await self.rest.aclose()


def messages_body(request: ChatRequest) -> dict[str, Any]:
    """The JSON body of a request, with the instructions separate from the chat, and a schema as the input of a forced tool.

    >>> messages_body(ChatRequest("claude", ({"role": "system", "content": "Be brief."},), {"max_tokens": 9}))["system"]
    'Be brief.'
    """
    parameters = {name: value for name, value in request.parameters.items() if name not in _UNKNOWN}
    limit = parameters.pop("max_completion_tokens", None) or parameters.pop("max_tokens", None) or 4096
    parameters.pop("max_tokens", None)
    if (stop := parameters.pop("stop", None)) is not None:
        parameters["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    messages = [(role, content_of(parts, _image_part)) for role, parts in messages_in_parts(request)]
    system = [str(content) for role, content in messages if role == "system"]
    chat = [{"role": role, "content": content} for role, content in messages if role != "system"]
    body: dict[str, Any] = {"model": request.model, "max_tokens": limit, "messages": chat, **parameters}
    if system:
        body["system"] = "\n\n".join(system)
    if request.schema is not None:
        body["tools"] = [{"name": TOOL, "description": "Your whole reply.", "input_schema": request.schema}]
        body["tool_choice"] = {"type": "tool", "name": TOOL}
    return body


def _image_part(image: ChatImage) -> dict[str, Any]:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": image.media_type, "data": base64_of(image)},
    }


def read_message(raw: dict[str, Any], *, seconds: float = 0.0) -> ChatReply:
    """The JSON of a message as a reply. If it has no text, raises ``ProviderError`` with what was received."""
    found = raw.get("usage")
    usage: dict[str, Any] = found if isinstance(found, dict) else {}
    cached = count_of(usage, "cache_read_input_tokens")
    own = count_of(usage, "input_tokens")
    reply = ChatReply(
        text="",
        raw=raw,
        model=str(raw.get("model") or "")[:200],
        tokens_in=None
        if own is None
        else own + (cached or 0) + (count_of(usage, "cache_creation_input_tokens") or 0),
        tokens_out=count_of(usage, "output_tokens"),
        tokens_cached=cached,
        seconds=seconds,
    )
    if raw.get("error"):
        raise error_in_body(raw["error"], reply)
    blocks = raw.get("content")
    parts = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    reason = str(raw.get("stop_reason") or "")
    finish = _FINISH.get(reason, "stop")
    if reason == "refusal":
        raise ProviderError("refusal", "the model declined to answer", reply=reply)
    text = "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")
    tools = [part.get("input") for part in parts if part.get("type") == "tool_use"]
    if tools:
        text = json.dumps(tools[0], ensure_ascii=False)
    if not text.strip() and finish != "length":
        raise ProviderError("invalid_reply", "the reply has no text", reply=reply)
    thought = "".join(str(part.get("thinking") or "") for part in parts if part.get("type") == "thinking")
    return replace(reply, text=text, finish=finish, reasoning=thought)


def read_error(status: int, body: dict[str, Any]) -> tuple[str, ErrorKind | None]:
    """The message of an error, and its kind if the message says more than the status."""
    error = body.get("error")
    said = str(error.get("message") or "") if isinstance(error, dict) else ""
    if status == 400 and "prompt is too long" in said:
        return said, "context_length"
    if status in (400, 403) and "credit balance" in said:
        return said, "no_quota"
    return said, None
