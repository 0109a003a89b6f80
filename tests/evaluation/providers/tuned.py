"""A model of the scripted provider, trained and asked in this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from evaluation.providers.scripted.app import Scripted
from evaluation.providers.scripted.http import Request
from evaluation.providers.scripted.options import parse_model

Chat = list[dict[str, str]]


def tuned_on(provider: Scripted, examples: Sequence[Chat], *, base: str) -> str:
    """The name of a model trained on these chats."""
    lines = [json.dumps({"messages": messages}) for messages in examples]
    provider.tuning.files["file-1"] = "\n".join(lines).encode()
    body = json.dumps({"model": base, "training_file": "file-1", "suffix": "test"}).encode()
    asked = Request("POST", "/v1/fine_tuning/jobs", "", {}, body)
    made = json.loads(provider.tuning.handle(asked).body)
    assert made["status"] == "succeeded", made
    return str(made["fine_tuned_model"])


def reply(provider: Scripted, model: str, messages: Chat) -> str:
    """What the model says to a chat."""
    body: dict[str, Any] = {"model": model, "messages": messages}
    return str(provider.completion(body, parse_model(model))["choices"][0]["message"]["content"])
