"""Reward tokens and training files (Joshi et al. 2023, section 4; Quark, Lu et al. 2022). Pure."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.hit_types.base import ChatMessage

#: The paper's number of distinct reward bins (Table 16): 1, 0 and -1.
PAPER_BINS = 3
_OF_VALUE = {-1.0: 0, 0.0: 1, 1.0: 2}


def reward_token(quantile: int) -> str:
    """The token at the start of an example's system message.

    >>> reward_token(2)
    '<reward_2>'
    """
    return f"<reward_{quantile}>"


def reward_quantiles(values: Sequence[float], bins: int = PAPER_BINS) -> list[int]:
    """Each reward's quantile, 0 the lowest. With three bins they are the values -1, 0 and 1 themselves, as in the paper;
    with other numbers, quantiles of equal size by rank, ties in the lower one.

    >>> reward_quantiles([-1, 0, 1, 1]), reward_quantiles([-1, 0, 1, 1], bins=2)
    ([0, 1, 2, 2], [0, 0, 1, 1])
    """
    if bins == PAPER_BINS and all(float(value) in _OF_VALUE for value in values):
        return [_OF_VALUE[float(value)] for value in values]
    ordered = sorted(values)
    return [bisect_left(ordered, value) * bins // max(len(ordered), 1) for value in values]


def conditioned(chat: Sequence[ChatMessage], quantile: int) -> list[ChatMessage]:
    """The chat for a model tuned on rewards: the token before the instructions, and no demonstrations."""
    first, *rest = chat
    if first.role != "system":
        return [ChatMessage("system", reward_token(quantile)), chat[-1]]
    return [ChatMessage("system", f"{reward_token(quantile)}\n{first.content}"), rest[-1]]


@dataclass(frozen=True)
class TrainingExample:
    """One rationale as a training example: the chat that asks for it, the reply, and the quantile of its reward."""

    chat: tuple[ChatMessage, ...]
    reply: str
    quantile: int
    reward: float
    key: str = ""
    round: str = ""


@dataclass(frozen=True)
class HeldOut:
    """A question of the test part: the chat that asks for its rationale, the token to ask under, and an importable row."""

    chat: tuple[ChatMessage, ...]
    quantile: int
    key: str
    columns: Mapping[str, Any]


def question_lines(questions: Iterable[HeldOut], form: str) -> str:
    """The test part for a model that was trained elsewhere. With ``rationale`` and ``answer`` added, each row can be
    imported into a study of utility. ``form`` is as in ``export_lines``.
    """
    lines = []
    for question in questions:
        row = {"instance": question.key, **question.columns, "reward_token": reward_token(question.quantile)}
        chat = conditioned(question.chat, question.quantile)
        row |= {"messages": _plain(chat)} if form == "messages" else {"prompt": _as_text(chat)}
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


def chat_lines(examples: Iterable[TrainingExample]) -> str:
    """The training file for a fine-tuning endpoint: one chat per line, with the reward token in its system message."""
    return "".join(
        json.dumps({"messages": _messages(example)}, ensure_ascii=False) + "\n" for example in examples
    )


def export_lines(examples: Iterable[TrainingExample], form: str) -> str:
    """The same for labs that train their own models, with the reward and its quantile in separate columns.

    ``form``: *messages*, or *prompt_completion* with the chat as one text.
    """
    lines = []
    for example in examples:
        row: dict[str, Any] = {
            "key": example.key,
            "round": example.round,
            "reward": example.reward,
            "reward_quantile": example.quantile,
            "reward_token": reward_token(example.quantile),
        }
        if form == "messages":
            row["messages"] = _messages(example)
        else:
            row["prompt"] = _as_text(conditioned(example.chat, example.quantile))
            row["completion"] = example.reply
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


def _messages(one: TrainingExample) -> list[dict[str, str]]:
    return [*_plain(conditioned(one.chat, one.quantile)), {"role": "assistant", "content": one.reply}]


def _plain(chat: Sequence[ChatMessage]) -> list[dict[str, str]]:
    return [{"role": m.role, "content": m.content} for m in chat]


def _as_text(chat: Sequence[ChatMessage]) -> str:
    return "\n\n".join(message.content for message in chat) + "\n"
