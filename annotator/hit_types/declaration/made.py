"""The HIT type that is made from a file, through the same contract as those that are written in Python."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Self

from annotator.hit_types.arms import ARM_KEY, arm_of, control_payload
from annotator.hit_types.contract import HitType
from annotator.hit_types.declaration.arms import DeclaredArm, arm_spec
from annotator.hit_types.declaration.asking import DeclaredQuestion
from annotator.hit_types.declaration.conditions import conditions_of
from annotator.hit_types.declaration.items import parts_of
from annotator.hit_types.declaration.kinds import question_of
from annotator.hit_types.declaration.prompting import FORM, MATERIAL, QUESTIONS, material_text
from annotator.hit_types.declaration.shown import Layout, Presented
from annotator.hit_types.declaration.slots import ReplyForm, form_of_reply
from annotator.hit_types.formats import FORMATS_KEY
from annotator.hit_types.images import IMAGE, StoredImage, image_columns, image_names, images_resolve
from annotator.hit_types.instructions import Example, examples_changed, instruction_parts
from annotator.hit_types.prompting import prompt_part
from annotator.hit_types.reading import Row, is_blank, parse_fields
from annotator.hit_types.replies import Labels
from annotator.hit_types.shapes import (
    JSON,
    Field,
    FieldErrors,
    Grade,
    ItemDraft,
    Material,
    Option,
    Rating,
    Stage,
    Variable,
    answers_in_words,
)


class Screens:
    """What is shown and asked of items, made once for a file's value, or for that of one of its arms."""

    def __init__(self, spec: Mapping[str, Any]):
        self.layout = Layout(spec)
        #: Name, declaration and questions of each stage.
        self.stages = [
            (name, stage, tuple(question_of(key, one) for key, one in stage["questions"].items()))
            for name, stage in spec["stages"].items()
        ]
        self.questions = {one.name: one for _, _, asked in self.stages for one in asked}
        for _, stage, asked in self.stages:
            for one in asked:
                one.conditions = conditions_of(one.spec.get("when", {}), stage["questions"])


