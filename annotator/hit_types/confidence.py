"""How sure raters are: a question that any study can add to each stage of its HIT type, after the stage's own questions.

People answer it on the same page, models in one more line of their reply. The answer is a field of the stage, so a stage
that is committed keeps its own. It is no part of what raters agree on: practice, exam, gold and the digest of an answer are
those of the type without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, Literal, cast

from annotator.hit_types.contract import HitType
from annotator.hit_types.replies import read_object
from annotator.hit_types.shapes import (
    JSON,
    ChatMessage,
    Field,
    FieldErrors,
    Option,
    Question,
    Rating,
    Stage,
    Variable,
)
from annotator.hit_types.wording import translatable as _

#: The variable, and the field of types with one stage; the others have one field for each stage, with its name after it.
CONFIDENCE = "confidence"
Scale = Literal["", "steps", "percent"]
#: The named steps in their order, with the number that stands for each in scores of calibration.
STEPS = {"not_at_all": 0.0, "slightly": 0.25, "moderately": 0.5, "very": 0.75, "completely": 1.0}
_STEP_LABELS = {
    "not_at_all": _("Not at all sure"),
    "slightly": _("Slightly sure"),
    "moderately": _("Moderately sure"),
    "very": _("Very sure"),
    "completely": _("Completely sure"),
}
#: The keys of 0 %, 10 %, ..., 90 % and 100 %.
_PERCENT_KEYS = "0123456789H"
_OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "steps": tuple(Option(value, _STEP_LABELS[value]) for value in STEPS),
    "percent": tuple(Option(str(number), f"{number} %") for number in range(0, 101, 10)),
}
_ONE, _SEVERAL = _("How sure are you?"), _("How sure are you of your answers on this page?")
_CHANCE = _("How likely is it, in your view, that your answer is right?")
_CHANCES = _("How likely is it, in your view, that your answers are right?")
#: The last sentences of the prompt of a simulator.
_ASKED = {
    "steps": "Also say how sure you are of your answer. Add one more line at the end of your reply: CONFIDENCE: followed by one of"
    " NOT AT ALL SURE, SLIGHTLY SURE, MODERATELY SURE, VERY SURE, COMPLETELY SURE.",
    "percent": "Also say how likely it is, in your view, that your answer is right. Add one more line at the end of your reply:"
    " CONFIDENCE: followed by a number from 0 (certainly wrong) to 100 (certainly right).",
}
_EXPECTED = {
    "steps": f"expected one of: {', '.join(STEPS)}",
    "percent": "expected a number from 0 to 100, such as 85 or 85%",
}
#: Every repetition is bounded, or consumes what it has matched: replies can be long, and made to be slow to search.
_SAID = re.compile(
    r"\bconfidence\b[ \t*_`]{0,20}(?:\([^)\n]{0,80}\))?[ \t*_`]{0,20}[:=][ \t*_`]{0,20}((?:(?!\banswer[ \t*_`]{0,20}[:=])[^\n])*)",
    re.IGNORECASE,
)
#: What may stand between an answer and the word.
_BETWEEN = " \t,;|([*_`>#-"
#: What is said in more characters than this is no step and no number.
_LONGEST = 60
_NUMBER = re.compile(
    r"(?:about|around|roughly|approximately|~|≈)?\s*(\d+(?:[.,]\d+)?)\s*(%|٪|percent|per cent)?"
    r"(?:\s*(?:/|out of)\s*(\d+)\s*%?)?(?:\s+(?:sure|certain|confident))?"
)
_STEP = re.compile(r"(?:([1-5])(?:\s*/\s*5)?)?[\s.:(]*([a-z ]*?)\s*(?:sure|certain|confident)?\)?")


def is_confidence(name: str) -> bool:
    """Whether a field of a response says how sure the rater is, in a study that asks it.

    >>> is_confidence("confidence_before"), is_confidence("before")
    (True, False)
    """
    return name == CONFIDENCE or name.startswith(f"{CONFIDENCE}_")


def read_confidence(value: Any, scale: Scale) -> str | None:
    """How sure somebody says they are, as it is stored: a step, or a whole number from 0 to 100 as text; None if it can't be read.

    >>> read_confidence("90%", "percent"), read_confidence(0.9, "percent"), read_confidence("fairly sure", "percent")
    ('90', '90', None)
    >>> read_confidence("Very sure", "steps"), read_confidence("4/5", "steps"), read_confidence("90", "steps")
    ('very', 'very', None)
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float) or len(str(value)) > _LONGEST:
        return None
    text = str(value).strip().strip("*_`\"'.!").strip().lower()
    return _step(text) if scale == "steps" else _percent(text)


