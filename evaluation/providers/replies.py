"""What reading the JSON of any API has in common: parts that may be missing or odd, token counts, kinds of error."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from evaluation.providers.base import ChatReply, ErrorKind, ProviderError

#: Status -> what it means if nothing else is known.
KINDS: Mapping[int, ErrorKind] = {
    400: "bad_request",
    401: "unauthorized",
    402: "no_quota",
    403: "unauthorized",
    404: "not_found",
    408: "timeout",
    409: "server",
    413: "bad_request",
    422: "bad_request",
    425: "server",
    429: "rate_limit",
}
#: A 500 of llama.cpp's server about one reply: it generated it, and couldn't read it in the format that was asked for.
MISFIT = re.compile(r"does not match the expected .{0,40}format", re.I)


def kind_of_status(status: int) -> ErrorKind:
    """What a status means if nothing else is known."""
    return KINDS.get(status, "server" if status >= 500 else "bad_request")


def object_at(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The JSON object under a key; empty if there is none.

    >>> object_at({"usage": {"in": 3}}, "usage"), object_at({"usage": None}, "usage")
    ({'in': 3}, {})
    """
    part = value.get(key)
    return part if isinstance(part, dict) else {}


def objects_at(value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The JSON objects in the list under a key; empty if there is no list."""
    parts = value.get(key)
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def first_object(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The first entry of the list under a key; empty if that isn't an object."""
    parts = value.get(key)
    return parts[0] if isinstance(parts, list) and parts and isinstance(parts[0], dict) else {}


def count_of(usage: Mapping[str, Any], name: str) -> int | None:
    """A token count; a fraction is rounded up. None if the value can't be a count."""
    value = usage.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**31:
        return None
    return math.ceil(value)


def tokens_of(entries: Any, token: str, log_probability: str) -> tuple[tuple[str, float], ...]:
    """Tokens with their log probabilities from a reply's list of objects; empty if it isn't one."""
    tokens = []
    for entry in entries if isinstance(entries, list) else []:
        text = entry.get(token) if isinstance(entry, dict) else None
        value = entry.get(log_probability) if isinstance(entry, dict) else None
        if not isinstance(text, str) or isinstance(value, bool) or not isinstance(value, int | float):
            return ()
        tokens.append((text, float(value)))
    return tuple(tokens)


#: Words for a reply that was cut off at its length limit: OpenAI's, Mistral's, Anthropic's and others'.
_CUT_OFF = frozenset(
    {"length", "max_tokens", "model_length", "max_output_tokens", "max_new_tokens", "max_length"}
)


def finish_of(reason: Any) -> str:
    """Why a reply ended; "length" in any server's words for a reply that was cut off.

    >>> finish_of("model_length"), finish_of("stop"), finish_of(None)
    ('length', 'stop', '')
    """
    said = str(reason or "")
    return "length" if said.lower() in _CUT_OFF else said


def words_of_error(error: Any) -> str:
    """The server's own words about an error, wherever it puts them; empty if it says nothing.

    >>> words_of_error({"code": 1002, "msg": "Too busy."}), words_of_error({"detail": [{"loc": ["body", "seed"], "msg": "no such field"}]})
    ('Too busy.', 'body.seed: no such field')
    """
    if isinstance(error, str):
        return error
    if isinstance(error, list):
        return "; ".join(filter(None, map(words_of_error, error)))
    if not isinstance(error, dict):
        return ""
    for name in ("message", "msg", "detail", "error_msg", "error_message", "error", "errors", "title"):
        if words := words_of_error(error.get(name)):
            place = error.get("loc")
            at = ".".join(map(str, place)) if isinstance(place, list) else ""
            return f"{at}: {words}" if at else words
    return ""


def error_in_body(error: Any, reply: ChatReply, *, kind: ErrorKind = "server") -> ProviderError:
    """The error that some gateways send with status 200; the provider may charge for it all the same."""
    message = words_of_error(error) or error
    return ProviderError(kind, f"HTTP 200 with an error: {message}"[:500], status=200, reply=reply)
