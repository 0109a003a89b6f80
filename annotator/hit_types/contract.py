"""``HitType``: what a type may define besides its declarations, and what is built on that for all types alike."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Self

from annotator.hit_types.arms import ArmTexts, control_payload
from annotator.hit_types.columns import ROLES
from annotator.hit_types.declared import DeclaredParts
from annotator.hit_types.formats import read_formats
from annotator.hit_types.images import images_as_markers, images_in_words
from annotator.hit_types.instructions import Example, Text, for_variant, instruction_parts
from annotator.hit_types.making import ItemSource, MadeFrom
from annotator.hit_types.prompting import prompt_part, render_prompt
from annotator.hit_types.reading import Row, is_blank, parse_fields, stable_key
from annotator.hit_types.shapes import (
    JSON,
    ChatMessage,
    Defaults,
    Demo,
    Field,
    FieldErrors,
    Grade,
    ItemDraft,
    Material,
    Question,
    Stage,
    answers_in_words,
)
from annotator.hit_types.wording import Translate


class HitType(DeclaredParts):
    """Base of all HIT types; the registry finds one subclass in each folder's ``hit_type.py``.

    A subclass declares its ``columns`` (what a row contains), ``declared_stages`` (what is shown and asked) and
    ``variables`` (what is measured); items, stages, ratings and replies are made from these. It overrides a method where
    its items need more than a declaration can say. ``presentation`` is what ``present`` drew for one rater (an order, an
    arm); it is ``None`` or ``{}`` if nothing was drawn.
    """

    name: ClassVar[str]
    #: Raised where the meaning of answers changes; the digest of its file, if the type is declared in one.
    version: ClassVar[int | str] = 1
    title: ClassVar[str]
    #: The name that annotators see for one piece of work; never "HIT".
    task_title: ClassVar[str]
    source: ClassVar[str]
    #: The question that a researcher can answer with a study of this type, and in one sentence what people do in it.
    asks: ClassVar[str] = "Something else"
    people: ClassVar[str] = ""
    defaults: ClassVar[Defaults] = Defaults()
    demo: ClassVar[Demo] = Demo()
    #: Rows of an import file to try the type with, if it has no material in the demo.
    samples: ClassVar[tuple[JSON, ...]] = ()
    #: The variable on which the study's headline agreement is computed.
    headline: ClassVar[str]
    #: What a study of this type measures: report sections and recipes ask for these names, never for a type's.
    measures: ClassVar[frozenset[str]] = frozenset()
    #: Kinds of items with their own instructions, practice and exam (such as four groups of properties).
    variants: ClassVar[tuple[str, ...]] = ()
    #: The payload key that says which parts of the type an item asks, if the instructions depend on it.
    part_field: ClassVar[str] = ""
    #: The payload's key for a rule that all items of a study follow, on which its texts and questions depend.
    rule_field: ClassVar[str] = ""
    #: Labels of this type are collected elsewhere and imported, so it has no instructions, practice, exam or prompt.
    external: ClassVar[bool] = False
    #: Whether ``to_ratings`` reads the item: a type's own does unless it says False here. If not, each distinct response is
    #: converted only once.
    ratings_need_item: ClassVar[bool] = False
    #: The largest number of stages that an item has for one rater: an upper bound for the calls of a simulator.
    most_stages: ClassVar[int] = 1
    #: What pipelines make an item from; empty where items come from files only.
    made_from: ClassVar[MadeFrom] = ""
    #: The control arms that a study of this type may have, and what an item of the arm has instead of a key of the payload;
    #: None: it lacks the key. Their texts are in the folder ``arms``.
    control_arms: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    #: The condition of a control arm's items where it isn't the arm's name, added to the condition of the item it's made from.
    control_conditions: ClassVar[Mapping[str, str]] = {}

    # -- what is made from what it declares -----------------------------------------------------------

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "to_ratings" in vars(cls) and "ratings_need_item" not in vars(cls):
            cls.ratings_need_item = True

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        """Check one import row and return the item; raises ``FieldErrors`` keyed by column."""
        read = Row(row)
        return self.draft(read, *self.read_item(read))

    # -- what a type may define besides ---------------------------------------------------------------

    def demonstrated(
        self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> JSON | None:
        """A reply that the prompt demonstrates, as a response to as many things as the demonstration is about.

        Only types that ask about a varying number of things need it; None for others, whose ``parse_reply`` reads
        demonstrations too. Raises ``Unparsable``.
        """
        return None

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item that a pipeline makes from ``made_from``; None if the material lacks something."""
        raise NotImplementedError

    def for_item(self, payload: JSON) -> HitType:
        """The type as a study with this item uses it.

        If the type has variants, with the instructions, practice and exam of the item's variant. Types whose
        items declare their own variables set them here too.
        """
        variant = self.variant(payload)
        if not variant:
            return self
        return self._of_variants({variant}).replaced(instructions=for_variant(self.instructions, variant))

    def variant_of_pool(self, pool: str) -> str:
        """The variant whose items a pool of questions is for: ``support`` and ``support/no no`` are both for *support*.

        Empty if the pool belongs to all variants.
        """
        variant = pool.partition("/")[0]
        return variant if variant in self.variants else ""

    def _of_variants(self, variants: set[str]) -> Self:
        """With the exam and practice questions of these variants' pools, and with those that belong to all variants."""
        kept = {"", *variants}
        return self.replaced(
            exam=tuple(q for q in self.exam if self.variant_of_pool(q.pool) in kept),
            practice=tuple(q for q in self.practice if self.variant_of_pool(q.pool) in kept),
        )

    def replaced(self, **attributes: Any) -> Self:
        """A copy of the type with other values of these attributes; a name that it lacks is a ``TypeError``."""
        own = copy(self)
        own.__dict__.pop("_reader", None)
        for name, value in attributes.items():
            if not hasattr(type(self), name):
                raise TypeError(f"{self.name}: a HIT type has no attribute {name!r}")
            setattr(own, name, value)
        return own

    def control(self, payload: JSON, arm: str) -> JSON:
        """The payload of the same item in a control arm."""
        return control_payload(payload, arm, self.control_arms[arm])

    def with_arms(self, arms: Iterable[str]) -> HitType:
        """The type as a study with these control arms uses it: with their instructions, practice, exam and prompts.

        The arms' exam questions come first: if not all pools can be asked equally often, the first ones are asked more often.
        """
        texts = {arm: ArmTexts(self.folder / "arms" / arm) for arm in self.control_arms if arm in set(arms)}
        if not texts:
            return self
        instructions = [self.instructions, *(one.instructions for one in texts.values())]
        prompts = {arm: one.prompt for arm, one in texts.items() if one.prompt}
        if prompts:
            prompts = {self.declared_stages[0].name: self.prompt_text, **prompts}
        return self.replaced(
            instructions="\n".join(text for text in instructions if text),
            practice=(*self.practice, *(question for one in texts.values() for question in one.practice)),
            exam=(*(question for one in texts.values() for question in one.exam), *self.exam),
            defaults=self.defaults.with_arms(one.exam for one in texts.values()),
            prompt_text="\n".join(f"# {name}\n{text}" for name, text in prompts.items()) or self.prompt_text,
        )

    def sections(self, payload: JSON, gold: JSON | None = None) -> tuple[str, ...]:
        """The names that ``only`` blocks of the instructions use for an item, or for a question with this gold.

        An item's ``payload`` has the values of ``variant_field``, ``part_field`` and ``rule_field`` and need not have others.
        """
        return (self.variant(payload),) if self.variant_field else ()

    def for_items(self, payloads: Iterable[JSON], *, exam: bool = True, practice: bool = True) -> HitType:
        """The type as a study with items like these uses it.

        It has the exam and practice questions of the items' variants, and instructions for what the items and these
        questions ask. ``exam`` and ``practice`` say whether the study uses the type's own. Without items, it has all.
        """
        items = list(payloads)
        if not items:
            return self
        own = self
        if self.variant_field:
            own = self._of_variants({self.variant(payload) for payload in items})
        questions = [*(own.exam if exam else ()), *(own.practice if practice else ())]
        names = {name for payload in items for name in self.sections(payload)}
        names |= {name for asked in questions for name in self.sections(asked.payload, asked.gold)}
        return own.replaced(instructions=for_variant(self.instructions, *sorted(names)))

    def present(self, payload: JSON, rng: Random) -> JSON:
        """What is drawn for one rater and stored with the assignment (an order, an arm); ``{}`` for most types.

        If an item has several ``arms``, the drawn one is under ``arm``. For people, the study's allocation chooses
        the arm so that the arms stay balanced.
        """
        return {}

    def arms(self, payload: JSON) -> int:
        """The number of arms among which the raters of an item are divided; 1 if all get the same."""
        return 1

    def expected(self, variant: str) -> JSON:
        """The payload values that are known for a study of this variant before it has items."""
        return {self.variant_field: variant}

    def variant_fault(self, payload: JSON, wanted: str) -> str:
        """Why a study that takes only the variant ``wanted`` refuses an item; empty if it accepts it, or takes any variant."""
        if not wanted or self.variant(payload) == wanted:
            return ""
        return f"is {self.variant(payload)!r}; this study takes {wanted!r} only"

    def every_stage(self, payload: JSON) -> tuple[Stage, ...]:
        """All stages that any rater of an item may get, for types whose raters get different ones (arms)."""
        return self.stages(payload)

    def units(self, payload: JSON) -> tuple[str, ...]:
        """Unit suffixes of an item, in order; ``("",)`` if the item itself is the unit."""
        return ("",)

    def parse_response(
        self, payload: JSON, raw: Mapping[str, Any], stage: int = 0, presentation: JSON | None = None
    ) -> JSON:
        """Check the values sent for one stage and keep only that stage's fields; raises ``FieldErrors``."""
        return parse_fields(self.fields_asked(payload, stage, presentation), raw)

    def fields_asked(self, payload: JSON, stage: int, presentation: JSON | None = None) -> tuple[Field, ...]:
        """The fields of a stage. A type that can make them without the stage's blocks saves that for each answer."""
        return self.stages(payload, presentation)[stage].fields

    def parse_whole(self, payload: JSON, raw: Mapping[str, Any], presentation: JSON | None = None) -> JSON:
        """Check a complete response, all stages at once (imports, exams); raises ``FieldErrors``."""
        response: JSON = {}
        errors: dict[str, str] = {}
        for number in range(len(self.stage_names(payload, presentation))):
            try:
                response |= self.parse_response(payload, raw, number, presentation)
            except FieldErrors as error:
                errors |= error.errors
        if errors:
            raise FieldErrors(errors)
        return response

    def parse_gold(self, payload: JSON, raw: Any) -> JSON:
        """Check a correct response; fields that it leaves out are not graded.

        Raises ``FieldErrors`` keyed by field: an unknown field, a field that is not asked given the others (an
        answer after "not helpful"), or a value that is not offered.
        """
        if not isinstance(raw, Mapping) or not raw:
            raise FieldErrors({"gold": "expected a JSON object {field: correct value}"})
        gold: JSON = {}
        errors: dict[str, str] = {}
        for stage in self.every_stage(payload):
            named = [asked for asked in stage.fields if asked.name in raw]
            try:
                gold |= parse_fields(named, raw)
            except FieldErrors as error:
                errors |= error.errors
        for name in raw:
            if name not in gold:
                errors.setdefault(str(name), "is not asked here")
        if errors:
            raise FieldErrors(errors)
        return gold

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """Compare a response with gold, field by field; fields that gold does not name are not graded."""
        right = {name: response.get(name) == value for name, value in gold.items()}
        return Grade(score=sum(right.values()) / len(right) if right else 0.0, right=right)

    def question_stage(self, payload: JSON, gold: JSON) -> Stage:
        """A practice or exam question, or a worked example, on one page: the stages that gold grades, merged.

        Stages are shown complete, so that the choice of fields does not give the answer away.
        """
        stages = [stage for _, stage in self._graded(payload, gold)]
        fields = tuple(asked for stage in stages for asked in stage.fields)
        blocks = {block.name: block for stage in stages for block in stage.blocks}
        return Stage(stages[-1].name, stages[-1].title, tuple(blocks.values()), fields, stages[-1].lead)

    def parse_question(self, payload: JSON, gold: JSON, raw: Mapping[str, Any]) -> JSON:
        """Check the answer to a practice or exam question; raises ``FieldErrors``."""
        response: JSON = {}
        for number, _ in self._graded(payload, gold):
            response |= self.parse_response(payload, raw, number)
        return response

    def _graded(self, payload: JSON, gold: JSON) -> list[tuple[int, Stage]]:
        stages = list(enumerate(self.stages(payload)))
        graded = [(n, stage) for n, stage in stages if any(asked.name in gold for asked in stage.fields)]
        return graded or stages

    def describe(
        self,
        payload: JSON,
        response: JSON,
        presentation: JSON | None = None,
        translate: Translate = str,
    ) -> list[tuple[str, str]]:
        """The response as people read it: (question, answer) pairs in the order asked.

        A field about one of several blocks starts with the block's label: "Explanation 2: ...". ``translate`` puts the
        type's own texts into another language; by default they are English.
        """
        stages = self.stages(payload, presentation) if presentation else self.every_stage(payload)
        return answers_in_words(stages, response, translate)

    def prompt(
        self,
        payload: JSON,
        stage: int = 0,
        before: JSON | None = None,
        presentation: JSON | None = None,
        text: str | None = None,
        images: bool = False,
    ) -> list[ChatMessage]:
        """The same question for a model, from ``prompt.md`` or ``text``; ``before`` holds the answers to earlier stages.

        An image is described by its alternative text, and the prompt says so. With ``images`` there is a marker for each
        image instead, for a model that is sent the images themselves.
        """
        name = self.stages(payload, presentation)[stage].name
        shown = images_as_markers(payload) if images else images_in_words(payload)
        values = self.prompt_values(shown, stage, before or {}, presentation)
        return render_prompt(prompt_part(text or self.prompt_text, name), values)

    def draft(self, row: Row, payload: JSON, material: Material) -> ItemDraft:
        """Finish ``parse_item``: formats, key, gold, role and condition; raises all errors of the row at once.

        Without a ``key``, one is made from the item's content, system and condition, so importing a file twice
        finds the same items.
        """
        read_formats(row, payload, self._reader.texts)
        role = row.label("role", ROLES, required=False) or "ordinary"
        condition = row.text("condition", required=False, limit=100)
        key = row.text("key", required=False, limit=200)
        gold = None
        raw_gold = row.json("gold")
        if not is_blank(raw_gold) and not row.errors:
            try:
                gold = self.parse_gold(payload, raw_gold)
            except FieldErrors as error:
                row.errors["gold"] = str(error).removeprefix("gold: ")
        if role != "ordinary" and gold is None:
            row.errors.setdefault("gold", f"is missing; an item with role {role} needs its correct response")
        row.check()
        content = json.dumps(payload, sort_keys=True, ensure_ascii=False)
        origin = (material.system, material.generator, material.kind, condition)
        return ItemDraft(
            key=key or stable_key(self.name, content, *origin),
            payload=payload,
            material=material,
            gold=gold,
            condition=condition,
            role=role,
        )

    # -- the files of the folder ------------------------------------------------------------------

    @cached_property
    def folder(self) -> Path:
        """The folder of the type's module: its texts and questions are there."""
        return Path(sys.modules[type(self).__module__].__file__ or "").parent

    @cached_property
    def instructions(self) -> str:
        """The instructions as Markdown, all variants together."""
        return (self.folder / "instructions.md").read_text(encoding="utf-8")

    def read_instructions(self, markdown: str = "", variant: str = "") -> list[Text | Example]:
        """Instructions (by default the type's own) as text and checked worked examples.

        Raises ``ValueError`` if an example cannot be shown; the form for a study's own instructions shows it.
        """
        parts = instruction_parts(for_variant(markdown or self.instructions, variant))
        for number, part in enumerate((p for p in parts if isinstance(p, Example)), 1):
            try:
                self.parse_gold(part.payload, part.response)
                blocks = [block for stage in self.every_stage(part.payload) for block in stage.blocks]
                if not all(isinstance(text, str) for block in blocks for text in (block.text, *block.items)):
                    raise ValueError("its payload contains a value that is not text")
            except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
                raise ValueError(f"worked example {number}: {error!s}") from error
        return parts

    @cached_property
    def prompt_text(self) -> str:
        return (self.folder / "prompt.md").read_text(encoding="utf-8")

    @cached_property
    def exam(self) -> tuple[Question, ...]:
        return self._questions("exam.json")

    @cached_property
    def practice(self) -> tuple[Question, ...]:
        return self._questions("practice.json")

    def _questions(self, filename: str) -> tuple[Question, ...]:
        raw = json.loads((self.folder / filename).read_text(encoding="utf-8"))
        return tuple(Question(**question) for question in raw)