def _percent(text: str) -> str | None:
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    written, sign, whole = found.groups()
    number = float(written.replace(",", "."))
    if whole is not None:
        if int(whole) not in (1, 10, 100):
            return None
        number *= 100 / int(whole)
    elif not sign and number <= 1 and re.search(r"[.,]", written):
        number *= 100
    return str(round(number)) if number <= 100 else None


def _step(text: str) -> str | None:
    found = _STEP.fullmatch(text.replace("_", " ").replace("-", " "))
    if found is None:
        return None
    number, words = found.group(1), found.group(2).strip().replace(" ", "_")
    named = words if words in STEPS else None
    if number is None:
        return named
    counted = list(STEPS)[int(number) - 1]
    return counted if words in ("", counted) else None


def confidence_said(text: str) -> tuple[str, str]:
    """A model's reply without what it says about its confidence, and that; empty if it says nothing.

    >>> confidence_said("It helps.\\nANSWER: YES\\nCONFIDENCE: 90%")
    ('It helps.\\nANSWER: YES\\n', '90%')
    """
    if text.lstrip().startswith(("{", "```")) and (held := read_object(text)):
        return text, next((str(value) for name, value in held.items() if is_confidence(name.lower())), "")
    found = list(_SAID.finditer(text))
    if not found:
        return text, ""
    last = found[-1]
    return text[: last.start()].rstrip(_BETWEEN) + text[last.end() :], last.group(1).rstrip(" \t*_`)]")


def confidence_variable(scale: Scale) -> Variable:
    """The variable of the ratings table. Steps are ordinal, and percentages interval; ``scores`` has their numbers from 0 to 1."""
    if scale == "steps":
        return Variable(CONFIDENCE, "How sure the rater is", "ordinal", tuple(STEPS), scores=STEPS)
    numbers = {str(number): number / 100 for number in range(101)}
    return Variable(CONFIDENCE, "How sure the rater is, %", "interval", tuple(numbers), scores=numbers)


def with_confidence(kind: HitType, scale: Scale) -> HitType:
    """The type as a study uses it that asks how sure raters are; the type itself if the study doesn't ask, or if the labels are
    collected elsewhere."""
    if not scale or kind.external:
        return kind
    own = object.__new__(_class_of(type(kind)))  # type: ignore[arg-type]
    vars(own).update(vars(kind), confidence=scale)
    if "variables" in vars(kind):  # those of an item or a variant
        vars(own)["variables"] = (*kind.variables, confidence_variable(scale))
    return own


def without_confidence(kind: HitType) -> HitType:
    """The type without this question, for what is graded: practice, exam and gold."""
    return kind.plain if isinstance(kind, AsksConfidence) else kind


def answer_variables(kind: HitType) -> tuple[Variable, ...]:
    """The variables of a type's own questions, without how sure raters are."""
    if not isinstance(kind, AsksConfidence):
        return kind.variables
    return tuple(one for one in kind.variables if one.name != CONFIDENCE)


def answer_of(kind: HitType, response: JSON) -> JSON:
    """A response without how sure the rater is: what raters agree or disagree on."""
    if not isinstance(kind, AsksConfidence):
        return response
    return {name: value for name, value in response.items() if not is_confidence(name)}


