"""The scripted model behind Anthropic's and Gemini's own protocols, as strict about requests as theirs.

Both convert a request to the OpenAI protocol, have the scripted provider answer it, and convert the answer or the error
to the vendor's form. So every fault and misbehaviour is available in all three protocols.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from evaluation.providers.scripted.http import Request, Response, json_response

#: The largest compressed reply, in bytes, that is unpacked here; a gzip bomb is passed on unchanged.
MOST_ZIPPED = 10_000
Answer = Callable[[Request], Awaitable[Response]]
JSON = dict[str, Any]

_MESSAGES = frozenset(
    {
        "model", "max_tokens", "messages", "system", "temperature", "top_p", "top_k", "stop_sequences", "metadata",
        "thinking", "tools", "tool_choice", "stream", "service_tier",
    }
)  # fmt: skip
_ERROR_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip
_CONFIG = frozenset(
    {
        "temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "seed", "candidateCount", "responseMimeType",
        "responseJsonSchema", "responseSchema", "responseLogprobs", "logprobs", "frequencyPenalty",
        "presencePenalty", "thinkingConfig",
    }
)  # fmt: skip
_STATUSES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip


def data_part(media_type: str, data: str) -> JSON:
    """An image of another protocol as a part in the OpenAI protocol."""
    return {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}"}}


def _inner(request: Request, path: str, body: JSON) -> Request:
    """The request in the OpenAI protocol, with the key in that protocol's header."""
    key = request.headers.get("x-api-key") or request.headers.get("x-goog-api-key") or ""
    headers = request.headers | {"authorization": f"Bearer {key}"}
    return replace(request, path=path, headers=headers, body=json.dumps(body).encode())


def _completion(response: Response) -> JSON | None:
    """The chat completion in a response; None if the response is one that no correct server sends."""
    if response.stream is not None or response.keep is not None:
        return None
    zipped = "content-encoding" in response.headers
    if zipped and len(response.body) > MOST_ZIPPED:
        return None
    try:
        found = json.loads(gzip.decompress(response.body) if zipped else response.body)
        message = found["choices"][0]["message"]
    except (OSError, ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
    return found if isinstance(message.get("content"), str | list | None) else None


def _like(response: Response, content: JSON) -> Response:
    """Content in the encoding of a response."""
    if "content-encoding" not in response.headers:
        return json_response(content)
    return replace(response, body=gzip.compress(json.dumps(content).encode()))


def _error(response: Response) -> tuple[str, str]:
    """The message and the code of an error in the OpenAI protocol."""
    error = json.loads(response.body).get("error") or {}
    return str(error.get("message", "")), str(error.get("code", ""))


# -- Anthropic ------------------------------------------------------------------------------------


async def anthropic(request: Request, answer: Answer) -> Response:
    """``/anthropic/v1/messages`` and ``/anthropic/v1/models``."""
    if request.path.endswith("/models"):
        return await answer(_inner(replace(request, query=""), "/v1/models", {}))
    try:
        body = json.loads(request.body)
    except ValueError:
        return _anthropic_error(400, "the body is not JSON")
    if fault := _messages_fault(request, body):
        return _anthropic_error(400, fault)
    chat = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    chat += [message | {"content": _blocks(message["content"])} for message in body["messages"]]
    inner: JSON = {"model": body["model"], "messages": chat, "max_tokens": body["max_tokens"]}
    inner |= {"temperature": body.get("temperature", 1.0)}
    tools = body.get("tools") or []
    if tools:
        inner["response_format"] = {
            "type": "json_schema",
            "json_schema": {"schema": tools[0]["input_schema"]},
        }
    response = await answer(_inner(request, "/v1/chat/completions", inner))
    if response.status >= 400:
        said, code = _error(response)
        status = 529 if response.status == 503 else response.status
        said = f"prompt is too long: {said}" if code == "context_length_exceeded" else said
        kept = {name: value for name, value in response.headers.items() if name == "retry-after"}
        return _anthropic_error(status, said, **kept)
    found = _completion(response)
    return response if found is None else _like(response, _message(found, bool(tools)))


def _messages_fault(request: Request, body: Any) -> str:
    if not isinstance(body, dict):
        return "expected an object"
    if "anthropic-version" not in request.headers:
        return "anthropic-version: header is required"
    if strange := set(body) - _MESSAGES:
        return f"{sorted(strange)[0]}: Extra inputs are not permitted"
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: Field required"
    if not 0 <= float(body.get("temperature", 1.0)) <= 1:
        return "temperature: range: 0..1"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "messages: at least one message is required"
    if strange := {message.get("role") for message in messages} - {"user", "assistant"}:
        return f'messages: Unexpected role "{strange.pop()}". The Messages API accepts a top-level `system` parameter'
    return ""


def _blocks(content: Any) -> Any:
    """The content of a message in the OpenAI protocol."""
    if isinstance(content, str):
        return content
    return [
        data_part(one["source"]["media_type"], one["source"]["data"]) if one["type"] == "image" else one
        for one in content
    ]


def _message(found: JSON, held: bool) -> JSON:
    choice, usage = found["choices"][0], found.get("usage") or {}
    message = choice["message"]
    text = message.get("content") or ""
    blocks = (
        [{"type": "thinking", "thinking": message["reasoning_content"], "signature": "x"}]
        if message.get("reasoning_content")
        else []
    )
    finish = {"length": "max_tokens", "content_filter": "refusal"}.get(
        choice.get("finish_reason"), "end_turn"
    )
    if isinstance(text, list):
        blocks += [part for part in text if part.get("type") == "text"]
    elif held and finish == "end_turn":
        blocks += [{"type": "tool_use", "id": "toolu_1", "name": "reply", "input": _object(text)}]
        finish = "tool_use"
    elif text:
        blocks += [{"type": "text", "text": text}]
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": found.get("model"),
        "content": blocks,
        "stop_reason": finish,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.get("prompt_tokens", 0) - cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached,
            "output_tokens": usage.get("completion_tokens", 0),
        },
    }


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"text": text}


