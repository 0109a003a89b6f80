"""What a pipeline hands to a HIT type so that the type can write an import row: research material as plain values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: What one item of a type is made from. ``follow_ups``: a follow-up of an explanation with the system's real output.
#: ``explanations``: one explanation. ``instances``: an instance with one explanation of each system. ``questions``: a
#: generalization question. ``explained_questions``: a generalization question with an explanation of its instance.
MadeFrom = Literal["", "follow_ups", "explanations", "instances", "questions", "explained_questions"]


#: The method of systems whose outputs were written from the explanation itself.
SANITY_METHOD = "from explanation"


@dataclass(frozen=True)
class InstanceSource:
    """An instance: its key in the dataset, its input, and the gold label and rationale if they are known."""

    key: str
    input: str
    gold_label: str = ""
    gold_rationale: str = ""


@dataclass(frozen=True)
class ExplanationSource:
    """An explanation with its output and its system; ``units`` are pairs (role, text)."""

    pk: int
    text: str
    output: str
    system: str
    model: str
    method: str
    units: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class FollowUpSource:
    """A counterfactual or a generalization question."""

    pk: int
    text: str
    generator: str
    kind: str
    gold_label: str = ""


@dataclass(frozen=True)
class ItemSource:
    """The material of one item.

    ``output`` is the system's real output on the follow-up. ``first`` says whether this is the first item made from its
    explanation, for what is asked once per explanation. ``choices`` are those of the study step.
    """

    instance: InstanceSource
    explanation: ExplanationSource | None = None
    follow_up: FollowUpSource | None = None
    output: str = ""
    explanations: tuple[ExplanationSource, ...] = ()
    first: bool = True
    choices: Mapping[str, Any] = field(default_factory=dict)

    @property
    def explained(self) -> ExplanationSource:
        """The explanation, for types made from one; raises ``ValueError`` if there is none."""
        if self.explanation is None:
            raise ValueError("this item has no explanation")
        return self.explanation

    @property
    def followed(self) -> FollowUpSource:
        """The follow-up, for types made from one; raises ``ValueError`` if there is none."""
        if self.follow_up is None:
            raise ValueError("this item has no follow-up")
        return self.follow_up

    def system_columns(self) -> dict[str, Any]:
        """The columns ``instance``, ``system``, ``model`` and ``method``."""
        explanation = self.explained
        return {
            "instance": self.instance.key,
            "system": explanation.system,
            "model": explanation.model,
            "method": explanation.method,
        }

    def pair_columns(self) -> dict[str, Any]:
        """The columns of an item made from an explanation and a follow-up: its key, and where both are from."""
        return self.system_columns() | {
            "key": self.pair_key(),
            "generator": self.followed.generator,
            "kind": self.followed.kind,
            "gold_label": self.instance.gold_label,
        }

    def pair_key(self) -> str:
        """The item's key, made of its explanation, its follow-up and, if it belongs to one, its check."""
        check = "-check" if self.explained.method == SANITY_METHOD else ""
        return f"e{self.explained.pk}-f{self.followed.pk}{check}"


def preference_parts(text: str) -> tuple[str, str, str]:
    """Context and both responses of a preference example.

    >>> preference_parts("Context: Hot tea?\\nResponse 1: Wait.\\nResponse 2: Why?")
    ('Hot tea?', 'Wait.', 'Why?')
    """
    context, _, rest = text.removeprefix("Context: ").partition("\nResponse 1: ")
    first, _, second = rest.partition("\nResponse 2: ")
    return context, first, second


def choice_parts(text: str) -> tuple[str, list[str]]:
    """A question and its options.

    >>> choice_parts("Which?\\nA: one\\nB: two")
    ('Which?', ['one', 'two'])
    """
    lines = text.splitlines()
    options = [line[2:].strip() for line in lines if _is_option(line)]
    return "\n".join(line for line in lines if not _is_option(line)).strip(), options


def question_columns(text: str) -> dict[str, Any]:
    """The columns ``question`` and, if the input has options, ``options``."""
    question, options = choice_parts(text)
    return {"question": question, "options": options} if options else {"question": text}


def _is_option(line: str) -> bool:
    return len(line) > 2 and line[0].isupper() and line[1] in ":."
