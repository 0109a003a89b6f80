"""One question to the scripted model, and what a skill is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evaluation.providers.scripted.options import Options
from evaluation.providers.scripted.world import chance


@dataclass(frozen=True)
class Ask:
    """One question to the scripted model: the last user message, the instructions, and how to be."""

    text: str
    #: The first message, if it is not the last: the instructions.
    system: str
    options: Options
    #: Differs between samples of one question, and is 0 where the temperature is 0.
    sample: int = 0
    temperature: float = 0.0
    schema: dict[str, Any] | None = None
    #: Answers, yes or no, that a fine-tuned model has learnt not to give here.
    avoided: frozenset[str] = frozenset()

    @property
    def drawn(self) -> tuple[object, ...]:
        """What sets a sampled reply apart from other samples of the same question; nothing where the temperature is 0."""
        return (self.sample, self.temperature) if self.temperature else ()

    def right(self, *about: object) -> bool:
        """Whether the model follows its rule here; so in a share ``quality`` of all questions."""
        return (
            chance("right", self.options.name, self.options.seed, self.sample, *about) < self.options.quality
        )


#: A skill returns the reply, or None where the question is not of its kind.
Skill = Callable[[Ask], str | None]


def plain(ask: Ask) -> str:
    """What the model says when it knows no form to answer in."""
    return "I would need to know what form the answer should have."
