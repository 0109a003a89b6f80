"""Replies that a correct server would never send. Each has been seen in practice, or is close to one that has."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from evaluation.providers.scripted.http import Response, json_response

JSON_TYPE = {"content-type": "application/json"}
#: Uncompressed size of ``gzip_bomb``, in bytes.
BOMB = 400 * 1024 * 1024


async def _forever(part: bytes, seconds: float) -> AsyncIterator[bytes]:
    while True:
        yield part
        await asyncio.sleep(seconds)


async def _slowly(body: bytes) -> AsyncIterator[bytes]:
    for byte in body:
        yield bytes([byte])
        await asyncio.sleep(0.05)


def _whitespace(reply: dict[str, Any]) -> Response:
    return Response(headers=JSON_TYPE, stream=_forever(b" " * 1024, 0.02))


def _flood(reply: dict[str, Any]) -> Response:
    return Response(headers=JSON_TYPE, stream=_forever(b" " * 1024 * 1024, 0.001))


def _slow(reply: dict[str, Any]) -> Response:
    return Response(headers=JSON_TYPE, stream=_slowly(json.dumps(reply).encode()))


def _deep(reply: dict[str, Any]) -> Response:
    return Response(200, b'{"choices":' + b"[" * 100_000 + b"]" * 100_000 + b"}", JSON_TYPE)


def _deep_extra(reply: dict[str, Any]) -> Response:
    """A good reply with an extra field that is nested 400 levels deep: too deep for recursive code, but valid JSON."""
    body = json.dumps(reply)[:-1] + ',"extra":' + "[" * 400 + "]" * 400 + "}"
    return Response(200, body.encode(), JSON_TYPE)


def _nan(reply: dict[str, Any]) -> Response:
    odd = {"extra": [float("nan"), float("inf"), float("-inf")], "logprobs": float("nan")}
    return json_response(reply | odd)


def _overflow(reply: dict[str, Any]) -> Response:
    return Response(200, json.dumps(reply)[:-1].encode() + b',"extra":1e999,"created":-1e999}', JSON_TYPE)


def _long_number(reply: dict[str, Any]) -> Response:
    return Response(200, json.dumps(reply)[:-1].encode() + b',"extra":' + b"9" * 5000 + b"}", JSON_TYPE)


def _bomb(reply: dict[str, Any]) -> Response:
    block = gzip.compress(b" " * 1024 * 1024)
    return Response(200, block * (BOMB // (1024 * 1024)), JSON_TYPE | {"content-encoding": "gzip"})


def _gzip(reply: dict[str, Any]) -> Response:
    return Response(200, gzip.compress(json.dumps(reply).encode()), JSON_TYPE | {"content-encoding": "gzip"})


def _bad_gzip(reply: dict[str, Any]) -> Response:
    return Response(200, json.dumps(reply).encode(), JSON_TYPE | {"content-encoding": "gzip"})


def _nul(reply: dict[str, Any]) -> Response:
    """The good reply, with NUL and half a surrogate pair in the fields stored besides its text."""
    return json_response(reply | {"id": "a\x00b", "extra": {"\ud800": "\udfff\x00"}})


def _error_body(reply: dict[str, Any]) -> Response:
    error = {"message": "The engine is overloaded, please try again.", "type": "server_error", "code": 503}
    return json_response({"error": error})


def _fractional(reply: dict[str, Any]) -> Response:
    usage = {name: count + 0.5 for name, count in reply["usage"].items()}
    return json_response(reply | {"usage": usage})


def _odd_types(reply: dict[str, Any]) -> Response:
    odd = {
        "model": {"name": ["x"] * 500},
        "system_fingerprint": 7,
        "usage": ["none"],
        "choices": {"0": "text"},
    }
    return json_response(reply | odd)


def _misfit(reply: dict[str, Any]) -> Response:
    """llama.cpp's answer where it can't read what the model wrote, such as JSON that was cut off."""
    said = "The model produced output that does not match the expected peg-native format"
    return json_response({"error": {"code": 500, "message": said, "type": "server_error"}}, 500)


def _html(reply: dict[str, Any]) -> Response:
    return Response(200, b"<!doctype html><title>502 Bad Gateway</title>", {"content-type": "text/html"})


def _long_text(reply: dict[str, Any]) -> Response:
    message = {"role": "assistant", "content": "so (so " * 200_000}
    return json_response(reply | {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def _loop(reply: dict[str, Any]) -> Response:
    """A model that repeats itself until it is stopped."""
    return _with_message(reply, content="```\n" * 40_000)


def _empty_body(reply: dict[str, Any]) -> Response:
    return Response(200, b"", JSON_TYPE)


def _with_message(reply: dict[str, Any], finish: str = "stop", **message: Any) -> Response:
    own = {"role": "assistant", **message}
    return json_response(reply | {"choices": [{"index": 0, "message": own, "finish_reason": finish}]})


def _text(reply: dict[str, Any]) -> str:
    return str(reply["choices"][0]["message"]["content"])


def _parts(reply: dict[str, Any]) -> Response:
    """The content as a list of parts, as some servers send it."""
    parts = [{"type": "text", "text": part} for part in _text(reply).splitlines(keepends=True)]
    return _with_message(reply, content=[{"type": "thinking", "thinking": "ANSWER: 42"}, *parts])


def _thinking(reply: dict[str, Any]) -> Response:
    """A reply whose tokens were all used up by the model's reasoning."""
    return _with_message(reply, "length", content="", reasoning_content="First I look at the explanation.")


def _tool_calls(reply: dict[str, Any]) -> Response:
    """A model that calls a tool, although it was given none, and says nothing."""
    call = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    return _with_message(reply, "tool_calls", content=None, tool_calls=[call])


def _no_content(reply: dict[str, Any]) -> Response:
    return _with_message(reply, content="")


def _partial(reply: dict[str, Any]) -> Response:
    """A numbered list without its last third and with one entry that isn't a question; other replies unchanged."""
    lines = _text(reply).splitlines()
    if not lines[0].startswith("1. ") or len(lines) < 3:
        return json_response(reply)
    kept = lines[: len(lines) - len(lines) // 3]
    return _with_message(reply, content="\n".join([*kept[:-1], f"{len(kept)}. I have no more questions."]))


KINDS: dict[str, Callable[[dict[str, Any]], Response]] = {
    "whitespace": _whitespace,
    "flood": _flood,
    "slow": _slow,
    "deep": _deep,
    "deep_extra": _deep_extra,
    "nan": _nan,
    "overflow": _overflow,
    "long_number": _long_number,
    "gzip_bomb": _bomb,
    "gzip": _gzip,
    "bad_gzip": _bad_gzip,
    "nul": _nul,
    "error_body": _error_body,
    "fractional": _fractional,
    "odd_types": _odd_types,
    "misfit": _misfit,
    "html": _html,
    "long_text": _long_text,
    "loop": _loop,
    "empty_body": _empty_body,
    "parts": _parts,
    "thinking": _thinking,
    "tool_calls": _tool_calls,
    "no_content": _no_content,
    "partial": _partial,
}
