"""The OpenAI protocol, as OpenAI, Azure, vLLM, llama.cpp, Ollama and many others speak it.

https://platform.openai.com/docs/api-reference
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from evaluation.providers.base import (
    ChatReply,
    ChatRequest,
    ErrorKind,
    Lacks,
    ProviderError,
    content_reasoning,
    content_text,
)
from evaluation.providers.contract import (
    JSON,
    Access,
    BatchApi,
    BatchRead,
    FineTuner,
    JobState,
    Provider,
    TuningJob,
)
from evaluation.providers.images import chat_body
from evaluation.providers.openai_client import CHATS, OpenAIClient
from evaluation.providers.profiles import NO_SYSTEM, NO_WHOLE_REPLIES
from evaluation.providers.replies import (
    MISFIT,
    count_of,
    error_in_body,
    finish_of,
    first_object,
    kind_of_status,
    object_at,
    tokens_of,
    words_of_error,
)

#: OpenAI's models that think: they take no temperature, and ``max_completion_tokens`` in place of ``max_tokens``.
_OPENAI_THINKS = re.compile(r"(?:^|[/.])(?:o[1-9]|gpt-5)(?![\w])(?!-chat)")
#: Others that think, and whose servers count that as part of the reply.
_THINKS = re.compile(
    r"deepseek-(?:r1|reasoner)|\bqwq|qwen3(?!.*instruct)|magistral|gpt-oss|grok-(?:3-mini|4(?!.*non-reasoning))|glm-(?:z1|4\.[5-9]|5)"
    r"|minimax-m[12]|[-_:](?:thinking|reasoning|reasoner)\b(?<!non-reasoning)",
    re.I,
)
#: Tokens for their thinking, in addition to those of the reply.
THINKING_TOKENS = 4000
#: The message of a server that knows ``response_format`` but not ``json_schema``.
_NO_SCHEMAS = re.compile(r"response_format.{0,200}json_schema", re.DOTALL)
_NO_SCHEMAS_ADVICE = " The server doesn't take JSON schemas. Clear *structured* in the endpoint's settings, and start a new run."
_NO_SYSTEM_ADVICE = " Choose *no system role* in the endpoint's settings."
_NO_TEMPERATURE = re.compile(
    r"(?:unsupported|not support).{0,60}temperature|temperature.{0,60}(?:unsupported|not support)", re.I
)
#: How servers without codes say that the prompt is longer than the model can read.
_TOO_LONG = ("context length", "context_length", "context size", "maximum context", "too many tokens")
_FILTERED = ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation")


class Batches(BatchApi):
    """``/files`` and ``/batches``."""

    @classmethod
    def line(cls, call_id: str, request: ChatRequest) -> str:
        about = {"custom_id": call_id, "method": "POST", "url": "/v1/chat/completions"}
        return json.dumps(about | {"body": chat_body(request)})

    async def send(self, lines: Sequence[str]) -> str:
        file = await self.client.upload(
            "/files", "batch.jsonl", "\n".join(lines).encode(), {"purpose": "batch"}
        )
        about = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}
        batch = await self.client.send("POST", "/batches", about | {"input_file_id": _id(file, "file")})
        return _id(batch, "batch")

    async def read(self, batch_id: str) -> BatchRead:
        batch = await self.client.send("GET", f"/batches/{batch_id}")
        status = str(batch.get("status"))
        if status not in ("completed", "failed", "expired", "cancelled"):
            return BatchRead(status)
        files = filter(None, (batch.get("output_file_id"), batch.get("error_file_id")))
        content = b"\n".join([await self.client.download(f"/files/{file}/content") for file in files])
        return BatchRead(status, True, status == "completed", batch_replies(content))


def batch_replies(content: bytes) -> dict[str, ChatReply | ProviderError]:
    """The replies in a batch's files by call id, the first one of each; a broken line is a missing reply."""
    replies: dict[str, ChatReply | ProviderError] = {}
    # A text may have other line ends, such as U+2028.
    for line in content.decode("utf-8", "replace").split("\n"):
        try:
            row = json.loads(line, parse_constant=str)
            call_id = str(row["custom_id"])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if call_id not in replies:
            replies[call_id] = _batch_reply(row)
    return replies


