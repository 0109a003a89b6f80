"""Gemini's own protocol: POST /v1beta/models/MODEL:generateContent. https://ai.google.dev/api/generate-content"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from evaluation.providers.base import ChatImage, ChatReply, ChatRequest, ErrorKind, ProviderError
from evaluation.providers.images import base64_of, body_made, messages_in_parts
from evaluation.providers.replies import count_of, error_in_body, tokens_of
from evaluation.providers.rest import Access, RestClient

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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
#: Parameters that are sent beside ``generationConfig``.
_BESIDE = frozenset({"safetySettings", "cachedContent"})
#: Reasons for which a reply, or a prompt, was held back.
_FILTERED = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE"}
)


class Gemini:
    """One endpoint. ``base_url`` ends with /v1beta. Raises ``ProviderError`` (refused_host) if requests to the host aren't allowed."""

    def __init__(self, access: Access) -> None:
        headers = {"x-goog-api-key": access.key} if access.key else {}
        self.rest = RestClient(access, headers=headers, read_error=read_error)

    async def chat(self, request: ChatRequest) -> ChatReply:
        started = time.perf_counter()
        body = await body_made(content_body, request)
        raw = await self.rest.send("POST", f"{_path(request.model)}:generateContent", body)
        return read_content(raw, seconds=time.perf_counter() - started)

    async def embed(self, model: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        import numpy as np

        name = f"models/{model.removeprefix('models/')}"
        requests = [{"model": name, "content": {"parts": [{"text": text}]}} for text in texts]
        raw = await self.rest.send("POST", f"{_path(model)}:batchEmbedContents", {"requests": requests})
        try:
            vectors = np.array([one["values"] for one in raw["embeddings"]], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            raise ProviderError("invalid_reply", "the reply has no embeddings") from None
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ProviderError("invalid_reply", f"asked for {len(texts)} embeddings, got {len(vectors)}")
        return vectors

    async def models(self) -> list[str]:
        raw = await self.rest.send("GET", "/models")
        found = [model.get("name") for model in raw.get("models") or [] if isinstance(model, dict)]
        return [str(name).removeprefix("models/") for name in found]

    async def aclose(self) -> None:
        await self.rest.aclose()


def _path(model: str) -> str:
    return f"/models/{quote(model.removeprefix('models/'), safe='')}"


def content_body(request: ChatRequest) -> dict[str, Any]:
    """The JSON body of a request.

    >>> content_body(ChatRequest("gemini", ({"role": "user", "content": "Hi"},), {"max_tokens": 9}))["generationConfig"]
    {'maxOutputTokens': 9}
    """
    config: dict[str, Any] = {}
    body: dict[str, Any] = {}
    for name, value in request.parameters.items():
        if name in _BESIDE:
            body[name] = value
        else:
            config[_NAMES.get(name, name)] = [value] if name == "stop" and isinstance(value, str) else value
    if request.schema is not None:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": request.schema}
    messages = [(role, [_part(part) for part in parts]) for role, parts in messages_in_parts(request)]
    system = [part for role, parts in messages if role == "system" for part in parts]
    roles = {"user": "user", "assistant": "model"}
    body["contents"] = [
        {"role": roles[role], "parts": parts or [{"text": ""}]} for role, parts in messages if role in roles
    ]
    if system:
        body["systemInstruction"] = {"parts": system}
    return body | ({"generationConfig": config} if config else {})


def _part(part: str | ChatImage) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    return {"inlineData": {"mimeType": part.media_type, "data": base64_of(part)}}


def read_content(raw: dict[str, Any], *, seconds: float = 0.0) -> ChatReply:
    """The JSON of generated content as a reply. If it has no text, raises ``ProviderError`` with what was received."""
    found = raw.get("usageMetadata")
    usage: dict[str, Any] = found if isinstance(found, dict) else {}
    out, thoughts = count_of(usage, "candidatesTokenCount"), count_of(usage, "thoughtsTokenCount")
    reply = ChatReply(
        text="",
        raw=raw,
        model=str(raw.get("modelVersion") or "")[:200],
        tokens_in=count_of(usage, "promptTokenCount"),
        tokens_out=None if out is None and thoughts is None else (out or 0) + (thoughts or 0),
        tokens_cached=count_of(usage, "cachedContentTokenCount"),
        seconds=seconds,
    )
    if raw.get("error"):
        raise error_in_body(raw["error"], reply)
    feedback = raw.get("promptFeedback")
    if isinstance(feedback, dict) and feedback.get("blockReason"):
        said = f"the prompt was blocked: {feedback['blockReason']}"
        raise ProviderError("content_filter", said, status=200, reply=reply)
    candidates = raw.get("candidates")
    candidate = candidates[0] if isinstance(candidates, list) and candidates else None
    if not isinstance(candidate, dict):
        raise ProviderError("invalid_reply", "the reply has no candidates", reply=reply)
    reason = str(candidate.get("finishReason") or "STOP")
    if reason in _FILTERED:
        raise ProviderError("content_filter", f"the reply was held back: {reason}", reply=reply)
    content = candidate.get("content")
    listed = content.get("parts") if isinstance(content, dict) else None
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    text = "".join(str(part.get("text") or "") for part in parts if not part.get("thought"))
    finish = "length" if reason == "MAX_TOKENS" else "stop"
    if not text.strip() and finish != "length":
        raise ProviderError("invalid_reply", f"the reply has no text (finished with {reason})", reply=reply)
    thought = "".join(str(part.get("text") or "") for part in parts if part.get("thought"))
    listed = candidate.get("logprobsResult")
    chosen = listed.get("chosenCandidates") if isinstance(listed, dict) else None
    tokens = tokens_of(chosen, "token", "logProbability")
    return replace(reply, text=text, finish=finish, reasoning=thought, tokens=tokens)


def read_error(status: int, body: dict[str, Any]) -> tuple[str, ErrorKind | None]:
    """The message of an error, and its kind if the message says more than the status."""
    error = body.get("error")
    if not isinstance(error, dict):
        return "", None
    said, details = str(error.get("message") or ""), str(error.get("details") or "")
    if status == 400 and re.search(r"API[ _]key (?:not valid|expired|not found)", said, re.IGNORECASE):
        return said, "unauthorized"
    if status == 400 and re.search(r"token count.{0,40}exceeds|exceeds the maximum number of tokens", said):
        return said, "context_length"
    if status == 429 and "PerDay" in details:  # waiting a few minutes won't help
        return said, "no_quota"
    return said, None
