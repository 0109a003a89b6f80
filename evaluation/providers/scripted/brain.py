"""From the messages of a request to the text of a reply: the first skill that recognises the question answers it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from evaluation.providers.scripted.ask import Ask
from evaluation.providers.scripted.options import Options
from evaluation.providers.scripted.skills import answer

#: The start of a message with which a run asks again; see ``evaluation.runs.repair``.
AGAIN = "Your last reply could not be used"


def reply_to(
    messages: Sequence[dict[str, Any]],
    options: Options,
    *,
    sample: int = 0,
    temperature: float = 0.0,
    schema: Any = None,
    avoided: Collection[str] = (),
) -> str:
    """The scripted reply to a chat.

    >>> reply_to([{"role": "user", "content": "Hello"}], Options())
    'I would need to know what form the answer should have.'
    """
    texts = [str(message.get("content") or "") for message in messages]
    # After an unusable reply, the last two messages are that reply and what was wrong with it: the task is before them.
    if len(texts) > 2 and texts[-1].startswith(AGAIN):
        texts = texts[:-2]
    return answer(
        Ask(
            text=texts[-1] if texts else "",
            system=texts[0] if len(texts) > 1 else "",
            options=options,
            sample=sample,
            temperature=temperature,
            schema=schema,
            avoided=frozenset(avoided),
        )
    )


def tokens_in(text: str) -> int:
    """About as many tokens as a real model would count: four characters each.

    >>> tokens_in("abcdefgh")
    2
    """
    return max(1, len(text) // 4)
