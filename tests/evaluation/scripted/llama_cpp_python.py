"""What differs at the server of llama-cpp-python: below ``/llama-cpp-python`` of the scripted provider.

A schema belongs into ``{"type": "json_object", "schema": …}``. The usual form doesn't pass the check of the request's types,
which the server reports with status 500.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Protocol

from evaluation.providers.scripted.http import Request, Response, json_response

REFUSAL = (
    "1 validation error:\n  {{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be"
    " 'text' or 'json_object'\", 'input': {given!r}, 'ctx': {{'expected': \"'text' or 'json_object'\"}}}}"
)


class CountingProvider(Protocol):
    """The scripted provider: it answers a request and counts."""

    counts: Counter[str]

    async def __call__(self, request: Request) -> Response: ...


async def llama_cpp_python(request: Request, answer: CountingProvider) -> Response:
    """``/llama-cpp-python/v1/…``: chat completions with its own check of ``response_format``, and the rest unchanged."""
    path = request.path.removeprefix("/llama-cpp-python").rstrip("/")
    if path != "/v1/chat/completions":
        return await answer(replace(request, path=path))
    body = json.loads(request.body)
    form = body.pop("response_format", None) or {"type": "text"}
    if form["type"] not in ("text", "json_object"):
        answer.counts["schemas refused"] += 1
        said = REFUSAL.format(given=form["type"])
        error = {"message": said, "type": "internal_server_error", "param": None, "code": None}
        return json_response({"error": error}, 500)
    if form["type"] == "json_object":
        body["response_format"] = {"type": "json_schema", "json_schema": {"schema": form.get("schema")}}
    return await answer(replace(request, path=path, body=json.dumps(body).encode()))
