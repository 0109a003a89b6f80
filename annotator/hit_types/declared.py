"""What a HIT type declares (columns, stages, variables), and what is made from it for all types alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from annotator.hit_types.answers import YES_NO_WORDS, Answers
from annotator.hit_types.arms import arm_of
from annotator.hit_types.columns import ItemReader
from annotator.hit_types.formats import format_of
from annotator.hit_types.images import StoredImage
from annotator.hit_types.reading import Row
from annotator.hit_types.replies import Labels, read_answer, read_answers, write_answer, write_answers
from annotator.hit_types.shapes import (
    JSON,
    AnsweredTwice,
    Block,
    Column,
    Field,
    Material,
    Rating,
    Stage,
    Variable,
)


@dataclass(frozen=True)
class Shown:
    """A column as a block. ``name`` is the block's name if it isn't the column's.

    An ``answer`` is shown in words: as the ``options`` of a list in the payload, as ``words`` say, or yes and no.
    ``options`` shows a list with letters; a list that is empty isn't shown, and neither is an ``optional`` text.
    """

    column: str
    label: str
    kind: Literal["text", "answer", "options"] = "text"
    group: str = ""
    name: str = ""
    options: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    optional: bool = False

    def block(self, payload: JSON) -> Block | None:
        """The block of one item; None if it isn't shown.

        >>> Shown("answer", "Answer", "answer", options="all").block({"answer": "B", "all": ["house", "shop"]}).text
        'B. shop'
        """
        name, value = self.name or self.column, payload[self.column]
        if self.kind == "options":
            lines = Answers.of(value).lines
            return Block(name, self.label, items=lines, kind="options", group=self.group) if lines else None
        if self.kind == "answer":
            answers = Answers.of(payload[self.options] if self.options else ())
            text = answers.say(value) if answers.options else (self.words or YES_NO_WORDS).get(value, value)
            return Block(name, self.label, text, kind="answer", group=self.group)
        if self.optional and not value:
            return None
        return Block(name, self.label, value, format=format_of(payload, self.column), group=self.group)


@dataclass(frozen=True)
class DeclaredStage:
    """A stage as a type declares it for all its items, or for those of one ``variant``."""

    name: str
    title: str
    shown: tuple[Shown, ...]
    fields: tuple[Field, ...]
    lead: str = ""
    variant: str = ""

    def stage(self, payload: JSON) -> Stage:
        """The stage of one item."""
        blocks = tuple(block for part in self.shown if (block := part.block(payload)))
        fields = tuple(
            replace(asked, options=Answers.of(payload[asked.options_of]).choices)
            if asked.options_of
            else asked
            for asked in self.fields
        )
        return Stage(self.name, self.title, blocks, fields, self.lead)


class DeclaredParts:
    """What a type declares, and what is made from it: items, stages, ratings, and replies of models."""

    variables: ClassVar[tuple[Variable, ...]]
    columns: ClassVar[tuple[Column, ...]]
    #: The stages in order; those of an item's variant if they name one.
    declared_stages: ClassVar[tuple[DeclaredStage, ...]] = ()
    #: The stage of each control arm that has a screen of its own.
    control_stages: ClassVar[Mapping[str, DeclaredStage]] = {}
    #: The payload key that says which of the variants an item is.
    variant_field: ClassVar[str] = ""
    #: ISO 639-1 code of the language in which replies are read beside English; see ``languages``.
    language: ClassVar[str] = ""
    #: Spellings of each option's value in replies, where they aren't the value itself.
    spellings: ClassVar[Labels] = {}
    #: The names that a JSON reply may use for the answer, beside the field's and ``answer``.
    reply_keys: ClassVar[tuple[str, ...]] = ("option", "choice")
    #: Patterns that may begin a sentence that states the answer; see ``read_answer``.
    phrases: ClassVar[tuple[str, ...]] = ()

    def variant(self, payload: JSON) -> str:
        """Which of ``variants`` an item is; empty if the type has none."""
        return str(payload[self.variant_field]) if self.variant_field else ""

    def read_item(self, row: Row) -> tuple[JSON, Material]:
        """The payload and the material of an import row; errors are collected in ``row``."""
        return self._reader.read(row)

    #: The columns with images for which their alternative text can't stand: only models that are sent images are asked.
    undescribed: ClassVar[tuple[str, ...]] = ()

    def with_formats(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """An import row with the formats that the type itself declares for its columns; most types leave them to the row."""
        return row

    def images_shown(self) -> frozenset[str]:
        """The names of the image files that the type's own examples, practice and exam show; most types show none."""
        return frozenset()

    def with_images(self, known: Mapping[str, StoredImage]) -> Self:
        """The type whose examples, practice and exam show a study's uploaded images, which are ``known`` by their names."""
        return self

    @cached_property
    def _reader(self) -> ItemReader:
        return ItemReader(self.columns)

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """All stages of an item in order. The caller sends only those that may be seen yet."""
        return tuple(step.stage(payload) for step in self.declared_for(payload))

    def stage_names(self, payload: JSON, presentation: JSON | None = None) -> tuple[str, ...]:
        """The names of all stages of an item in order; where they are declared, nothing else of them is made."""
        steps = self.declared_for(payload) or self.stages(payload, presentation)
        return tuple(step.name for step in steps)

    def declared_for(self, payload: JSON) -> tuple[DeclaredStage, ...]:
        """The declared stages of an item."""
        if own := self.control_stages.get(arm_of(payload)):
            return (own,)
        return tuple(
            step for step in self.declared_stages if not step.variant or step.variant == self.variant(payload)
        )

    def answered_twice(self) -> AnsweredTwice | None:
        """What is asked before and after a model's answer is seen, for reports on reliance: by default the variables ``before`` and
        ``after``; None if a type lacks one of them."""
        default = AnsweredTwice()
        return default if {default.before, default.after} <= {one.name for one in self.variables} else None

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """The rows of the ratings table for a complete, parsed response: one for each variable that was asked."""
        values = [(v.name, response.get(v.field or v.name, v.unasked)) for v in self.variables]
        return [Rating(name, str(value)) for name, value in values if value]

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """A model's reply to ``prompt`` as a raw response of that stage. Raises ``Unparsable`` rather than guess.

        ``ANSWER: YES`` for a stage with one question, ``ANSWER: 1=YES; 2=NO`` for several.
        """
        asked = self._asked(payload, stage, presentation)
        if len(asked) == 1:
            keys = (asked[0].name, *self.reply_keys)
            labels = self.labels_of(asked[0], payload)
            answer = read_answer(text, labels, keys=keys, phrases=self.phrases, language=self.language)
            return {asked[0].name: answer}
        numbers = [str(number) for number in range(1, len(asked) + 1)]
        labels = {
            label: spelled for field in asked for label, spelled in self.labels_of(field, payload).items()
        }
        answers = read_answers(text, numbers, labels, language=self.language)
        return {field.name: answers[number] for number, field in zip(numbers, asked, strict=True)}

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """How a model that follows the prompt would end its reply to give ``response``: the inverse of ``parse_reply``.

        The contract tests use it.
        """
        asked = self._asked(payload, stage, presentation)
        answers = {
            str(number): self.labels_of(field, payload)[response[field.name]][0]
            for number, field in enumerate(asked, 1)
        }
        return write_answer(answers["1"]) if len(asked) == 1 else write_answers(answers)

    def _asked(self, payload: JSON, stage: int, presentation: JSON | None) -> tuple[Field, ...]:
        """The questions of a stage; declared ones need no blocks to be built."""
        declared = self.declared_for(payload)
        return declared[stage].fields if declared else self.stages(payload, presentation)[stage].fields

    def labels_of(self, asked: Field, payload: JSON) -> Labels:
        """The answers to a question with their spellings in replies; the first is the one that prompts ask for."""
        if asked.options_of:
            return Answers.of(payload[asked.options_of]).labels
        return {option.value: self.spellings.get(option.value, (option.value,)) for option in asked.options}

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The values of the ``$names`` in ``prompt.md``: the payload's texts, with answers and options as they are shown."""
        values = {name: value for name, value in payload.items() if isinstance(value, str)}
        for step in self.declared_for(payload)[stage : stage + 1]:
            for part in step.shown:
                if part.kind != "text" and (block := part.block(payload)):
                    values[part.column] = block.text or "\n".join(block.items)
        return values
