"""Gemini's own protocol: POST /v1beta/models/MODEL:generateContent. https://ai.google.dev/api/generate-content"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import quote

from evaluation.providers.base import ChatImage, ChatReply, ChatRequest, ErrorKind, ProviderError
from evaluation.providers.contract import JSON, Access, Provider
from evaluation.providers.images import base64_of, messages_in_parts
from evaluation.providers.replies import (
    count_of,
    error_in_body,
    first_object,
    object_at,
    objects_at,
    tokens_of,
)

#: Parameters under the names of the OpenAI protocol -> those of ``generationConfig``. Others are sent as they are.
_NAMES: Mapping[str, str] = {
    "max_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
    "top_p": "topP",
    "top_k": "topK",
    "stop": "stopSequences",
    "n": "candidateCount",
    "logprobs": "responseLogprobs",
    "top_logprobs": "logprobs",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
}
#: Models that think unless they are told not to, and count that as part of the reply.
_THINKS = re.compile(r"gemini-(?:2\.5|[3-9])(?!.*(?:lite|image))")
#: Tokens for their thinking, in addition to those of the reply.
THINKING_TOKENS = 4000
#: Parameters that are sent beside ``generationConfig``.
_BESIDE = frozenset({"safetySettings", "cachedContent"})
#: Reasons for which a reply, or a prompt, was held back.
_FILTERED = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE"}
)


class Gemini(Provider):
    """``base_url`` ends with /v1beta."""

    name = "gemini"
    title = "Gemini"
    reserved_headers = frozenset({"x-goog-api-key"})
    price_hosts: ClassVar = {"generativelanguage.googleapis.com": "gemini"}

    def headers(self, access: Access) -> Mapping[str, str]:
        return {"x-goog-api-key": access.key} if access.key else {}

    def chat_path(self, model: str) -> str:
        return f"{_path(model)}:generateContent"

    def chat_body(self, request: ChatRequest) -> JSON:
        """
        >>> chat = ({"role": "user", "content": "Hi"},)
        >>> Gemini().chat_body(ChatRequest("gemini", chat, {"max_tokens": 9}))["generationConfig"]
        {'maxOutputTokens': 9}
        """
        config: JSON = {}
        body: JSON = {}
        for name, value in request.parameters.items():
            if name in _BESIDE:
                body[name] = value
            else:
                config[_NAMES.get(name, name)] = (
                    [value] if name == "stop" and isinstance(value, str) else value
                )
        if request.schema is not None:
            config |= {"responseMimeType": "application/json", "responseJsonSchema": request.schema}
        messages = [(role, [_part(part) for part in parts]) for role, parts in messages_in_parts(request)]
        system = [part for role, parts in messages if role == "system" for part in parts]
        roles = {"user": "user", "assistant": "model"}
        body["contents"] = [
            {"role": roles[role], "parts": parts or [{"text": ""}]}
            for role, parts in messages
            if role in roles
        ]
        if system:
            body["systemInstruction"] = {"parts": system}
        return body | ({"generationConfig": config} if config else {})

    def thinking_tokens(self, model: str) -> int:
        return THINKING_TOKENS if _THINKS.search(model) else 0

    def reply_limit(self, *, model: str, tokens: int, thinking: int | None = None) -> JSON:
        """A limit that the endpoint sets is also sent as the thinking's own budget; 0 turns it off."""
        limit = super().reply_limit(model=model, tokens=tokens, thinking=thinking)
        return limit if thinking is None else limit | {"thinkingConfig": {"thinkingBudget": thinking}}

    def read_chat(self, raw: JSON) -> ChatReply:
        usage = object_at(raw, "usageMetadata")
        out, thoughts = count_of(usage, "candidatesTokenCount"), count_of(usage, "thoughtsTokenCount")
        reply = ChatReply(
            text="",
            raw=raw,
            model=str(raw.get("modelVersion") or "")[:200],
            tokens_in=count_of(usage, "promptTokenCount"),
            tokens_out=None if out is None and thoughts is None else (out or 0) + (thoughts or 0),
            tokens_cached=count_of(usage, "cachedContentTokenCount"),
        )
        if raw.get("error"):
            raise error_in_body(raw["error"], reply)
        if blocked := object_at(raw, "promptFeedback").get("blockReason"):
            raise ProviderError(
                "content_filter", f"the prompt was blocked: {blocked}", status=200, reply=reply
            )
        candidate = first_object(raw, "candidates")
        if not candidate:
            raise ProviderError("invalid_reply", "the reply has no candidates", reply=reply)
        reason = str(candidate.get("finishReason") or "STOP")
        if reason in _FILTERED:
            raise ProviderError("content_filter", f"the reply was held back: {reason}", reply=reply)
        parts = objects_at(object_at(candidate, "content"), "parts")
        text = "".join(str(part.get("text") or "") for part in parts if not part.get("thought"))
        finish = "length" if reason == "MAX_TOKENS" else "stop"
        if not text.strip() and finish != "length":
            raise ProviderError(
                "invalid_reply", f"the reply has no text (finished with {reason})", reply=reply
            )
        chosen = object_at(candidate, "logprobsResult").get("chosenCandidates")
        tokens = tokens_of(chosen, "token", "logProbability")
        return replace(reply, text=text, finish=finish, reasoning=self.reasoning(raw), tokens=tokens)

    def reasoning(self, raw: JSON) -> str:
        parts = objects_at(object_at(first_object(raw, "candidates"), "content"), "parts")
        return "".join(str(part.get("text") or "") for part in parts if part.get("thought"))

    def read_error(self, status: int, body: JSON, *, base_url: str) -> tuple[str, ErrorKind | None]:
        error = object_at(body, "error")
        message, details = str(error.get("message") or ""), str(error.get("details") or "")
        if status == 400 and re.search(r"API[ _]key (?:not valid|expired|not found)", message, re.IGNORECASE):
            return message, "unauthorized"
        if status == 400 and re.search(
            r"token count.{0,40}exceeds|exceeds the maximum number of tokens", message
        ):
            return message, "context_length"
        if status == 429 and "PerDay" in details:  # waiting a few minutes won't help
            return message, "no_quota"
        return message, None

    def embed_request(self, model: str, texts: Sequence[str]) -> tuple[str, JSON]:
        name = f"models/{model.removeprefix('models/')}"
        requests = [{"model": name, "content": {"parts": [{"text": text}]}} for text in texts]
        return f"{_path(model)}:batchEmbedContents", {"requests": requests}

    def read_embeddings(self, raw: JSON) -> list[Any]:
        return [embedding["values"] for embedding in raw["embeddings"]]

    def read_models(self, raw: JSON) -> list[str]:
        return [str(model.get("name")).removeprefix("models/") for model in objects_at(raw, "models")]


def _path(model: str) -> str:
    return f"/models/{quote(model.removeprefix('models/'), safe='')}"


def _part(part: str | ChatImage) -> JSON:
    if isinstance(part, str):
        return {"text": part}
    return {"inlineData": {"mimeType": part.media_type, "data": base64_of(part)}}
