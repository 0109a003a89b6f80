"""Anthropic's own protocol: POST /v1/messages. https://docs.anthropic.com/en/api/messages"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from evaluation.providers.base import ChatImage, ChatReply, ChatRequest, ErrorKind, ProviderError
from evaluation.providers.contract import JSON, Access, Provider
from evaluation.providers.images import base64_of, content_of, messages_in_parts
from evaluation.providers.replies import MISFIT, count_of, error_in_body, object_at, objects_at

VERSION = "2023-06-01"
#: The tool that makes a reply follow a schema.
TOOL = "reply"
#: Parameters of other protocols that this one refuses.
_UNKNOWN = frozenset({"seed", "n", "logprobs", "top_logprobs", "frequency_penalty", "presence_penalty"})
#: Parameters that can't be chosen while the model thinks.
_NOT_WITH_THINKING = frozenset({"temperature", "top_k", "top_p"})
#: The least budget for thinking, in tokens.
LEAST_THINKING = 1024
_FINISH = {"max_tokens": "length", "model_context_window_exceeded": "length"}


class Anthropic(Provider):
    """``base_url`` ends with /v1."""

    name = "anthropic"
    title = "Anthropic"
    reserved_headers = frozenset({"anthropic-version", "x-api-key"})
    price_hosts: ClassVar = {"api.anthropic.com": "anthropic"}

    def headers(self, access: Access) -> Mapping[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": access.key} if access.key else {})

    def chat_path(self, model: str) -> str:
        return "/messages"

    def chat_body(self, request: ChatRequest) -> JSON:
        """The instructions separate from the chat, and a schema as the input of a forced tool.

        >>> chat = ({"role": "system", "content": "Be brief."},)
        >>> Anthropic().chat_body(ChatRequest("claude", chat, {"max_tokens": 9}))["system"]
        'Be brief.'
        """
        thinks = object_at(request.parameters, "thinking").get("type") not in (None, "disabled")
        unknown = _UNKNOWN | _NOT_WITH_THINKING if thinks else _UNKNOWN
        parameters = {name: value for name, value in request.parameters.items() if name not in unknown}
        limit = parameters.pop("max_completion_tokens", None) or parameters.pop("max_tokens", None) or 4096
        parameters.pop("max_tokens", None)
        if (stop := parameters.pop("stop", None)) is not None:
            parameters["stop_sequences"] = [stop] if isinstance(stop, str) else stop
        messages = [(role, content_of(parts, _image_part)) for role, parts in messages_in_parts(request)]
        system = [str(content) for role, content in messages if role == "system"]
        chat = [{"role": role, "content": content} for role, content in messages if role != "system"]
        body: JSON = {"model": request.model, "max_tokens": limit, "messages": chat, **parameters}
        if system:
            body["system"] = "\n\n".join(system)
        if request.schema is not None:
            tool = {"name": TOOL, "description": "Your whole reply.", "input_schema": request.schema}
            # A model that thinks can't be forced to use a tool; what it writes instead is read as any reply.
            choice = {"type": "auto"} if thinks else {"type": "tool", "name": TOOL}
            body |= {"tools": [tool], "tool_choice": choice}
        return body

    def reply_limit(self, *, model: str, tokens: int, thinking: int | None = None) -> JSON:
        """A limit of at least 1,024 tokens for thinking turns it on; a model that isn't asked to think doesn't."""
        if not thinking or thinking < LEAST_THINKING:
            return {"max_tokens": tokens}
        return {
            "max_tokens": tokens + thinking,
            "thinking": {"type": "enabled", "budget_tokens": thinking},
        }

    def read_chat(self, raw: JSON) -> ChatReply:
        usage = object_at(raw, "usage")
        cached, uncached = count_of(usage, "cache_read_input_tokens"), count_of(usage, "input_tokens")
        written = count_of(usage, "cache_creation_input_tokens")
        reply = ChatReply(
            text="",
            raw=raw,
            model=str(raw.get("model") or "")[:200],
            tokens_in=None if uncached is None else uncached + (cached or 0) + (written or 0),
            tokens_out=count_of(usage, "output_tokens"),
            tokens_cached=cached,
        )
        if raw.get("error"):
            raise error_in_body(raw["error"], reply)
        blocks = objects_at(raw, "content")
        reason = str(raw.get("stop_reason") or "")
        finish = _FINISH.get(reason, "stop")
        if reason == "refusal":
            raise ProviderError("refusal", "the model declined to answer", reply=reply)
        text = "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")
        tools = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
        if tools:
            text = json.dumps(tools[0], ensure_ascii=False)
        if not text.strip() and finish != "length":
            raise ProviderError("invalid_reply", "the reply has no text", reply=reply)
        return replace(reply, text=text, finish=finish, reasoning=self.reasoning(raw))

    def reasoning(self, raw: JSON) -> str:
        blocks = [block for block in objects_at(raw, "content") if block.get("type") == "thinking"]
        return "".join(str(block.get("thinking") or "") for block in blocks)

    def read_error(self, status: int, body: JSON, *, base_url: str) -> tuple[str, ErrorKind | None]:
        message = str(object_at(body, "error").get("message") or "")
        if status == 400 and "prompt is too long" in message:
            return message, "context_length"
        if status in (400, 403) and "credit balance" in message:
            return message, "no_quota"
        if status >= 500 and MISFIT.search(message):  # llama.cpp's server speaks this protocol, too
            return message, "invalid_reply"
        return message, None


def _image_part(image: ChatImage) -> JSON:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": image.media_type, "data": base64_of(image)},
    }