class DeclaredHitType(HitType):
    """Base of the types that are made from files; ``making.hit_type_made`` makes a subclass of each."""

    #: The file's value.
    declaration: ClassVar[Mapping[str, Any]]
    #: Columns whose text isn't plain: name -> format.
    written: ClassVar[Mapping[str, str]]
    #: (variable, its question, which part of the question's values it has) in the order of the variables.
    measured: ClassVar[tuple[tuple[Variable, str, str], ...]]

    #: The texts of each control arm.
    arm_texts: ClassVar[Mapping[str, DeclaredArm]] = {}

    @cached_property
    def folder(self) -> Path:
        """Where the file's translations would be; a type from a file needs no other files."""
        return Path(__file__).parents[1] / "gallery" / self.name

    @cached_property
    def _screens(self) -> Mapping[str, Screens]:
        """What is shown and asked by arm; the empty one has all."""
        arms = {arm: Screens(arm_spec(self.declaration, arm)) for arm in self.control_arms}
        return {"": Screens(self.declaration), **arms}

    def _of(self, payload: JSON) -> Screens:
        """What is shown and asked of an item; types without arms need none (see ``ratings_need_item``)."""
        return self._screens[arm_of(payload) if self.control_arms else ""]

    @property
    def questions(self) -> Mapping[str, DeclaredQuestion]:
        """The file's questions by name, as those are asked who see everything."""
        return self._screens[""].questions

    def questions_of(self, payload: JSON) -> Mapping[str, DeclaredQuestion]:
        """The questions about an item by name: the file's, as the item's arm asks them."""
        return self._of(payload).questions

    # -- items -----------------------------------------------------------------------------------

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        """Check one import row and return the item; the formats that the file declares need not be in the row."""
        row = self.with_formats(row)
        if image_columns(row):
            row, faults = images_resolve(row, None)
            if faults:
                raise FieldErrors(faults)
        return super().parse_item(row)

    def with_formats(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """A row with the formats that the file declares; a row can declare those of other columns."""
        if not self.written:
            return row
        given = Row(row).json(FORMATS_KEY)
        if not (is_blank(given) or isinstance(given, Mapping)):
            return row
        return {**row, FORMATS_KEY: {**(given or {}), **self.written}}

    @cached_property
    def _images_shown(self) -> frozenset[str]:
        if IMAGE not in self.written.values():
            return frozenset()
        whole = self.with_arms(self.control_arms)
        shown = [one.payload for one in (*whole.practice, *whole.exam)]
        shown += [one.payload for one in instruction_parts(whole.instructions) if isinstance(one, Example)]
        return frozenset(name for payload in shown for name in image_names(payload))

    def images_shown(self) -> frozenset[str]:
        """The names of the image files that the file's examples, practice and exam show."""
        return self._images_shown

    def with_images(self, known: Mapping[str, StoredImage]) -> Self:
        """The type whose examples, practice and exam show a study's uploaded images; those that it lacks stay in words."""
        if not self.images_shown() & set(known):
            return self

        def shown(payload: JSON) -> JSON:
            resolved, faults = images_resolve(payload, known)
            return payload if faults else resolved

        questions = {
            which: tuple(replace(one, payload=shown(one.payload)) for one in getattr(self, which))
            for which in ("practice", "exam")
        }
        return self.replaced(instructions=examples_changed(self.instructions, shown), **questions)

    def read_item(self, row: Row) -> tuple[JSON, Material]:
        """The payload and the material of an import row."""
        payload, material = super().read_item(row)
        parts = parts_of(self.declaration, row)
        return payload, Material(**{**vars(material), "parts": parts}) if parts else material

    def present(self, payload: JSON, rng: Random) -> JSON:
        """The order for one rater, if the file shuffles anything."""
        return self._of(payload).layout.draw(payload, rng)

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """All stages of an item; a stage shows what those before it have shown too."""
        screens = self._of(payload)
        seen = screens.layout.presented(payload, presentation)
        return tuple(
            Stage(
                name,
                spec["title"],
                seen.blocks(number),
                self._fields(name, asked, seen),
                spec.get("lead", ""),
            )
            for number, (name, spec, asked) in enumerate(screens.stages)
        )

    def stage_names(self, payload: JSON, presentation: JSON | None = None) -> tuple[str, ...]:
        """The names of all stages of an item in order."""
        return tuple(name for name, _, _ in self._of(payload).stages)

    def _fields(self, stage: str, asked: tuple[DeclaredQuestion, ...], seen: Presented) -> tuple[Field, ...]:
        if drawn := seen.questions_drawn(stage):
            asked = tuple(sorted(asked, key=lambda one: drawn.index(one.name)))
        return tuple(field for one in asked for field in one.fields_shown(seen))

    def units(self, payload: JSON) -> tuple[str, ...]:
        """The entries and options that are judged one by one; the item itself, if a question is about the item."""
        found: dict[str, None] = {}
        for one in self.questions_of(payload).values():
            found |= dict.fromkeys(one.units(payload))
        return tuple(found)

    # -- responses -------------------------------------------------------------------------------

    def parse_response(
        self, payload: JSON, raw: Mapping[str, Any], stage: int = 0, presentation: JSON | None = None
    ) -> JSON:
        """Check the values sent for one stage; raises ``FieldErrors``, in the file's own words where it has any."""
        asked = self._of(payload).stages[stage][2]
        sent, fields = self._received(raw, asked), self.fields_asked(payload, stage, presentation)
        errors: dict[str, str] = {}
        try:
            response = parse_fields(fields, sent)
        except FieldErrors as error:
            # What can be said about the other answers is said at once.
            errors = error.errors
            response = parse_fields([one for one in fields if one.name not in errors], sent)
        try:
            self._check(response, payload, asked)
        except FieldErrors as error:
            errors = error.errors | errors
        if errors:
            raise FieldErrors(self._told(errors, sent))
        return response

    def _told(self, errors: Mapping[str, str], sent: Mapping[str, Any]) -> dict[str, str]:
        owners = {name: self._owner(name) for name in errors}
        return {
            name: owner.told(name, sent, text) if (owner := owners[name]) else text
            for name, text in errors.items()
        }

    def fields_asked(self, payload: JSON, stage: int, presentation: JSON | None = None) -> tuple[Field, ...]:
        """The fields of a stage, without its blocks: a turn parses one answer and shows one task."""
        screens = self._of(payload)
        name, _, asked = screens.stages[stage]
        return self._fields(name, asked, screens.layout.presented(payload, presentation))

    def parse_gold(self, payload: JSON, raw: Any) -> JSON:
        """Check a correct response; fields that it leaves out are not graded. Raises ``FieldErrors``."""
        asked = tuple(self.questions_of(payload).values())
        gold = super().parse_gold(payload, self._received(raw, asked) if isinstance(raw, Mapping) else raw)
        self._check(gold, payload, asked)
        return gold

    @staticmethod
    def _received(raw: Mapping[str, Any], asked: tuple[DeclaredQuestion, ...]) -> Mapping[str, Any]:
        changed: JSON = {}
        for one in asked:
            changed |= one.received(raw)
        return {**raw, **changed} if changed else raw

    @staticmethod
    def _check(response: JSON, payload: JSON, asked: tuple[DeclaredQuestion, ...]) -> None:
        errors: dict[str, str] = {}
        for one in asked:
            errors |= one.check(response, payload)
        if errors:
            raise FieldErrors(errors)

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """Compare a response with gold, field by field; some kinds accept what is near."""
        owners = {name: self._owner(name) for name in gold}
        right = {
            name: owner.is_right(name, response.get(name), value)
            if (owner := owners[name])
            else response.get(name) == value
            for name, value in gold.items()
        }
        return Grade(score=sum(right.values()) / len(right) if right else 0.0, right=right)

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """The rows of the ratings table for a complete, parsed response."""
        questions = self.questions_of(payload)
        values = {name: one.values(payload, response) for name, one in questions.items()}
        found = []
        for variable, question, part in self.measured:
            if question not in questions:
                continue  # the item's arm doesn't ask it
            held = {unit: label for (of, unit), label in values[question].items() if of == part}
            if not held and variable.unasked and not questions[question].each:
                held = {"": variable.unasked}
            found += [Rating(variable.name, label, unit) for unit, label in held.items()]
        return found

    # -- models ----------------------------------------------------------------------------------

    def labels_of(self, asked: Field, payload: JSON) -> Labels:
        """The answers to a question with their spellings in replies."""
        return {one.value: self._spell(asked, one) for one in asked.options}

    def _spell(self, asked: Field, option: Option) -> tuple[str, ...]:
        question = self._owner(asked.name)
        return question.spellings(option) if question else (option.value,)

    def _owner(self, field: str) -> DeclaredQuestion | None:
        """The question of a field; a field about one of several things begins with its question's name."""
        questions = self.questions
        if field in questions:
            return questions[field]
        owners = [one for name, one in questions.items() if field.startswith(f"{name}_")]
        return max(owners, key=lambda one: len(one.name), default=None)

    def reply_form(self, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> ReplyForm:
        """The form of a model's reply to a stage of an item."""
        shown = self.stages(payload, presentation)[stage]
        return form_of_reply(shown.fields, {one.name: one.label for one in shown.blocks}, self._spell)

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """A model's reply as a raw response of that stage; see ``slots``. Raises ``Unparsable``."""
        form = self.reply_form(payload, stage, presentation)
        return form.read(text, keys=self.reply_keys, language=self.language)

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The end of a reply that means this response."""
        return self.reply_form(payload, stage, presentation).write(response)

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """Each column by its name, and all that a rater sees and is asked: ``material``, ``questions`` and ``form``."""
        stages = self.stages(payload, presentation)
        form = self.reply_form(payload, stage, presentation)
        earlier = [f"{asked} {said}" for asked, said in answers_in_words(stages[:stage], before)]
        values = {name: value for name, value in payload.items() if isinstance(value, str)}
        for block in stages[stage].blocks:
            values[block.name] = block.text or "\n".join(block.items)
        shown = "\n".join([material_text(stages[stage].blocks), *earlier])
        asked = "\n".join(filter(None, (stages[stage].lead, form.asks)))
        return values | {MATERIAL: shown, QUESTIONS: asked, FORM: form.form}

    # -- control arms ----------------------------------------------------------------------------

    def control(self, payload: JSON, arm: str) -> JSON:
        """The payload of the same item in a control arm; all of it if it has nothing that the arm hides."""
        hidden = self.control_arms[arm]
        if not any(payload.get(name) for name in hidden):
            return {**payload, ARM_KEY: arm}
        return control_payload(payload, arm, hidden)

    def with_arms(self, arms: Iterable[str]) -> HitType:
        """The type as a study with these control arms uses it: with their instructions, practice, exam and prompts."""
        chosen = set(arms)
        texts = [one for arm, one in self.arm_texts.items() if arm in chosen]
        if not texts:
            return self
        stages = self.declaration["stages"]
        prompts = {name: prompt_part(self.prompt_text, name) for name in stages}
        for one in texts:
            prompts |= one.prompts
        return self.replaced(
            instructions="\n\n".join(filter(None, [self.instructions, *(one.instructions for one in texts)])),
            practice=(*self.practice, *(question for one in texts for question in one.practice)),
            exam=(*(question for one in texts for question in one.exam), *self.exam),
            defaults=self.defaults.with_arms(one.exam for one in texts),
            prompt_text="\n\n".join(f"# {name}\n{text}" for name, text in prompts.items()),
        )

    def file_text(self) -> str:
        """The file's content as JSON: what its version is the digest of."""
        return json.dumps(self.declaration, ensure_ascii=False)
