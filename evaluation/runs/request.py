"""From a call to the request that is sent: parameters, the most it can cost, and its key in the cache. Queries nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_UP, Decimal
from typing import Any

from annotator.core.canonical import digest_of
from annotator.core.ranges import InRange
from annotator.hit_types.base import ChatMessage
from annotator.hit_types.images import MARKER
from evaluation.models import Endpoint
from evaluation.providers.base import ChatRequest
from evaluation.runs.step import ClaimedCall
from evaluation.runs.text import clean
from evaluation.runs.tokens import prompt_tokens

#: The request sets these itself, so they aren't allowed as parameters.
RESERVED = ("model", "messages", "stream")
#: Number -> (its type, its range). Other parameters are passed on as they are; the endpoint checks them.
RANGES: dict[str, tuple[type, InRange]] = {
    "max_tokens": (int, InRange(1, 1_000_000)),
    "max_completion_tokens": (int, InRange(1, 1_000_000)),
    "n": (int, InRange(1, 128)),
    "seed": (int, InRange(-(2**63), 2**63 - 1)),
    "top_k": (int, InRange(-1, 1_000_000)),
    "top_logprobs": (int, InRange(0, 100)),
    "temperature": (float, InRange(0, 2)),
    "top_p": (float, InRange(0, 1)),
    "min_p": (float, InRange(0, 1)),
    "presence_penalty": (float, InRange(-2, 2)),
    "frequency_penalty": (float, InRange(-2, 2)),
    "repetition_penalty": (float, InRange(0, 10)),
}
#: Average number of bytes of English text in a token.
BYTES_PER_TOKEN = 4
#: The assumed most tokens of an image. APIs count between 85 and several thousand, by its size and the model.
IMAGE_TOKENS = 3000
#: The assumed length of a reply, in tokens, if the request allows more.
LIKELY_REPLY = 150
#: More characters than an average token has in any language, and the shortest prompt that may look cut off.
MOST_IN_A_TOKEN = 7
LONG_PROMPT = 4000
MILLION = Decimal(1_000_000)
_CENT = Decimal("0.00000001")


@dataclass(frozen=True)
class Prices:
    """Prices per million input tokens, output tokens, and cached input tokens (None: the same as other input tokens)."""

    tokens_in: Decimal
    tokens_out: Decimal
    tokens_cached: Decimal | None = None

    @classmethod
    def of(cls, endpoint: Endpoint) -> Prices:
        return cls(endpoint.price_in, endpoint.price_out, endpoint.price_cached)

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0) -> Decimal:
        """The cost of a request; ``cached`` is how many of its ``tokens_in`` have the price of cached tokens.

        >>> Prices(Decimal(2), Decimal(8), Decimal(1)).cost(1000, 500, cached=600)
        Decimal('0.00540000')
        """
        cached = min(cached, tokens_in)
        price_cached = self.tokens_in if self.tokens_cached is None else self.tokens_cached
        total = self.tokens_in * (tokens_in - cached) + price_cached * cached + self.tokens_out * tokens_out
        return (total / MILLION).quantize(_CENT, rounding=ROUND_UP)


@dataclass(frozen=True)
class Ready:
    """One request to send, and the calls that it answers: one, or several in one request.

    ``tokens``: the estimate that is booked against the endpoint's tokens per minute, 0 if it has no such limit.
    """

    request: ChatRequest
    calls: tuple[ClaimedCall, ...]
    reserved: dict[int, Decimal]
    keys: dict[int, str] = field(default_factory=dict)
    tokens: int = 0


def share_of(cost: Decimal, calls: int) -> Decimal:
    """One call's share of a request's cost, rounded up to the stored precision.

    >>> share_of(Decimal(1), 3)
    Decimal('0.33333334')
    """
    return (cost / calls).quantize(_CENT, rounding=ROUND_UP)


def parameters_check(parameters: Any) -> None:
    """Check the parameters of a request; raises ``ValueError`` naming the one that is wrong.

    >>> parameters_check({"temperature": 0.7, "max_tokens": None})
    >>> parameters_check({"max_tokens": "many"})
    Traceback (most recent call last):
    ...
    ValueError: max_tokens: expected a whole number from 1 to 1,000,000, got 'many'
    >>> parameters_check({"temperature": 9})
    Traceback (most recent call last):
    ...
    ValueError: temperature: expected a number from 0 to 2, got 9
    """
    if not isinstance(parameters, dict):
        raise ValueError("expected a JSON object")
    for name in RESERVED:
        if name in parameters:
            raise ValueError(f"{name}: is set by the run; remove it from the parameters")
    for name, (kind, allowed) in RANGES.items():
        value = parameters.get(name)
        if value is None:
            continue
        if not allowed.holds(value) or (kind is int and not isinstance(value, int)):
            noun = "whole number" if kind is int else "number"
            raise ValueError(
                f"{name}: expected a {noun} from {allowed.least:,} to {allowed.most:,}, got {_short(value)}"
            )
    if clean(parameters) != parameters:
        raise ValueError("contains an invalid character (NUL or half a surrogate pair)")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def sampling(
    *, temperature: float | None = None, seed: int | None = None, logprobs: bool = False
) -> dict[str, Any]:
    """The parameters of a request for the values given; for None, the step, the endpoint or the server decides.

    >>> sampling(temperature=0.0, logprobs=True)
    {'temperature': 0.0, 'logprobs': True}
    """
    given: dict[str, Any] = {"temperature": temperature, "seed": seed, "logprobs": logprobs or None}
    return {name: value for name, value in given.items() if value is not None}


def request_build(
    *,
    model: str,
    messages: Sequence[ChatMessage],
    parameters: dict[str, Any],
    sample: int,
    samples: int,
    limit: Mapping[str, Any],
    schema: dict[str, Any] | None,
    folds_system: bool = False,
) -> ChatRequest:
    """The request of one call. A parameter that is None is left out; each of several samples gets its own seed.

    ``limit`` are the parameters with the longest reply, used if ``parameters`` set none. ``folds_system``: the model takes no
    system role, so the instructions begin the first question.
    """
    sent = {name: value for name, value in parameters.items() if value is not None}
    if "max_tokens" not in parameters and "max_completion_tokens" not in parameters:
        sent |= limit
    if samples > 1 and not ("seed" in parameters and parameters["seed"] is None):
        sent["seed"] = int(sent.get("seed", 0)) + sample
    if folds_system:
        messages = system_folded(messages)
    return ChatRequest(
        model=model,
        messages=tuple({"role": message.role, "content": message.content} for message in messages),
        parameters=sent,
        schema=schema,
    )


def system_folded(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The same chat without a system role: its instructions begin the first question.

    >>> [one.content for one in system_folded([ChatMessage("system", "Be brief."), ChatMessage("user", "Why?")])]
    ['Be brief.\\n\\nWhy?']
    """
    instructions = "\n\n".join(message.content for message in messages if message.role == "system")
    chat = [message for message in messages if message.role != "system"]
    if not instructions:
        return chat
    if not chat or chat[0].role != "user":
        return [ChatMessage("user", instructions), *chat]
    return [ChatMessage("user", f"{instructions}\n\n{chat[0].content}"), *chat[1:]]


