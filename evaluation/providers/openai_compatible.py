"""Any endpoint that speaks the OpenAI protocol."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import openai

import httpx2

from evaluation.providers import transport
from evaluation.providers.base import ChatReply, ChatRequest, ErrorKind, ProviderError, content_text
from evaluation.providers.images import body_made, chat_body
from evaluation.providers.replies import (
    count_of,
    retry_after_of,
    tokens_of,
    transport_error,
)
from evaluation.providers.rest import Access, RestClient, kind_of_status

#: The client requires a key even if the endpoint doesn't.
NO_KEY = "none"
#: The message of a server that knows ``response_format`` but not ``json_schema``.
_NO_SCHEMAS = re.compile(r"response_format.{0,200}json_schema", re.DOTALL)
_NO_SCHEMAS_ADVICE = " The server doesn't take JSON schemas. Clear *structured* in the endpoint's settings, and start a new run."
#: The shortest timeout, in seconds, for uploading or downloading a batch's file.
FILE_SECONDS = 300.0


class OpenAICompatible:
    """One endpoint. Raises ``ProviderError`` (refused_host) if requests to the host aren't allowed."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.has_object_schemas = False
        # Azure takes a key in a header of its own.
        own = {"api-key": access.key} if access.api_version else {"authorization": f"Bearer {access.key}"}
        headers = own if access.key else {}
        self.rest = RestClient(access, headers=headers, read_error=partial(read_error, access.base_url))

    @cached_property
    def client(self) -> openai.AsyncOpenAI:
        """The ``openai`` client, for files, batches and fine-tuning.

        For a chat it takes about as much processor time as sending the request does, so chats do without it.
        """
        import openai

        access = self.access
        headers = dict(access.headers)
        if access.api_version:
            headers["api-key"] = access.key
            self.rest.http.event_hooks = {"request": [_without_authorization]}
        return openai.AsyncOpenAI(
            api_key=access.key or NO_KEY,
            base_url=access.base_url,
            max_retries=0,
            timeout=transport.timeouts(access.timeout),
            http_client=self.rest.http,
            default_headers=headers or None,
            default_query={"api-version": access.api_version} if access.api_version else None,
        )

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One completion. A server that refuses the usual form of a schema gets the request in the older form, at once
        and from then on; such a refusal costs nothing.
        """
        started = time.perf_counter()
        body = await body_made(chat_body, request)
        if request.schema is None:
            raw = await self._complete(body)
        elif self.has_object_schemas:
            raw = await self._complete(body | _object_format(request.schema))
        else:
            raw = await self._complete_in_some_form(body, request.schema)
        return read_completion(raw, seconds=time.perf_counter() - started)

    async def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
        return await self.rest.send("POST", "/chat/completions", body)

    async def _complete_in_some_form(self, body: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._complete(body)
        except ProviderError as error:
            if _NO_SCHEMAS_ADVICE not in str(error):
                raise
            refused = error
        try:
            raw = await self._complete(body | _object_format(schema))
        except ProviderError as error:
            raise refused if error.kind == "bad_request" else error from None
        self.has_object_schemas = True
        return raw

    async def embed(self, model: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        import numpy as np

        body = {"model": model, "input": list(texts), "encoding_format": "float"}
        raw = await self.rest.send("POST", "/embeddings", body)
        try:
            rows = sorted(raw["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            raise ProviderError("invalid_reply", "the reply has no embeddings") from None
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ProviderError("invalid_reply", f"asked for {len(texts)} embeddings, got {len(vectors)}")
        return vectors

    async def models(self) -> list[str]:
        raw = await self.rest.send("GET", "/models")
        return [str(model.get("id")) for model in raw.get("data") or [] if isinstance(model, dict)]

    async def batch_send(self, lines: bytes) -> str:
        """Upload a file of requests (JSON lines with ``custom_id``); returns the batch's id."""
        async with self._guarded():
            file = await self.client.files.create(file=("batch.jsonl", lines), purpose="batch")
            batch = await self.client.batches.create(
                input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
            )
        return str(batch.id)

    async def batch_read(self, batch_id: str) -> tuple[str, bytes]:
        """``(status, replies as JSON lines)``; replies are empty until the batch is over."""
        async with self._guarded():
            batch = await self.client.batches.retrieve(batch_id)
            parts = []
            for file in (batch.output_file_id, batch.error_file_id):
                if file:
                    parts.append((await self.client.files.content(file)).content)
        return str(batch.status), b"\n".join(parts)

    async def aclose(self) -> None:
        await self.rest.aclose()

    @asynccontextmanager
    async def _guarded(self) -> AsyncIterator[None]:
        """End a request about a file after its timeout, even if data is still arriving; raise every failure as
        ``ProviderError``.

        The client's own timeout starts again with each byte received.
        """
        seconds = max(self.access.timeout, FILE_SECONDS)
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            raise ProviderError("timeout", f"The reply was not complete after {seconds:g} s.") from error
        except Exception as error:
            raise provider_error(error) from error


def _object_format(schema: dict[str, Any]) -> dict[str, Any]:
    """The form of a schema that llama-cpp-python's server takes."""
    return {"response_format": {"type": "json_object", "schema": schema}}


async def _without_authorization(request: httpx2.Request) -> None:
    request.headers.pop("Authorization", None)


