"""One question to the scripted model, and the type of a skill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evaluation.providers.scripted.options import Options
from evaluation.providers.scripted.world import chance


@dataclass(frozen=True)
class Ask:
    """One question to the scripted model: the last user message, the instructions, and the model's options."""

    text: str
    #: The first message, if it is not the last: the instructions.
    system: str
    options: Options
    #: Differs between samples of one question; 0 if the temperature is 0.
    sample: int = 0
    temperature: float = 0.0
    schema: dict[str, Any] | None = None
    #: Answers, yes or no, that a fine-tuned model has learnt not to give to this question.
    avoided: frozenset[str] = frozenset()

    @property
    def drawn(self) -> tuple[object, ...]:
        """The part of a reply that differs between samples of the same question; empty if the temperature is 0."""
        return (self.sample, self.temperature) if self.temperature else ()

    def right(self, *about: object) -> bool:
        """Whether the model follows its rule for this question, as it does for a share ``quality`` of all questions."""
        return (
            chance("right", self.options.name, self.options.seed, self.sample, *about) < self.options.quality
        )


#: A skill returns the reply, or None for questions of another kind.
Skill = Callable[[Ask], str | None]


def plain(ask: Ask) -> str:
    """The model's reply when it doesn't recognise the form of the answer."""
    return "I would need to know what form the answer should have."