def _anthropic_error(status: int, said: str, **headers: str) -> Response:
    kind = _ERROR_TYPES.get(status, "api_error")
    return json_response(
        {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"}, status, **headers
    )


# -- Gemini ---------------------------------------------------------------------------------------


async def gemini(request: Request, answer: Answer) -> Response:
    """``/gemini/v1beta/models`` and ``/gemini/v1beta/models/MODEL:generateContent`` (``:batchEmbedContents``)."""
    _, _, rest = request.path.partition("/v1beta/models")
    model, _, method = unquote(rest.removeprefix("/")).rpartition(":")
    if not rest:
        return json_response({"models": [{"name": "models/scripted", "displayName": "Scripted"}]})
    try:
        body = json.loads(request.body)
    except ValueError:
        return _gemini_error(400, "Invalid JSON payload received.")
    if method == "batchEmbedContents":
        texts = [one["content"]["parts"][0]["text"] for one in body["requests"]]
        made = await answer(_inner(request, "/v1/embeddings", {"model": model, "input": texts}))
        rows = json.loads(made.body)["data"]
        return json_response({"embeddings": [{"values": row["embedding"]} for row in rows]})
    if method != "generateContent":
        return _gemini_error(404, f"no such method: {method}")
    if fault := _content_fault(body):
        return _gemini_error(400, fault)
    config = body.get("generationConfig", {})
    system = "\n".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", []))
    chat: list[JSON] = [{"role": "system", "content": system}] if system else []
    chat += [
        {
            "role": {"model": "assistant"}.get(one.get("role"), "user"),
            "content": _parts(one["parts"]),
        }
        for one in body["contents"]
    ]
    inner: JSON = {"model": model, "messages": chat, "temperature": config.get("temperature", 1.0)}
    inner |= {"max_tokens": config["maxOutputTokens"]} if "maxOutputTokens" in config else {}
    inner |= {"seed": config["seed"]} if "seed" in config else {}
    if "responseJsonSchema" in config:
        schema = {"schema": config["responseJsonSchema"]}
        inner["response_format"] = {"type": "json_schema", "json_schema": schema}
    response = await answer(_inner(request, "/v1/chat/completions", inner))
    if response.status >= 400:
        said, code = _error(response)
        status = 400 if code == "invalid_api_key" else response.status
        said = "API key not valid. Please pass a valid API key." if code == "invalid_api_key" else said
        if code == "context_length_exceeded":
            said = "The input token count (9) exceeds the maximum number of tokens allowed (8)."
        kept = {name: value for name, value in response.headers.items() if name == "retry-after"}
        return _gemini_error(status, said, **kept)
    found = _completion(response)
    return response if found is None else _like(response, _content(found))


def _parts(parts: list[JSON]) -> str | list[JSON]:
    """The content of a message in the OpenAI protocol."""
    if all("text" in part for part in parts):
        return "".join(part["text"] for part in parts)
    return [
        {"type": "text", "text": part["text"]}
        if "text" in part
        else data_part(part["inlineData"]["mimeType"], part["inlineData"]["data"])
        for part in parts
    ]


def _content_fault(body: Any) -> str:
    if not isinstance(body, dict):
        return "Invalid JSON payload received."
    for name in set(body) - {
        "contents",
        "systemInstruction",
        "generationConfig",
        "safetySettings",
        "cachedContent",
    }:
        return f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
    for name in set(body.get("generationConfig", {})) - _CONFIG:
        return f"Invalid JSON payload received. Unknown name \"{name}\" at 'generation_config': Cannot find field."
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        return "contents is not specified"
    if any(one.get("role", "user") not in ("user", "model") for one in contents):
        return "Please use a valid role: user, model."
    return ""


def _content(found: JSON) -> JSON:
    choice, usage = found["choices"][0], found.get("usage") or {}
    message = choice["message"]
    text = message.get("content") or ""
    texts = (
        [part["text"] for part in text if part.get("type") == "text"] if isinstance(text, list) else [text]
    )
    parts: list[JSON] = [{"text": one} for one in texts if one]
    thoughts = message.get("reasoning_content")
    parts = ([{"text": thoughts, "thought": True}] if thoughts else []) + parts
    finish = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}.get(choice.get("finish_reason"), "STOP")
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    counts = {
        "promptTokenCount": usage.get("prompt_tokens"),
        "candidatesTokenCount": usage.get("completion_tokens"),
        "totalTokenCount": usage.get("total_tokens"),
    }
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}],
        "usageMetadata": counts | ({"cachedContentTokenCount": cached} if cached else {}),
        "modelVersion": found.get("model"),
        "responseId": "r1",
    }


def _gemini_error(status: int, said: str, **headers: str) -> Response:
    error = {"code": status, "message": said, "status": _STATUSES.get(status, "UNKNOWN")}
    return json_response({"error": error}, status, **headers)