def _batch_reply(row: JSON) -> ChatReply | ProviderError:
    response = object_at(row, "response")
    status, body = response.get("status_code"), response.get("body")
    status = status if isinstance(status, int) else 0
    if status != 200 or not isinstance(body, dict):
        return _error_of_status(status, body or row.get("error"))
    try:
        return OpenAI().read_chat(body)
    except ProviderError as error:
        return error


LONGEST_ID = 200
_NOT_OF_THE_PROTOCOL = "The endpoint's reply isn't one of the OpenAI protocol's fine-tuning. Does the address lead to a server that can fine-tune?"
#: A job's state in other servers' words, in lower case -> its state. Others, such as "queued", mean that it continues.
_OVER: dict[str, JobState] = {
    **dict.fromkeys(("succeeded", "success", "completed", "complete", "done"), "succeeded"),
    **dict.fromkeys(("failed", "failure", "error", "expired", "rejected"), "failed"),
    **dict.fromkeys(("cancelled", "canceled", "stopped"), "cancelled"),
}


class Jobs(FineTuner):
    """``/files`` and ``/fine_tuning/jobs``."""

    async def file_send(self, lines: bytes) -> str:
        file = await _about_tuning(
            self.client.upload("/files", "rationales.jsonl", lines, {"purpose": "fine-tune"})
        )
        if file.get("status") == "error":
            raise ProviderError("bad_request", f"the file was rejected: {file.get('status_details')}")
        return _id(file, "file")

    async def job_find(self, file_id: str) -> TuningJob | None:
        page = await _about_tuning(self.client.send("GET", "/fine_tuning/jobs", query={"limit": "100"}))
        jobs = page.get("data")
        if not isinstance(jobs, list):
            raise ProviderError("invalid_reply", "The endpoint's list of fine-tuning jobs isn't a list.")
        for job in jobs:
            if (
                isinstance(job, dict)
                and job.get("training_file") == file_id
                and job.get("status") != "cancelled"
            ):
                return _job(job)
        return None

    async def job_begin(self, *, file_id: str, model: str, suffix: str, epochs: int) -> TuningJob:
        body = {
            "training_file": file_id,
            "model": model,
            "suffix": suffix or "rationales",
            "method": {"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": epochs}}},
        }
        return _job(await _about_tuning(self.client.send("POST", "/fine_tuning/jobs", body)))

    async def job_read(self, job_id: str) -> TuningJob:
        return _job(await _about_tuning(self.client.send("GET", f"/fine_tuning/jobs/{job_id}")))

    async def job_cancel(self, job_id: str) -> TuningJob:
        return _job(await _about_tuning(self.client.send("POST", f"/fine_tuning/jobs/{job_id}/cancel", {})))


async def _about_tuning(request: Awaitable[JSON]) -> JSON:
    """The reply to a request about fine-tuning; an unreadable one is explained."""
    try:
        return await request
    except ProviderError as error:
        if error.kind != "invalid_reply":
            raise
        raise ProviderError("invalid_reply", f"{_NOT_OF_THE_PROTOCOL} ({error})"[:1000]) from error


def _id(reply: JSON, noun: str) -> str:
    """The id of a file, batch or job; raises ``ProviderError`` (invalid_reply) if the reply has none."""
    value = reply.get("id")
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_ID:
        raise ProviderError("invalid_reply", f"{_NOT_OF_THE_PROTOCOL} (The {noun} has no id.)")
    return value


