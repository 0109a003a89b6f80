"""What every provider works with: a request, a reply, or an error that says whether to try again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: Why a request gave no usable reply.
ErrorKind = Literal[
    "rate_limit",  # 429
    "server",  # 5xx
    "timeout",
    "unreachable",  # no connection was made, so nothing was sent
    "connection",  # cut after the request was sent
    "too_large",  # the reply exceeded the limit on its size
    "invalid_reply",  # not JSON, not a chat completion, no choices
    "content_filter",
    "refusal",
    "bad_request",  # 400, 413, 422: this request is wrong
    "context_length",  # 400: the prompt is longer than the model can read
    "unauthorized",  # 401, 403
    "not_found",  # 404: no such model or path
    "refused_host",  # the host is not one that may be asked
    "not_installed",  # the endpoint's provider is not installed here
    "no_quota",  # 402, and 429 that waiting won't fix
    "unexpected",  # our own code failed on it
    "cancelled",  # its run was cancelled before the reply arrived
]

#: What a server can't do, by the words of its error; empty if it's something else.
Lacks = Literal["", "json_schema"]

#: Errors that would occur again for the same item; other items may be accepted.
ITEM_REFUSED: frozenset[str] = frozenset({"bad_request", "context_length"})
#: Errors that occur for every item until somebody changes the endpoint.
NEEDS_CHANGE: frozenset[str] = frozenset(
    {"unauthorized", "not_found", "refused_host", "not_installed", "no_quota"}
)
#: Of these, the ones that may instead be about one item: gateways answer 401, 403 or 404 where they moderate a prompt.
PERHAPS_ITEM: frozenset[str] = frozenset({"unauthorized", "not_found"})
#: Sending the same request again cannot help.
FATAL = ITEM_REFUSED | NEEDS_CHANGE
#: The provider may have answered the request and charge for it, although no usable reply arrived.
PERHAPS_PAID: frozenset[str] = frozenset(
    {"timeout", "connection", "too_large", "invalid_reply", "unexpected", "cancelled"}
)


class ProviderError(Exception):
    """A request failed. ``retry_after`` is in seconds, if the provider gave it. ``reply`` is what was received
    nevertheless (a refusal, a filtered reply, one without choices), which may be charged for. ``lacks`` is what the server
    said that it can't do.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        retry_after: float | None = None,
        status: int = 0,
        reply: ChatReply | None = None,
        lacks: Lacks = "",
    ):
        self.kind: ErrorKind = kind
        self.lacks: Lacks = lacks
        self.retry_after = retry_after
        self.status = status
        self.reply = reply
        super().__init__(message)

    @property
    def fatal(self) -> bool:
        return self.kind in FATAL


@dataclass(frozen=True)
class ChatImage:
    """An image to send. ``read`` returns the bytes of its file; it may raise ``ProviderError`` (bad_request)."""

    media_type: str
    read: Callable[[], bytes] = field(repr=False)


@dataclass(frozen=True)
class ChatRequest:
    """A chat request as it is sent and stored, without key and address.

    ``parameters`` are those of the protocol (temperature, max_tokens, seed, ...); ``schema`` is a JSON schema
    that the reply must follow, sent only to endpoints that support it. ``images`` are those that the messages name by
    markers, by digest; only the markers are stored.
    """

    model: str
    messages: tuple[dict[str, str], ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    schema: dict[str, Any] | None = None
    images: Mapping[str, ChatImage] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of_body(cls, body: Mapping[str, Any]) -> ChatRequest:
        """The request that a stored ``body`` was made from."""
        parameters = {
            key: value for key, value in body.items() if key not in ("model", "messages", "response_format")
        }
        form = body.get("response_format") or {}
        return cls(
            body["model"], tuple(body["messages"]), parameters, (form.get("json_schema") or {}).get("schema")
        )

    def body(self) -> dict[str, Any]:
        """The JSON body of the request, as it is stored: with a marker for each image."""
        body: dict[str, Any] = {"model": self.model, "messages": list(self.messages), **self.parameters}
        if self.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": self.schema},
            }
        return body


@dataclass(frozen=True)
class ChatReply:
    """A reply. ``raw`` is the JSON as received; token counts are None if the provider doesn't report them."""

    text: str
    raw: dict[str, Any]
    finish: str = "stop"
    model: str = ""
    fingerprint: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    #: Of ``tokens_in``, those that the provider had cached.
    tokens_cached: int | None = None
    seconds: float = 0.0
    #: The model's reasoning before the reply, if the provider returns it separately. Answers are never read from it.
    reasoning: str = ""
    #: Each token of ``text`` with the natural logarithm of its probability, if the request asked for them and the reply has them.
    tokens: tuple[tuple[str, float], ...] = ()


#: The types of parts of a content that are the model's reasoning and not its reply.
_REASONING = frozenset({"reasoning", "thinking", "reasoning_content", "reasoning_text", "redacted_thinking"})


def content_text(content: Any) -> str:
    """The text of a message's content: a string, or a list of parts of which some are text. Reasoning is no part of it.

    >>> content_text([{"type": "text", "text": "ANSWER: "}, {"type": "text", "text": "YES"}])
    'ANSWER: YES'
    >>> content_text([{"type": "reasoning", "text": "NO, since"}, {"type": "text", "text": "ANSWER: YES"}])
    'ANSWER: YES'
    """
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(_part_text(part) for part in parts if not _is_reasoning(part))


def content_reasoning(content: Any) -> str:
    """The model's reasoning among the parts of a message's content; empty if there is none."""
    parts = content if isinstance(content, list) else []
    return "".join(_part_text(part) for part in parts if _is_reasoning(part))


def _is_reasoning(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("type")) in _REASONING


def _part_text(part: Any) -> str:
    if not isinstance(part, dict):
        return part if isinstance(part, str) else ""
    found = [
        part.get(name) for name in ("text", "reasoning", "thinking") if name == "text" or _is_reasoning(part)
    ]
    return next((text for text in found if isinstance(text, str)), "")
