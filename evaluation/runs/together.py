"""Several items in one request. Each has a name, by which its answer is found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from annotator.hit_types.base import Unparsable
from evaluation.providers.base import ChatRequest
from evaluation.runs.step import ClaimedCall

_ORDER = """You are given {n} tasks that have nothing to do with each other. Do each one as if it were the only one, \
following its own instructions and the form that it asks its answer in.

Reply with one JSON array and nothing else. It holds one object for each task, in any order:
[{{"task": "<name of the task>", "reply": "<your whole reply to that task>"}}, ...]"""


def name_of(call: ClaimedCall) -> str:
    """The name of a call within a request."""
    return f"t{call.id}"


def together_request(asked: Sequence[tuple[ClaimedCall, ChatRequest]]) -> ChatRequest:
    """One request for several calls. The instructions that they share are given once."""
    first = asked[0][1]
    shared = 0
    while all(
        len(r.messages) > shared + 1 and r.messages[shared] == first.messages[shared] for _, r in asked
    ):
        shared += 1
    opening = "\n\n".join(
        message["content"] if message["role"] != "assistant" else f"(a good reply) {message['content']}"
        for message in first.messages[:shared]
    )
    tasks = [
        f"=== Task {name_of(call)} ===\n"
        + "\n\n".join(message["content"] for message in request.messages[shared:])
        for call, request in asked
    ]
    limits = {
        name: int(first.parameters[name]) * len(asked) + 32 * len(asked)
        for name in ("max_tokens", "max_completion_tokens")
        if name in first.parameters
    }
    common = f"Instructions that all tasks share:\n{opening}\n\n" if opening else ""
    return ChatRequest(
        model=first.model,
        messages=(
            {"role": "system", "content": _ORDER.format(n=len(asked))},
            {"role": "user", "content": common + "\n\n".join(tasks)},
        ),
        parameters=first.parameters | limits,
        images={digest: image for _, request in asked for digest, image in request.images.items()},
    )


def together_split(text: str, calls: Sequence[ClaimedCall]) -> dict[int, str]:
    """The replies by call id. Missing replies are left out; a reply given twice counts if both are the same.

    Raises ``Unparsable`` if the text isn't such an array.
    """
    entries = _array(text)
    names = {name_of(call): call.id for call in calls}
    found: dict[int, set[str]] = {}
    for entry in entries:
        if isinstance(entry, dict) and entry.get("task") in names and isinstance(entry.get("reply"), str):
            found.setdefault(names[entry["task"]], set()).add(entry["reply"])
    return {call: replies.pop() for call, replies in found.items() if len(replies) == 1}


def _array(text: str) -> list[Any]:
    start = text.find("[")
    if start < 0:
        raise Unparsable("the reply has no JSON array")
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:])
    except ValueError:
        raise Unparsable("the reply's JSON array is incomplete", kind="cut_off") from None
    if not isinstance(value, list):
        raise Unparsable("the reply has no JSON array")
    return value
