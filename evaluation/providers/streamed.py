"""A streamed reply of the OpenAI protocol, read to its end, as the chat completion that the server would have sent whole."""

from __future__ import annotations

import json
from typing import Any

from evaluation.providers.base import ChatReply, ProviderError, content_reasoning, content_text
from evaluation.providers.contract import JSON
from evaluation.providers.replies import first_object, object_at

#: A token's event is this much longer than its text: the largest stream is so many times the largest reply.
STREAM_FACTOR = 8
_DONE = "[DONE]"
_REASONING = ("reasoning_content", "reasoning")


def is_stream(content: bytes) -> bool:
    """Whether a body has events and isn't one JSON value.

    >>> is_stream(b'data: {"choices": []}'), is_stream(b': wait'), is_stream(b'{"choices": []}')
    (True, True, False)
    """
    return content.lstrip()[:6].startswith((b"data:", b"event:", b"id:", b":"))


def completion_of(content: bytes) -> JSON:
    """The chat completion whose parts the events have. Raises ``ProviderError``: *connection* if the stream ended before the
    reply did, *invalid_reply* if an event isn't JSON.
    """
    reply: JSON = {}
    texts: dict[str, list[str]] = {"content": [], "refusal": [], "reasoning_content": []}
    tokens: list[Any] = []
    finish, ended = None, False
    for data in _events(content):
        if data == _DONE:
            ended = True
            break
        event = _object(data, content)
        if event.get("error"):
            return {"error": event["error"]}
        reply |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        choice = first_object(event, "choices")
        _add(texts, object_at(choice, "delta") or object_at(choice, "message"))
        tokens += object_at(choice, "logprobs").get("content") or []
        finish = choice.get("finish_reason") or finish
        if choice.get("error"):
            return {"error": choice["error"]}
    joined = {name: "".join(parts) for name, parts in texts.items()}
    message = {"role": "assistant", "content": joined["content"]}
    message |= {name: text for name, text in joined.items() if text and name != "content"}
    whole = reply | {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish or ("stop" if ended else None)}],
    }
    if tokens:
        whole["choices"][0]["logprobs"] = {"content": tokens}
    if not (finish or ended):
        raise ProviderError(
            "connection",
            "The stream ended before the reply was complete.",
            reply=ChatReply(text="", raw=whole),
        )
    return whole


def _events(content: bytes) -> list[str]:
    """The data of each event, in order. Comments and other fields are ignored."""
    events: list[str] = []
    lines: list[str] = []
    # Not splitlines: JSON may have other line ends, such as U+2028.
    for line in [
        *content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n"),
        "",
    ]:
        if line.startswith("data:"):
            lines.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and lines:
            events.append("\n".join(lines))
            lines = []
    return events


def _object(data: str, content: bytes) -> JSON:
    try:
        event = json.loads(data, parse_constant=str)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        kept = content[:65_536].decode("utf-8", "replace")
        raise ProviderError(
            "invalid_reply",
            f"an event of the stream is not a JSON object: {' '.join(data[:200].split())}",
            reply=ChatReply(text="", raw={"not_json": kept}),
        )
    return event


def _add(texts: dict[str, list[str]], delta: JSON) -> None:
    """Add an event's part of the message. ``content`` may be parts, of which some are reasoning."""
    texts["content"].append(content_text(delta.get("content")))
    if isinstance(refusal := delta.get("refusal"), str):
        texts["refusal"].append(refusal)
    said = next((delta[name] for name in _REASONING if isinstance(delta.get(name), str)), None)
    texts["reasoning_content"].append(content_reasoning(delta.get("content")) if said is None else said)
