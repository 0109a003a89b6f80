"""Settings that some models and servers need: profiles to choose from, and the one that a refusal asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluation.providers.base import ChatRequest

#: Tokens for thinking and reply together, for a model that takes ``max_completion_tokens`` only.
COMPLETION_TOKENS = 4000
#: Tokens for the thinking of a model that was cut off before it said anything, and if that wasn't enough.
THINKING, LONG_THINKING = 8_000, 32_000
#: Begins the name of a profile that leaves out the parameter that follows.
LEAVE_OUT = "leave-out-"
#: What no profile may leave out, because a run sets it.
NEEDED = ("model", "messages", "stream")


@dataclass(frozen=True)
class Profile:
    """Settings of an endpoint: ``fields`` of its own, and ``parameters``, of which None leaves one out; ``drops`` are removed.

    ``words`` are those of its button, ``models`` says which models need it.
    """

    name: str
    words: str
    models: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    drops: tuple[str, ...] = ()


MAX_COMPLETION = Profile(
    "max-completion-tokens",
    "Use max_completion_tokens instead of max_tokens",
    "OpenAI's reasoning models under another name, such as that of an Azure deployment",
    parameters={"max_completion_tokens": COMPLETION_TOKENS},
    drops=("max_tokens",),
)
THINKS = Profile(
    "thinking",
    f"Allow {THINKING:,} tokens for thinking",
    "models that think before they reply",
    fields={"thinking_tokens": THINKING},
)
THINKS_LONG = Profile(
    "long-thinking",
    f"Allow {LONG_THINKING:,} tokens for thinking",
    "models that think for long",
    fields={"thinking_tokens": LONG_THINKING},
)
NO_THINKING = Profile(
    "no-thinking",
    "Turn thinking off",
    "Qwen3 and others whose chat template has enable_thinking, on vLLM, SGLang or llama.cpp",
    parameters={"chat_template_kwargs": {"enable_thinking": False}},
)
FOLD_SYSTEM = Profile(
    "fold-system",
    "Put the instructions into the first question",
    "Gemma, and others without a system role",
    fields={"fold_system": True},
)
STREAM = Profile("stream", "Ask for streams", "servers that answer in streams only", fields={"stream": True})
UNSTRUCTURED = Profile(
    "unstructured",
    "Ask for replies without a JSON schema",
    "servers that know no JSON schemas",
    fields={"structured": False},
)
#: Those that can be chosen, in the order of lists.
PROFILES = (
    THINKS, THINKS_LONG, NO_THINKING, MAX_COMPLETION, FOLD_SYSTEM, STREAM, UNSTRUCTURED,
    Profile(f"{LEAVE_OUT}temperature", "Leave out temperature", "models with a fixed temperature", parameters={"temperature": None}),
    Profile(f"{LEAVE_OUT}seed", "Leave out seed", "servers without seeds", parameters={"seed": None}),
)  # fmt: skip
_BY_NAME = {profile.name: profile for profile in PROFILES}
_REFUSED = re.compile(
    r"unsupported|not support|n't support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|not available"
    r"|extra (?:inputs|fields)|deprecated|only the default|invalid (?:parameter|argument|field)|remove",
    re.I,
)
#: How servers and chat templates say that there is no system role.
NO_SYSTEM = re.compile(
    r"system (?:role|message|prompt|instruction)s?\b.{0,40}(?:not (?:be )?(?:support|allow|enabled)|unsupported)"
    r"|(?:developer|system) instruction is not enabled|only user and assistant roles|roles must alternate|not support 'system'",
    re.I | re.S,
)
#: How servers say that they answer in streams only.
NO_WHOLE_REPLIES = re.compile(
    r"only supports? stream|stream must be (?:set to )?true|streaming is required|must be set to false for non-streaming"
    r"|non-streaming (?:calls|requests|mode).{0,30}not (?:supported|allowed)",
    re.I,
)


def profile_named(name: str) -> Profile | None:
    """The profile with this name, those that leave out any one parameter included.

    >>> profile_named("leave-out-top_p").words
    'Leave out top_p'
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    left_out = name.removeprefix(LEAVE_OUT)
    if left_out == name or left_out in NEEDED or not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", left_out):
        return None
    return Profile(name, f"Leave out {left_out}", parameters={left_out: None})


def profile_proposed(
    *, request: ChatRequest, kind: str, said: str, thinking_tokens: int | None = None
) -> str:
    """The name of the profile that would help a request that failed, or whose reply couldn't be read; empty if none is known.

    ``kind``: of the failure. ``said``: the server's words. ``thinking_tokens``: the endpoint's setting.
    """
    if kind == "cut_off" and "before it said anything" in said:
        return (THINKS if (thinking_tokens or 0) < THINKING else THINKS_LONG).name
    if kind not in ("bad_request", "server"):
        return ""
    if NO_SYSTEM.search(said) and any(message["role"] == "system" for message in request.messages):
        return FOLD_SYSTEM.name
    if NO_WHOLE_REPLIES.search(said):
        return STREAM.name
    if "max_completion_tokens" in said and "max_tokens" in request.parameters:
        return MAX_COMPLETION.name
    if request.schema is not None and re.search(r"response_format|json_schema|response_?schema", said, re.I):
        return UNSTRUCTURED.name
    if not _REFUSED.search(said):
        return ""
    named = (name for name in request.parameters if re.search(rf"\b{re.escape(name)}\b", said))
    found = profile_named(f"{LEAVE_OUT}{next(named, '')}")
    return found.name if found else ""
