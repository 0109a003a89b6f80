"""The settings that a refusal asks for, and the limits of thinking apart from those of replies."""

from __future__ import annotations

import pytest

from annotator.hit_types.base import ChatMessage
from evaluation.providers.apis.anthropic import Anthropic
from evaluation.providers.apis.gemini import Gemini
from evaluation.providers.apis.openai import OpenAI
from evaluation.providers.base import ChatRequest
from evaluation.providers.profiles import PROFILES, profile_named, profile_proposed
from evaluation.runs.request import system_folded

CHAT = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Can owls swim?"})


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("HTTP 400: System role not supported", "fold-system"),
        ("HTTP 500: Jinja Exception: Only user and assistant roles are supported!", "fold-system"),
        ("HTTP 400: Developer instruction is not enabled for models/gemma-3-27b-it", "fold-system"),
        (
            "HTTP 400: Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            "fold-system",
        ),
        ("HTTP 400: Conversation roles must alternate user/assistant/user/assistant/...", "fold-system"),
        ("HTTP 400: This model only support stream mode, please enable the stream parameter", "stream"),
        (
            "HTTP 400: parameter.enable_thinking must be set to false for non-streaming calls",
            "stream",
        ),
        ("HTTP 422: body.seed: Extra inputs are not permitted", "leave-out-seed"),
        ("HTTP 400: 'temperature' does not support 0.0 with this model.", "leave-out-temperature"),
        (
            "HTTP 400: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            "max-completion-tokens",
        ),
        ("HTTP 400: The prompt is too long.", ""),
        ("HTTP 400: unknown field owls", ""),
    ],
)
def test_the_words_of_a_refusal_propose_a_profile(said: str, name: str) -> None:
    request = ChatRequest("m", CHAT, {"max_tokens": 9, "temperature": 0.0, "seed": 1})
    assert profile_proposed(request=request, kind="bad_request", said=said) == name
    assert profile_proposed(request=request, kind="timeout", said=said) == ""


def test_nothing_is_proposed_that_has_been_done() -> None:
    folded = ChatRequest("m", CHAT[1:], {})
    assert profile_proposed(request=folded, kind="server", said="System role not supported") == ""


def test_every_profile_is_found_by_its_name() -> None:
    assert [profile_named(profile.name) for profile in PROFILES] == list(PROFILES)
    assert profile_named("leave-out-messages") is None


def test_the_system_role_is_folded_into_the_first_question() -> None:
    chat = [ChatMessage(one["role"], one["content"]) for one in CHAT]  # type: ignore[arg-type]
    shown = [*chat, ChatMessage("assistant", "No."), ChatMessage("user", "Why?")]
    assert [(one.role, one.content) for one in system_folded(shown)] == [
        ("user", "Be brief.\n\nCan owls swim?"),
        ("assistant", "No."),
        ("user", "Why?"),
    ]
    assert [one.content for one in system_folded(chat[:1])] == ["Be brief."]
    assert system_folded(chat[1:]) == chat[1:]


@pytest.mark.parametrize(
    ("model", "thinking", "limit"),
    [
        ("gpt-4o", None, {"max_tokens": 100}),
        ("gpt-4o", 500, {"max_tokens": 600}),
        ("gpt-5-mini", None, {"max_completion_tokens": 4100}),
        ("gpt-5-mini", 0, {"max_completion_tokens": 100}),
        *(
            (model, None, {"max_tokens": 4100})
            for model in (
                "deepseek-ai/DeepSeek-R1", "deepseek-reasoner", "Qwen/QwQ-32B", "Qwen/Qwen3-8B", "magistral-small",
                "openai/gpt-oss-20b", "grok-4", "kimi-k2-thinking", "GLM-4.6", "Phi-4-reasoning",
            )
        ),
        *(
            (model, None, {"max_tokens": 100})
            for model in ("Qwen3-4B-Instruct-2507", "deepseek-chat", "grok-4-fast-non-reasoning", "qwen2.5:7b")
        ),
    ],
)  # fmt: skip
def test_thinking_has_a_limit_apart_from_the_replys(
    model: str, thinking: int | None, limit: dict[str, int]
) -> None:
    assert OpenAI().reply_limit(model=model, tokens=100, thinking=thinking) == limit


def test_anthropics_thinking_has_a_budget_and_no_temperature() -> None:
    limit = Anthropic().reply_limit(model="claude", tokens=100, thinking=2000)
    request = ChatRequest("claude", CHAT, {"temperature": 0.0, **limit}, {"type": "object"})
    body = Anthropic().chat_body(request)
    assert body["max_tokens"] == 2100
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert "temperature" not in body
    assert body["tool_choice"] == {"type": "auto"}
    assert Anthropic().reply_limit(model="claude", tokens=100, thinking=500) == {"max_tokens": 100}
    assert Anthropic().reply_limit(model="claude", tokens=100) == {"max_tokens": 100}


def test_geminis_thinking_has_a_budget() -> None:
    own = Gemini().reply_limit(model="gemini-2.5-flash", tokens=100, thinking=2000)
    config = Gemini().chat_body(ChatRequest("gemini-2.5-flash", CHAT, own))["generationConfig"]
    assert config == {"maxOutputTokens": 2100, "thinkingConfig": {"thinkingBudget": 2000}}
    assert Gemini().reply_limit(model="gemini-2.5-flash", tokens=100) == {"max_tokens": 4100}
    assert Gemini().reply_limit(model="gemini-2.0-flash", tokens=100) == {"max_tokens": 100}