def confidence_fields(kind: HitType, payload: JSON) -> frozenset[str]:
    """The fields of an item's stages that ask how sure the rater is; none if the study doesn't ask."""
    if not isinstance(kind, AsksConfidence):
        return frozenset()
    return frozenset(stage.fields[-1].name for stage in kind.every_stage(payload))


def parse_model_response(
    kind: HitType, payload: JSON, raw: Mapping[str, Any], stage: int = 0, presentation: JSON | None = None
) -> JSON:
    """``parse_response`` for a model's reply: a confidence that is missing or can't be read is left out, and the answer is kept."""
    if not isinstance(kind, AsksConfidence):
        return kind.parse_response(payload, raw, stage, presentation)
    response = kind.plain.parse_response(payload, raw, stage, presentation)
    asked = kind.confidence_of(payload, stage, presentation)
    said = read_confidence(raw.get(asked.name), kind.confidence) if _applies(asked, response) else None
    return response if said is None else response | {asked.name: said}


def middle_confidence(kind: HitType, response: JSON, samples: Sequence[JSON]) -> JSON:
    """How sure the samples that gave this response are: the lower median of each confidence; none where no sample gives one."""
    if not isinstance(kind, AsksConfidence):
        return {}
    order = confidence_variable(kind.confidence).labels
    agreeing = [one for one in samples if answer_of(kind, one) == response]
    names = {name for one in agreeing for name in one if is_confidence(name)}
    found = {name: sorted((one[name] for one in agreeing if name in one), key=order.index) for name in names}
    return {name: given[(len(given) - 1) // 2] for name, given in found.items()}


@lru_cache(maxsize=200)
def _class_of(kind: type[HitType]) -> type[AsksConfidence]:
    declared = (vars(one).get("variables") for one in kind.__mro__)
    own = {
        "__module__": kind.__module__,
        "plain_type": kind,
        "declared_variables": next((found for found in declared if isinstance(found, tuple)), ()),
        "ratings_need_item": kind.ratings_need_item,
    }
    return cast("type[AsksConfidence]", type(kind.__name__, (AsksConfidence, kind), own))


def _applies(asked: Field, response: JSON) -> bool:
    return asked.applies(response)


class AsksConfidence(HitType):
    """Goes before a type's class: the type with the question at the end of each stage."""

    confidence: Scale
    plain_type: type[HitType]
    #: The type's own variables; those of a study's kind are read from its items, which costs a query.
    declared_variables: tuple[Variable, ...]

    @property
    def plain(self) -> HitType:
        """The type without the question."""
        own = object.__new__(self.plain_type)
        vars(own).update({name: value for name, value in vars(self).items() if name != "confidence"})
        if "variables" in vars(self):
            vars(own)["variables"] = tuple(one for one in self.variables if one.name != CONFIDENCE)
        return own

    @cached_property
    def variables(self) -> tuple[Variable, ...]:  # type: ignore[override]
        return (*super().variables, confidence_variable(self.confidence))

    def for_item(self, payload: JSON) -> HitType:
        return with_confidence(self.plain.for_item(payload), self.confidence)

    def for_items(self, payloads: Iterable[JSON], *, exam: bool = True, practice: bool = True) -> HitType:
        own = self.plain.for_items(payloads, exam=exam, practice=practice)
        return with_confidence(own, self.confidence)

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        return tuple(map(self._asking, super().stages(payload, presentation)))

    def every_stage(self, payload: JSON) -> tuple[Stage, ...]:
        return tuple(map(self._asking, self.plain.every_stage(payload)))

    def fields_asked(self, payload: JSON, stage: int, presentation: JSON | None = None) -> tuple[Field, ...]:
        return self.stages(payload, presentation)[stage].fields

    def confidence_of(self, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> Field:
        """The question at the end of a stage."""
        return self.stages(payload, presentation)[stage].fields[-1]

    def _asking(self, stage: Stage) -> Stage:
        several = sum(asked.kind != "text" for asked in stage.fields if not asked.conditional) > 1
        help_text = _CHANCES if several else _CHANCE
        asked = Field(
            CONFIDENCE if self.most_stages == 1 else f"{CONFIDENCE}_{stage.name}",
            _SEVERAL if several else _ONE,
            options=_OPTIONS[self.confidence],
            help=help_text if self.confidence == "percent" else "",
            when=self._when(stage),
            keys=_PERCENT_KEYS if self.confidence == "percent" else "",
            scale=True,
        )
        return replace(stage, fields=(*stage.fields, asked))

    def _when(self, stage: Stage) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Where somebody can say that they can't tell, they are asked only after another answer."""
        fields = {asked.name: asked for asked in stage.fields}
        for variable in self.declared_variables:
            asked = fields.get(variable.field or variable.name)
            if variable.abstain and asked is not None:
                values = tuple(one.value for one in asked.options if one.value not in variable.abstain)
                return ((asked.name, values),)
        return ()

    # -- checked without the question ----------------------------------------------------------------

    def parse_whole(self, payload: JSON, raw: Mapping[str, Any], presentation: JSON | None = None) -> JSON:
        """A complete response; one that was collected without confidence has none."""
        errors: dict[str, str] = {}
        response: JSON = {}
        try:
            response = self.plain.parse_whole(payload, raw, presentation)
        except FieldErrors as error:
            errors |= error.errors
        for asked in (stage.fields[-1] for stage in self.stages(payload, presentation)):
            value = raw.get(asked.name)
            if value is None or not str(value).strip() or not (errors or _applies(asked, response)):
                continue
            said = read_confidence(value, self.confidence)
            if said is None:
                errors[asked.name] = _EXPECTED[self.confidence]
            response[asked.name] = said
        if errors:
            raise FieldErrors(errors)
        return response

    def parse_gold(self, payload: JSON, raw: Any) -> JSON:
        return self.plain.parse_gold(payload, raw)

    def question_stage(self, payload: JSON, gold: JSON) -> Stage:
        return self.plain.question_stage(payload, gold)

    def parse_question(self, payload: JSON, gold: JSON, raw: Mapping[str, Any]) -> JSON:
        return self.plain.parse_question(payload, gold, raw)

    def _questions(self, filename: str) -> tuple[Question, ...]:
        return self.plain._questions(filename)

    # -- ratings and models --------------------------------------------------------------------------

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """The type's own ratings, and one of ``confidence`` for each stage that has it; the unit is the stage's name, if there
        can be several."""
        said = [
            Rating(CONFIDENCE, str(value), name[len(CONFIDENCE) + 1 :])
            for name, value in response.items()
            if is_confidence(name)
        ]
        return [*super().to_ratings(payload, answer_of(self, response)), *said]

    def prompt(
        self,
        payload: JSON,
        stage: int = 0,
        before: JSON | None = None,
        presentation: JSON | None = None,
        text: str | None = None,
        images: bool = False,
    ) -> list[ChatMessage]:
        """The type's own prompt, and at its end how to say how sure the model is."""
        known = answer_of(self, before or {})
        *earlier, last = self.plain.prompt(payload, stage, known, presentation, text, images)
        return [*earlier, ChatMessage(last.role, f"{last.content}\n\n{_ASKED[self.confidence]}")]

    def demonstrated(
        self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> JSON | None:
        return self.plain.demonstrated(text, payload, stage, presentation)

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """The answer, and what the reply says after ``CONFIDENCE:``, as it is written; see ``parse_model_response``."""
        rest, said = confidence_said(text)
        raw = self.plain.parse_reply(rest, payload, stage, presentation)
        name = self.confidence_of(payload, stage, presentation).name
        return raw | {name: said} if said else raw

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        own = self.plain.write_reply(payload, answer_of(self, response), stage, presentation)
        said = response.get(self.confidence_of(payload, stage, presentation).name)
        return f"{own}\nCONFIDENCE: {said}" if said else own
