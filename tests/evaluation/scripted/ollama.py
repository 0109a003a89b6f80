"""What differs at Ollama's ``/v1``, from its documentation and source: below ``/ollama`` of the scripted provider.

A prompt that is longer than the context is cut off without a word, and only ``prompt_tokens`` shows it; an unknown model
is a 404 that says to pull it; ``max_completion_tokens`` is ignored; thinking is in ``reasoning``; the fingerprint is
always the same; outside ``/v1``, a path is a 404 in plain text.
"""

from __future__ import annotations

import json
from dataclasses import replace

from evaluation.providers.scripted.http import Request, Response, json_response
from tests.evaluation.scripted.vendors import Answer

#: Tokens of prompt and reply together, on a graphics card with less than 24 GB.
CONTEXT = 4096
#: Of a prompt that is too long, this many tokens are kept.
KEPT = CONTEXT // 2 + 2


async def ollama(request: Request, answer: Answer) -> Response:
    """``/ollama/v1/chat/completions``, and 404 for the rest."""
    path = request.path.removeprefix("/ollama").rstrip("/")
    if path != "/v1/chat/completions":
        return Response(404, b"404 page not found", {"content-type": "text/plain"})
    try:
        body = json.loads(request.body)
        model = str(body["model"])
    except (ValueError, KeyError, TypeError):
        return _error(400, "invalid message format")
    if not model.startswith("scripted"):
        return _error(404, f'model "{model}" not found, try pulling it first')
    body.pop("max_completion_tokens", None)
    response = await answer(replace(request, path=path, body=json.dumps(body).encode()))
    if response.status >= 400 or response.stream is not None:
        return response
    found = json.loads(response.body)
    found["model"], found["system_fingerprint"] = model.partition("?")[0], "fp_ollama"
    usage = found["usage"]
    if usage["prompt_tokens"] > CONTEXT:
        usage |= {"prompt_tokens": KEPT, "total_tokens": KEPT + usage["completion_tokens"]}
    for choice in found["choices"]:
        choice["message"]["reasoning"] = "First I look at the explanation.\nANSWER: 42"
    return json_response(found)


def _error(status: int, said: str) -> Response:
    kind = {400: "invalid_request_error", 404: "not_found_error"}.get(status, "api_error")
    error = {"message": said, "type": kind, "param": None, "code": None}
    return json_response({"error": error}, status)