def _job(job: JSON) -> TuningJob:
    job_id = _id(job, "fine-tuning job")
    reported = str(job.get("status") or "")[:40]
    model = str(job.get("fine_tuned_model") or "")
    said = words_of_error(job.get("error"))
    # Without a state, a job that names the trained model, or an error, is over.
    unstated: JobState = "succeeded" if model else "failed" if said else "running"
    state = _OVER.get(reported.lower(), "running") if reported else unstated
    if state == "succeeded" and not model:
        error = "The endpoint reports that the job has succeeded, but not the trained model's name."
        return TuningJob(job_id, "failed", error=error, reported=reported)
    tokens = job.get("trained_tokens")
    return TuningJob(
        job_id,
        state,
        model[:200],
        (said or (f"The endpoint reports the state {reported!r}." if state == "failed" else ""))[:4000],
        tokens if isinstance(tokens, int) and tokens >= 0 else None,
        reported,
    )


class OpenAI(Provider):
    """``base_url`` ends with /v1; at Azure with the deployment's name, and there is an API version."""

    name = "openai"
    title = "OpenAI"
    also = "also vLLM, llama.cpp, Ollama, Azure and most others"
    reserved_headers = frozenset({"api-key", "authorization"})
    price_hosts: ClassVar = {
        "api.deepseek.com": "deepseek",
        "api.mistral.ai": "mistral",
        "api.openai.com": "openai",
        "api.x.ai": "xai",
    }
    can_stream = True
    batch_api = Batches
    fine_tuner = Jobs

    def own_client(self, access: Access) -> OpenAIClient:
        return OpenAIClient(self, access)

    def headers(self, access: Access) -> Mapping[str, str]:
        if not access.key:
            return {}
        # Azure takes a key in a header of its own.
        return {"api-key": access.key} if access.api_version else {"authorization": f"Bearer {access.key}"}

    def query(self, access: Access) -> Mapping[str, str]:
        return {"api-version": access.api_version} if access.api_version else {}

    def chat_path(self, model: str) -> str:
        return CHATS

    def chat_body(self, request: ChatRequest) -> JSON:
        return chat_body(request)

    def other_chat_body(self, body: JSON, request: ChatRequest, error: ProviderError | None) -> JSON | None:
        """With the schema in the form that llama-cpp-python's server takes."""
        if request.schema is None or (error is not None and error.lacks != "json_schema"):
            return None
        return body | {"response_format": {"type": "json_object", "schema": request.schema}}

    def takes_temperature(self, model: str) -> bool:
        return not _OPENAI_THINKS.search(model)

    def thinking_tokens(self, model: str) -> int:
        return THINKING_TOKENS if _OPENAI_THINKS.search(model) or _THINKS.search(model) else 0

    def reply_limit(self, *, model: str, tokens: int, thinking: int | None = None) -> JSON:
        (limit,) = super().reply_limit(model=model, tokens=tokens, thinking=thinking).values()
        return {"max_completion_tokens" if _OPENAI_THINKS.search(model) else "max_tokens": limit}

    def read_chat(self, raw: JSON) -> ChatReply:
        usage = object_at(raw, "usage")
        reply = ChatReply(
            text="",
            raw=raw,
            model=str(raw.get("model") or "")[:200],
            fingerprint=str(raw.get("system_fingerprint") or "")[:200],
            tokens_in=count_of(usage, "prompt_tokens"),
            tokens_out=count_of(usage, "completion_tokens"),
            tokens_cached=count_of(object_at(usage, "prompt_tokens_details"), "cached_tokens"),
        )
        if raw.get("error") and not raw.get("choices"):
            raise _error_in_body(raw["error"], reply)
        choice = first_object(raw, "choices")
        message = choice.get("message")
        if choice.get("error") and not (isinstance(message, dict) and choice.get("finish_reason") == "stop"):
            raise _error_in_body(choice["error"], reply)
        if not isinstance(message, dict):
            said = "" if choice else words_of_error(raw)[:300]
            problem = "the reply has no choices" + (f": {said}" if said else "")
            raise ProviderError("invalid_reply", problem, reply=reply)
        finish, text = finish_of(choice.get("finish_reason")), content_text(message.get("content"))
        if finish == "content_filter":
            raise ProviderError(
                "content_filter", "the endpoint's content filter blocked the reply", reply=reply
            )
        if message.get("refusal"):
            raise ProviderError("refusal", str(message["refusal"])[:500], reply=reply)
        reasoning = self.reasoning(raw)
        if not text.strip() and finish != "length":  # "length": all tokens went into the model's thinking
            problem = f"the reply has no text (finish_reason: {finish or 'none'})"
            if reasoning:
                problem += (
                    ", only the model's reasoning. Allow more tokens (max_tokens), or turn the reasoning off"
                )
            raise ProviderError("invalid_reply", problem, reply=reply)
        tokens = tokens_of(object_at(choice, "logprobs").get("content"), "token", "logprob")
        return replace(reply, text=text, finish=finish, reasoning=reasoning, tokens=tokens)

    def reasoning(self, raw: JSON) -> str:
        message = object_at(first_object(raw, "choices"), "message")
        text = message.get("reasoning_content") or message.get("reasoning")
        return text if isinstance(text, str) else content_reasoning(message.get("content"))

    def read_error(self, status: int, body: JSON, *, base_url: str) -> tuple[str, ErrorKind | None]:
        error = body.get("error", body)
        message = words_of_error(error)
        kind = _kind(status, error, message)
        advice = _parameter_advice(message)
        if self.lacks(body):  # llama-cpp-python's server answers 500, as if it had failed itself
            kind, advice = "bad_request", _NO_SCHEMAS_ADVICE
        if status == 404 and "try pulling it" in message:
            advice += " Run `ollama pull` with the model's name on the server, or choose a model that it has, then resume."
        elif NO_SYSTEM.search(message):  # chat templates fail with it, which some servers report as a 500
            kind, advice = "bad_request", _NO_SYSTEM_ADVICE
        elif status == 404 and "/v1" not in base_url:
            advice += " Does the base URL need /v1 at its end?"
        message = message[:350].rstrip()
        if advice and message and not message.endswith((".", "!", "?")):
            message += "."
        return message + advice, kind

    def lacks(self, body: JSON) -> Lacks:
        return "json_schema" if _NO_SCHEMAS.search(words_of_error(body.get("error", body))) else ""

    def embed_request(self, model: str, texts: Sequence[str]) -> tuple[str, JSON]:
        return "/embeddings", {"model": model, "input": list(texts), "encoding_format": "float"}

    def read_embeddings(self, raw: JSON) -> list[Any]:
        return [row["embedding"] for row in sorted(raw["data"], key=lambda row: row["index"])]