def most_tokens(request: ChatRequest) -> tuple[int, int]:
    """The most tokens that a request can take in and give out.

    A token is at least one byte, so the input has at most as many tokens as bytes, plus a few for each message, and
    ``IMAGE_TOKENS`` for each image.
    """
    size = sum(len(message["content"].encode("utf-8", "replace")) + 16 for message in request.messages)
    size += IMAGE_TOKENS * image_count(request)
    if request.schema is not None:
        size += len(str(request.schema))
    limit = request.parameters.get("max_completion_tokens") or request.parameters.get("max_tokens") or 4096
    return size, int(limit) * int(request.parameters.get("n") or 1)


def looks_cut_off(request: ChatRequest, tokens_in: int | None) -> bool:
    """Whether a server counted too few tokens to have read the whole prompt.

    Ollama, for example, leaves out what exceeds its context (``num_ctx``) and reports no error.

    >>> long = ChatRequest("m", ({"role": "user", "content": "Owls see well at night. " * 800},), {})
    >>> looks_cut_off(long, 4800), looks_cut_off(long, 2050)
    (False, True)
    """
    if not tokens_in:  # some servers don't count, or report 0
        return False
    characters = sum(len(" ".join(message["content"].split())) for message in request.messages)
    return characters > LONG_PROMPT and characters > MOST_IN_A_TOKEN * tokens_in


def image_count(request: ChatRequest) -> int:
    """How many images the messages name."""
    return sum(len(MARKER.findall(message["content"])) for message in request.messages)


def likely_tokens(request: ChatRequest) -> int:
    """An estimate of a request's input and output tokens together, corrected once its reply has arrived.

    The prompt is counted with the model's vocabulary, or else has ``BYTES_PER_TOKEN``; the reply has at most
    ``LIKELY_REPLY`` tokens.
    """
    most_in, most_out = most_tokens(request)
    counted = prompt_tokens(request)
    likely_image = IMAGE_TOKENS // BYTES_PER_TOKEN
    likely_in = (
        most_in // BYTES_PER_TOKEN if counted is None else counted + likely_image * image_count(request)
    )
    return likely_in + min(most_out, LIKELY_REPLY)


def cache_key(
    *, base_url: str, request: ChatRequest, sample: int, headers: Mapping[str, str], api_version: str = ""
) -> str:
    """The cache key of a reply: everything that changes it, and the sample's number, but not retries, timeouts or
    prices."""
    return digest_of(
        ({"headers": dict(headers)} if headers else {})
        | ({"api_version": api_version} if api_version else {})
        | {
            "base_url": base_url,
            "model": request.model,
            "messages": list(request.messages),
            "parameters": request.parameters,
            "schema": request.schema,
            "sample": sample,
        }
    )
