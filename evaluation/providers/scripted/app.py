"""The scripted provider's routes, its faults, and the counts that tests read."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from evaluation.providers.base import content_text
from evaluation.providers.scripted.batches import ScriptedBatches
from evaluation.providers.scripted.brain import reply_to, tokens_in
from evaluation.providers.scripted.embeddings import embed
from evaluation.providers.scripted.http import Request, Response, json_response
from evaluation.providers.scripted.options import FAULTS, BadOptions, Options, parse_model
from evaluation.providers.scripted.parts import messages_read
from evaluation.providers.scripted.tuning import Tuning
from evaluation.providers.scripted.world import chance, pick

NONSENSE = ("Blue.", "42 of them, at least.", "{}", "As discussed, see above.", "…", "<answer>")
REFUSAL = "I'm sorry, but I can't help with that request."


class Scripted:
    """One provider process. ``stats`` counts what was asked and answered, for tests."""

    #: Further faults: name -> what makes the response from the reply that a good server would give.
    broken_replies: ClassVar[Mapping[str, Callable[[dict[str, Any]], Response]]] = {}

    def __init__(self, *, key: str = "") -> None:
        self.key = key
        self.reset()
        self.batches = ScriptedBatches(self)
        self.tuning = Tuning(self.batches.files)

    def reset(self) -> None:
        self.counts: Counter[str] = Counter()
        # Replaced by a reset, so that a request from before it (a client may have been killed) isn't counted after it.
        self.open: set[object] = set()
        self.most_in_flight = 0
        self.times_asked: Counter[int] = Counter()
        self.times_answered: Counter[int] = Counter()
        self.billed: Counter[str] = Counter()
        self.started = time.time()
        self.outage_until, self.outage_status = 0.0, 503
        self.allowance, self.allowed_at = 1.0, time.monotonic()

    async def __call__(self, request: Request) -> Response:
        path = request.path.rstrip("/")
        if path == "/stats":
            if request.method == "POST":
                self.reset()
            return json_response(self.stats())
        if path == "/outage" and request.method == "POST":
            return self._outage(request)
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return _error(401, "Incorrect API key provided.", "invalid_api_key")
        if path == "/v1/models":
            return json_response(
                {
                    "object": "list",
                    "data": [{"id": "scripted", "object": "model", "created": 0, "owned_by": "foretell"}],
                }
            )
        if path.startswith(("/v1/files", "/v1/batches")):
            return await self.batches.handle(request)
        if path.startswith("/v1/fine_tuning/jobs"):
            return self.tuning.handle(request)
        if path not in ("/v1/chat/completions", "/v1/embeddings"):
            return _error(404, f"no such path: {request.path}", "not_found")
        if request.method != "POST":
            return _error(405, "use POST", "method")
        self.counts["requests"] += 1
        opened, this = self.open, object()
        opened.add(this)
        self.most_in_flight = max(self.most_in_flight, len(opened))
        try:
            return await self._answer(request, path)
        finally:
            opened.discard(this)

    async def _answer(self, request: Request, path: str) -> Response:
        try:
            body = json.loads(request.body)
            options = self.options(str(body["model"]), request.headers.get("x-scripted") or request.query)
            if isinstance(body.get("messages"), list):
                body["messages"], images = messages_read(body["messages"])
                if images:
                    self.counts["images"] += images
        except (ValueError, KeyError, TypeError, BadOptions) as error:
            return _error(400, f"cannot read the request: {error}", "bad_request")
        if time.monotonic() < self.outage_until:
            self.counts["outage"] += 1
            return _error(self.outage_status, "Temporarily unavailable.", "unavailable")
        if options.per_second and not self._within(options.per_second):
            self.counts["limited"] += 1
            return _error(429, "Rate limit reached.", "rate_limit_exceeded")
        if problem := _unsupported(body, options):
            self.counts["unsupported"] += 1
            return _error(400, problem, "unsupported_parameter")
        words = options.refuse.split("|") if options.refuse else []
        if any(word in str(body.get("messages")) for word in words):
            self.counts["refused"] += 1
            status = 500 if options.code == "server_error" else options.refuse_status
            return _error(status, "This prompt is not accepted.", options.code)
        if options.once_status and self.counts["requests"] == options.once_at:
            return _error(options.once_status, f"told to answer {options.once_status} once", "told")
        if self.counts["requests"] <= options.after:
            options = replace(options, status=0, faults=0.0)
        if options.status:
            self.counts[f"status {options.status}"] += 1
            return _error(options.status, f"told to answer {options.status}", "told")
        digest = hash(request.body)
        self.times_asked[digest] += 1
        if options.latency or options.jitter:
            await asyncio.sleep(options.latency + options.jitter * random.random())
        await self.admit()
        if path == "/v1/embeddings":
            return self._embeddings(body)
        nth = self.times_asked[digest]
        fault = self._fault(options, hashlib.sha256(request.body).hexdigest(), nth)
        if fault:
            self.counts[f"fault {fault}"] += 1
            refused = await self._refused(fault, options)
            if refused is not None:
                return refused
        reply = self.completion(body, options, fault)
        self.billed.update({name: reply["usage"][name] for name in ("prompt_tokens", "completion_tokens")})
        if make := self.broken_replies.get(fault):
            return make(reply)
        content = json.dumps(reply).encode()
        if fault == "truncated":
            return Response(200, content[: len(content) // 2], {"content-type": "application/json"})
        if fault == "disconnect":
            return Response(200, content, {"content-type": "application/json"}, keep=len(content) // 2)
        if not fault:
            self.counts["answered"] += 1
            self.times_answered[digest] += 1
        return Response(
            200,
            content,
            {"content-type": "application/json", "x-request-id": f"req_{digest & 0xFFFFFFFF:08x}"},
        )

    async def admit(self) -> None:
        """Called before each reply; may wait."""

    def options(self, model: str, extra: str = "") -> Options:
        """The options in a model's name; raises ``BadOptions``, also for unknown faults."""
        options = parse_model(model, extra)
        faults = (*FAULTS, *self.broken_replies)
        if unknown := set(options.kinds) - set(faults):
            raise BadOptions(
                f"kinds: unknown {', '.join(sorted(unknown))}; expected one of: {', '.join(faults)}"
            )
        return options

    def _outage(self, request: Request) -> Response:
        """``POST /outage?seconds=60&status=503``: every request fails for that long."""
        query = dict(parse_qsl(request.query))
        self.outage_until = time.monotonic() + float(query.get("seconds", 60))
        self.outage_status = int(query.get("status", 503))
        return json_response({"until": self.outage_until})

    def _within(self, per_second: float) -> bool:
        """Use one of the requests that the rate allows; up to half a second's worth can be saved up."""
        now = time.monotonic()
        most = max(1.0, per_second / 2)
        self.allowance = min(most, self.allowance + (now - self.allowed_at) * per_second)
        self.allowed_at = now
        if self.allowance < 1:
            return False
        self.allowance -= 1
        return True

    def _fault(self, options: Options, digest: str, nth: int) -> str:
        if not options.faults or chance("fault", options.seed, digest, nth) >= options.faults:
            return ""
        return pick(options.kinds, "kind", options.seed, digest, nth)

    async def _refused(self, fault: str, options: Options) -> Response | None:
        if fault == "429":
            return _error(
                429, "Rate limit reached.", "rate_limit_exceeded", **{"retry-after": str(options.retry_after)}
            )
        if fault == "500":
            return _error(500, "The server had an error.", "server_error")
        if fault == "hang":
            await asyncio.sleep(options.hang)
            return _error(504, "gave up", "timeout")
        return None

    def completion(self, body: dict[str, Any], options: Options, fault: str = "") -> dict[str, Any]:
        """The chat completion object, with the fault that ``fault`` names."""
        messages = [m | {"content": content_text(m.get("content"))} for m in body.get("messages") or []]
        temperature = float(body.get("temperature", 0) or 0)
        schema = (body.get("response_format") or {}).get("json_schema")
        sample = int(body.get("seed") or 0) if temperature else 0
        recalled, avoided, own = self.tuning.recall(str(body.get("model")), messages, sample)
        text = recalled or reply_to(
            messages,
            own or options,
            sample=sample,
            temperature=temperature,
            schema=schema,
            avoided=avoided,
        )
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        finish = "stop"
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        if limit and tokens_in(text) > int(limit):
            message["content"], finish = text[: int(limit) * 4], "length"
        if fault == "refusal":
            message |= {"content": REFUSAL}
        elif fault == "filter":
            message["content"], finish = None, "content_filter"
        elif fault == "nonsense":
            message["content"] = pick(NONSENSE, text, options.seed)
        elif fault == "cut":
            message["content"], finish = text[: max(1, len(text) // 3)], "length"
        prompt = sum(tokens_in(m["content"]) + 3 for m in messages)
        out = int(tokens_in(str(message["content"] or "")) * options.overcharge)
        listed = _logprobs(message["content"]) if body.get("logprobs") else None
        choices = [{"index": 0, "message": message, "logprobs": listed, "finish_reason": finish}]
        return {
            "id": f"chatcmpl-{chance(text, self.counts['requests']):.12f}"[2:],
            "object": "chat.completion",
            "created": int(time.time()),
            "model": f"{options.name}-1",
            "system_fingerprint": _fingerprint(options.versions, text, messages),
            "choices": [] if fault == "empty" else choices,
            "usage": {"prompt_tokens": prompt, "completion_tokens": out, "total_tokens": prompt + out}
            | (
                {"prompt_tokens_details": {"cached_tokens": int(prompt * options.cached)}}
                if options.cached
                else {}
            ),
        }

    def _embeddings(self, body: dict[str, Any]) -> Response:
        texts = body.get("input")
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
            return _error(400, "input: expected texts", "bad_request")
        self.counts["answered"] += 1
        total = sum(map(tokens_in, texts))
        return json_response(
            {
                "object": "list",
                "model": str(body["model"]).partition("?")[0],
                "data": [
                    {"object": "embedding", "index": i, "embedding": embed(text)}
                    for i, text in enumerate(texts)
                ],
                "usage": {"prompt_tokens": total, "total_tokens": total},
            }
        )

    def stats(self) -> dict[str, Any]:
        """Counts since the last reset. ``paid_again``: good answers given to a request answered before. ``billed``: the tokens of all
        replies that were made, whether they arrived or not."""
        return {
            "requests": self.counts["requests"],
            "answered": self.counts["answered"],
            "distinct": len(self.times_asked),
            "distinct_answered": len(self.times_answered),
            "paid_again": sum(self.times_answered.values()) - len(self.times_answered),
            "billed": dict(self.billed),
            "in_flight": len(self.open),
            "most_in_flight": self.most_in_flight,
            "counts": dict(self.counts),
            "seconds": time.time() - self.started,
        }


def _unsupported(body: Mapping[str, Any], options: Options) -> str:
    """The message about a parameter that this model doesn't take, in OpenAI's words; empty if there is none."""
    for name in filter(None, options.without.split("|")):
        if name not in body:
            continue
        if name == "max_tokens":
            return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        if name == "temperature":
            return (
                f"Unsupported value: 'temperature' does not support {body[name]} with this model. Only the default (1) "
                "value is supported."
            )
        return f"Unrecognized request argument supplied: {name}"
    return ""


def _logprobs(text: Any) -> dict[str, Any] | None:
    """A log probability for each word, fixed by the text: the last word's is between those of 1/2 and 1."""
    if not isinstance(text, str):
        return None
    words = re.findall(r"\s*\S+|\s+$", text)
    sure = 0.5 + 0.5 * chance("sure", text)
    content = [
        {"token": word, "logprob": math.log(sure) if n == len(words) else -0.25, "top_logprobs": []}
        for n, word in enumerate(words, 1)
    ]
    return {"content": content}


def _fingerprint(versions: int, *about: Any) -> str:
    return f"fp_scripted_{1 + int(chance('version', *map(str, about)) * versions)}"


def _error(status: int, message: str, code: str, **headers: str) -> Response:
    return json_response(
        {"error": {"message": message, "type": code, "param": None, "code": code}}, status, **headers
    )