def _kind(status: int, error: Any, message: str) -> ErrorKind:
    """The kind of an error by its code, or by its wording for servers without codes."""
    kind = kind_of_status(status)
    code = error.get("code") if isinstance(error, dict) else None
    if kind == "rate_limit" and code == "insufficient_quota":
        return "no_quota"
    if kind == "server" and MISFIT.search(message):
        return "invalid_reply"
    if kind == "bad_request":
        if code in _FILTERED:
            return "content_filter"
        if code == "context_length_exceeded" or any(words in message.lower() for words in _TOO_LONG):
            return "context_length"
    return kind


def _parameter_advice(message: str) -> str:
    """What to set for a model with unusual parameters."""
    if "max_completion_tokens" in message:
        return (
            ' Set the endpoint\'s parameters to {"max_completion_tokens": 4000}: it then replaces max_tokens.'
        )
    if _NO_TEMPERATURE.search(message):
        return ' Leave the temperature out with the parameters {"temperature": null}.'
    if NO_WHOLE_REPLIES.search(message):
        return " Choose *streams only* in the endpoint's settings."
    return ""


def _error_of_status(status: int, body: Any) -> ProviderError:
    """The error in one line of a batch."""
    error = body.get("error", body) if isinstance(body, dict) else body
    message = words_of_error(error) or str(error)
    kind = _kind(status, error, message) if status >= 400 else "server"
    return ProviderError(kind, f"HTTP {status}: {message}"[:500], status=status)


def _error_in_body(error: Any, reply: ChatReply) -> ProviderError:
    """The error that some gateways send with status 200; its code may be the status that was meant."""
    message = words_of_error(error) or str(error)
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 502
    return error_in_body(message, reply, kind=_kind(status, error, message))