def read_completion(raw: dict[str, Any], *, seconds: float = 0.0) -> ChatReply:
    """The JSON of a chat completion as a reply; raises ``ProviderError`` if it contains none. What was received is in
    the error's ``reply``, since it may have to be paid for.
    """
    found = raw.get("usage")
    usage: dict[str, Any] = found if isinstance(found, dict) else {}
    found = usage.get("prompt_tokens_details")
    details: dict[str, Any] = found if isinstance(found, dict) else {}
    reply = ChatReply(
        text="",
        raw=raw,
        model=str(raw.get("model") or "")[:200],
        fingerprint=str(raw.get("system_fingerprint") or "")[:200],
        tokens_in=count_of(usage, "prompt_tokens"),
        tokens_out=count_of(usage, "completion_tokens"),
        tokens_cached=count_of(details, "cached_tokens"),
        seconds=seconds,
    )
    if raw.get("error") and not raw.get("choices"):
        raise _error_in_body(raw["error"], reply)
    choices = raw.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ProviderError("invalid_reply", "the reply has no choices", reply=reply)
    finish, text = str(choice.get("finish_reason") or ""), content_text(message.get("content"))
    if finish == "content_filter":
        said = "the endpoint's content filter blocked the reply"
        raise ProviderError("content_filter", said, reply=reply)
    if message.get("refusal"):
        raise ProviderError("refusal", str(message["refusal"])[:500], reply=reply)
    if not text.strip() and finish != "length":  # "length": all tokens went into the model's thinking
        raise ProviderError("invalid_reply", _no_text(finish, message), reply=reply)
    listed = choice.get("logprobs")
    tokens = tokens_of(listed.get("content") if isinstance(listed, dict) else None, "token", "logprob")
    return replace(reply, text=text, finish=finish, reasoning=_reasoning(message), tokens=tokens)


def _no_text(finish: str, message: dict[str, Any]) -> str:
    """What is known about a reply without text, and what to do about it."""
    said = f"the reply has no text (finish_reason: {finish or 'none'})"
    if _reasoning(message):
        said += ", only the model's reasoning. Allow more tokens (max_tokens), or turn the reasoning off"
    return said


def _reasoning(message: dict[str, Any]) -> str:
    """The model's reasoning, if the server returns it separately from the text."""
    found = message.get("reasoning_content") or message.get("reasoning")
    return found if isinstance(found, str) else ""


def _error_in_body(error: Any, reply: ChatReply) -> ProviderError:
    """The error that some gateways send with status 200."""
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 502
    found = provider_error_of_status(status, {"error": error})
    return ProviderError(
        found.kind, f"HTTP 200 with an error: {_message(error)}"[:500], status=200, reply=reply
    )


def _message(error: Any) -> str:
    return str(error.get("message") or error) if isinstance(error, dict) else str(error)


def read_error(base_url: str, status: int, body: dict[str, Any]) -> tuple[str, ErrorKind | None]:
    """The message of an error with what to do about it, and its kind if code or message say more than the status."""
    error = body.get("error", body)
    said = error.get("message") or error.get("detail") if isinstance(error, dict) else error
    said = str(said or "")
    code = error.get("code") if isinstance(error, dict) else None
    kind = _refined(kind_of_status(status), code, said)
    advice = _parameter_advice(said)
    if _NO_SCHEMAS.search(said):  # llama-cpp-python's server answers 500, as if it had failed itself
        kind = "bad_request"
        advice = _NO_SCHEMAS_ADVICE
    if status == 404 and "try pulling it" in said:
        advice += " Run `ollama pull` with the model's name on the server, or choose a model that it has, then resume."
    elif status == 404 and "/v1" not in base_url:
        advice += " Does the base URL need /v1 at its end?"
    said = said[:350].rstrip()
    return (said if not advice or not said or said.endswith((".", "!", "?")) else f"{said}.") + advice, kind


def provider_error(error: Exception) -> ProviderError:
    """Convert the client's exceptions to ours. Messages contain the endpoint's own message, never the request's
    headers."""
    import openai

    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        if 300 <= status < 400:
            return ProviderError(
                "refused_host", "the endpoint answered with a redirect, which is not followed"
            )
        kind = _refined(kind_of_status(status), getattr(error, "code", None), _said(error))
        return ProviderError(
            kind, f"HTTP {status}: {_said(error)}", retry_after=retry_after_of(error.response), status=status
        )
    found = transport_error(error)
    if found.kind != "unexpected":
        return found
    if isinstance(error, openai.APITimeoutError):
        return ProviderError("timeout", "No reply in time.")
    if isinstance(error, openai.APIConnectionError):
        return ProviderError("connection", f"The connection failed: {error.__cause__ or error}"[:500])
    return found


def _refined(kind: ErrorKind, code: Any, said: str) -> ErrorKind:
    """The kind of an error by its code, or by its wording for servers without codes."""
    if kind == "rate_limit" and code == "insufficient_quota":
        return "no_quota"
    if kind == "bad_request":
        if code in ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"):
            return "content_filter"
        words = ("context length", "context_length", "context size", "maximum context", "too many tokens")
        if code == "context_length_exceeded" or any(word in said.lower() for word in words):
            return "context_length"
    return kind


def _parameter_advice(said: str) -> str:
    """What to set for a model with unusual parameters."""
    if "max_completion_tokens" in said:
        return (
            ' Set the endpoint\'s parameters to {"max_completion_tokens": 4000}: it then replaces max_tokens.'
        )
    if re.search(
        r"(?:unsupported|not support).{0,60}temperature|temperature.{0,60}(?:unsupported|not support)",
        said,
        re.I,
    ):
        return ' Leave the temperature out with the parameters {"temperature": null}.'
    return ""


def provider_error_of_status(status: int, body: Any) -> ProviderError:
    """The error in one line of a batch."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    said = inner.get("message") if isinstance(inner, dict) else inner
    kind = kind_of_status(status) if status >= 400 else "server"
    kind = _refined(kind, inner.get("code") if isinstance(inner, dict) else None, str(said))
    return ProviderError(kind, f"HTTP {status}: {said}"[:500], status=status)


def _said(error: openai.APIStatusError) -> str:
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    return str(message or error.response.text)[:500]
