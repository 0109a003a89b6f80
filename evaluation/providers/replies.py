"""Reading HTTP replies of any model server: JSON, token counts, and failures of the connection."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import httpx2

from evaluation.providers import transport
from evaluation.providers.base import ChatReply, ProviderError
from evaluation.providers.hosts import HostRefused

#: Bytes of a reply that isn't JSON that are stored.
KEPT_BYTES = 64 * 1024
#: The message of a 500 about one reply: llama.cpp generated it, and couldn't read it in the format that was asked for.
MISFIT = re.compile(r"does not match the expected .{0,40}format", re.I)


def json_object(response: httpx2.Response) -> dict[str, Any]:
    if response.is_redirect:
        raise ProviderError("refused_host", "the endpoint answered with a redirect, which is not followed")
    try:
        # NaN and Infinity aren't valid JSON, but some servers send them; Postgres accepts them only as text.
        raw = json.loads(response.content, parse_constant=str)
    except RecursionError:
        raise _unreadable(response, "the reply's JSON is nested too deeply") from None
    except ValueError:
        raise _unreadable(response, "the reply is not complete JSON") from None
    if not isinstance(raw, dict):
        raise _unreadable(response, "the reply is not a JSON object")
    return raw


def _unreadable(response: httpx2.Response, reason: str) -> ProviderError:
    """The error for a reply that was received and may have to be paid for, with the beginning of what was received."""
    text = response.content[:KEPT_BYTES].decode("utf-8", "replace")
    kept = ChatReply(text="", raw={"not_json": text}) if text.strip() else None
    start = " ".join(text[:200].split())
    return ProviderError("invalid_reply", f"{reason}: {start}" if start else "the reply is empty", reply=kept)


def count_of(usage: dict[str, Any], name: str) -> int | None:
    """A token count; a fraction is rounded up. None if the value can't be a count."""
    value = usage.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**31:
        return None
    return math.ceil(value)


def tokens_of(entries: Any, token: str, log_probability: str) -> tuple[tuple[str, float], ...]:
    """Tokens with their log probabilities from a reply's list of objects; empty if it isn't one."""
    found = []
    for entry in entries if isinstance(entries, list) else []:
        text = entry.get(token) if isinstance(entry, dict) else None
        value = entry.get(log_probability) if isinstance(entry, dict) else None
        if not isinstance(text, str) or isinstance(value, bool) or not isinstance(value, int | float):
            return ()
        found.append((text, float(value)))
    return tuple(found)


def error_in_body(error: Any, reply: ChatReply) -> ProviderError:
    """The error that some gateways send with status 200; the provider may charge for it all the same."""
    said = error.get("message") if isinstance(error, dict) else error
    return ProviderError("server", f"HTTP 200 with an error: {said}"[:500], status=200, reply=reply)


def transport_error(error: Exception) -> ProviderError:
    """A failure of the connection, or of our own code, by name."""
    for cause in (error, error.__cause__):
        if isinstance(cause, HostRefused):
            return ProviderError("refused_host", str(cause))
        if isinstance(cause, transport.ReplyTooLarge):
            return ProviderError("too_large", str(cause))
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
            return ProviderError("unreachable", _connect_advice(str(cause)))
    if isinstance(error, httpx2.TimeoutException):
        return ProviderError("timeout", "No reply in time.")
    if isinstance(error, httpx2.HTTPError):
        return ProviderError("connection", f"The connection failed: {error}"[:500])
    return ProviderError("unexpected", f"{type(error).__name__}: {error}"[:500])


def _connect_advice(said: str) -> str:
    """Why no connection was made, and what to do about it."""
    advice = ""
    if "CERTIFICATE_VERIFY_FAILED" in said:
        advice = (
            " The server's certificate is not signed by an authority that this installation trusts. Use a valid "
            "certificate, or ask the operator to add the authority (SSL_CERT_FILE)."
        )
    elif any(word in said for word in ("WRONG_VERSION_NUMBER", "record layer", "no TLS connection")):
        advice = (
            " The server doesn't seem to use TLS on this port. Must the base URL start with http:// instead?"
        )
    return f"No connection: {said}.{advice}"[:500]


def retry_after_of(response: httpx2.Response) -> float | None:
    try:
        seconds = float(response.headers.get("retry-after-ms", "")) / 1000
    except ValueError:
        try:
            seconds = float(response.headers.get("retry-after", ""))
        except ValueError:
            return None
    return seconds if 0 <= seconds <= 3600 else None
