"""The contract that every HIT type keeps.

A HIT type says what is shown, what is asked, how a response is checked, graded and turned into
ratings, and how the same question is put to a language model. It is pure: it imports neither Django
nor Celery, and it never touches the database. Everything that differs between types is behind this
contract; everything else in the product treats all types alike.

One item is a *payload*: a JSON object holding everything that some stage may show. A HIT has one or
more *stages*, answered in order; what a stage shows leaves the server only when the stage before it is
committed. A response is a JSON object ``{field name: value}`` over the fields of all its stages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from string import Template
from typing import Any, ClassVar, Literal

Level = Literal["nominal", "ordinal", "interval", "ratio"]
JSON = dict[str, Any]

MAX_TEXT = 20_000


class FieldErrors(ValueError):
    """Input that breaks a type's schema: one message for each field, keyed by the field's name.

    >>> raise FieldErrors({"answer": "choose one of: yes, no"})
    Traceback (most recent call last):
    ...
    annotator.hit_types.base.FieldErrors: answer: choose one of: yes, no
    """

    def __init__(self, errors: Mapping[str, str]):
        self.errors = dict(errors)
        super().__init__("; ".join(f"{name}: {message}" for name, message in self.errors.items()))


class Unparsable(ValueError):
    """A model's reply that gives no response; ``kind`` is 'refusal', 'cut_off', 'ambiguous' or 'no_answer'."""

    def __init__(self, message: str, *, kind: str = "no_answer"):
        self.kind = kind
        super().__init__(message)


@dataclass(frozen=True)
class Variable:
    """A measured variable of the ratings table.

    ``labels`` are in their order when the level is ordinal; empty when each item brings its own labels.
    ``abstain`` are labels that make no statement about the outcome ("cannot guess"). ``scores`` maps a
    label to a number where a metric needs one (plausibility: yes 1, moderate 0.5, no 0).
    """

    name: str
    title: str
    level: Level = "nominal"
    labels: tuple[str, ...] = ()
    abstain: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Option:
    """One choice of a field. ``label`` is short; ``detail`` is the long wording that opens above it."""

    value: str
    label: str
    detail: str = ""


@dataclass(frozen=True)
class Field:
    """One thing that is asked.

    ``when`` lists ``(other field, values)``: the field counts only if every other field holds one of the
    values; otherwise whatever was sent for it is dropped. ``target`` names the block that it is about.
    """

    name: str
    label: str
    kind: Literal["choice", "multi", "text"] = "choice"
    options: tuple[Option, ...] = ()
    required: bool = True
    help: str = ""
    when: tuple[tuple[str, tuple[str, ...]], ...] = ()
    target: str = ""
    max_length: int = 2_000


@dataclass(frozen=True)
class Block:
    """One labelled piece of material. ``label`` says who speaks; ``text`` is shown as text, never as HTML."""

    name: str
    label: str
    text: str = ""
    items: tuple[str, ...] = ()
    kind: Literal["text", "answer", "list"] = "text"
    group: str = ""


@dataclass(frozen=True)
class Stage:
    """What is shown and asked at one time. ``blocks`` holds everything visible now, earlier stages' too."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    fields: tuple[Field, ...]
    lead: str = ""


@dataclass(frozen=True)
class Column:
    """A column of an import file: JSON lines key or CSV header."""

    name: str
    help: str
    required: bool = True
    kind: Literal["text", "label", "list", "json"] = "text"
    example: Any = ""


@dataclass(frozen=True)
class Material:
    """The research material behind an item, as the database keeps it. Empty means: not known.

    ``real_output`` is what the system really said on the follow-up; it is never sent to an annotator.
    """

    instance_key: str
    instance_input: str
    gold_label: str = ""
    gold_rationale: str = ""
    system: str = ""
    model: str = ""
    method: str = ""
    explanation: str = ""
    output: str = ""
    follow_up: str = ""
    generator: str = ""
    kind: str = ""
    real_output: str = ""
    #: Further explanations of the instance (plausibility shows several): unit suffix -> (system, explanation).
    parts: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class ItemDraft:
    """A parsed row of an import file, before it is a row of the database."""

    key: str
    payload: JSON
    material: Material
    gold: JSON | None = None
    condition: str = ""


@dataclass(frozen=True)
class Rating:
    """One value of one variable. ``unit`` is a suffix within the item, empty where the item is the unit."""

    variable: str
    value: str
    unit: str = ""


@dataclass(frozen=True)
class Grade:
    """A response held against gold: ``score`` in [0, 1] over the graded fields, and each field's verdict."""

    score: float
    right: Mapping[str, bool]

    @property
    def passed(self) -> bool:
        return bool(self.right) and all(self.right.values())


@dataclass(frozen=True)
class Question:
    """A practice or exam question: an item with its right response and the reason for it."""

    key: str
    payload: JSON
    gold: JSON
    reason: str
    pool: str = ""


@dataclass(frozen=True)
class Defaults:
    """What a new study of this type starts with; the numbers are the paper's where it gives them."""

    redundancy: int = 3
    exam_questions: int = 0
    pass_mark: int = 0
    minutes_per_item: float = 1.0
    min_seconds: float = 5.0
    follow_ups: int = 0


@dataclass(frozen=True)
class Message:
    """One message of a chat prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class HitType:
    """Base of all HIT types; the registry finds one subclass in each folder's ``hit_type.py``.

    A subclass gives the class attributes and ``parse_item``, ``stages``, ``to_ratings`` and
    ``parse_reply``; the rest works from those.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    title: ClassVar[str]
    #: What annotators call one piece of work; never "HIT".
    task_title: ClassVar[str]
    source: ClassVar[str]
    variables: ClassVar[tuple[Variable, ...]]
    columns: ClassVar[tuple[Column, ...]]
    defaults: ClassVar[Defaults] = Defaults()
    #: The variable that the study's headline agreement is computed on.
    headline: ClassVar[str]
    folder: ClassVar[Path]

    # -- what each type must say ------------------------------------------------------------------

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        """Check one import row and return the item; raises ``FieldErrors`` keyed by column."""
        raise NotImplementedError

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """All stages of an item in order. The caller sends only those that may be seen."""
        raise NotImplementedError

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """The rows of the ratings table that a whole, parsed response stands for."""
        raise NotImplementedError

    def parse_reply(self, text: str, payload: JSON, stage: int = 0) -> JSON:
        """A model's reply to ``prompt`` as a raw response of that stage; raises ``Unparsable``, never guesses."""
        raise NotImplementedError

    # -- what follows from it ---------------------------------------------------------------------

    def present(self, payload: JSON, rng: Random) -> JSON:
        """What is drawn for one rater and stored with the assignment (an order, an arm); ``{}`` for most."""
        return {}

    def units(self, payload: JSON) -> tuple[str, ...]:
        """Unit suffixes of an item, in order; ``("",)`` where the item itself is the unit."""
        return ("",)

    def parse_response(self, payload: JSON, raw: Mapping[str, Any], stage: int = 0) -> JSON:
        """Check what was sent for one stage; keeps the stage's fields only; raises ``FieldErrors``."""
        return parse_fields(self.stages(payload)[stage].fields, raw)

    def parse_whole(self, payload: JSON, raw: Mapping[str, Any]) -> JSON:
        """Check a whole response, all stages at once (imports, simulators)."""
        response: JSON = {}
        for number in range(len(self.stages(payload))):
            response |= self.parse_response(payload, raw, number)
        return response

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """Hold a response against gold, field by field; fields that gold does not name are not graded."""
        right = {name: response.get(name) == value for name, value in gold.items()}
        return Grade(score=sum(right.values()) / len(right) if right else 0.0, right=right)

    def describe(self, payload: JSON, response: JSON) -> list[tuple[str, str]]:
        """The response in words, for people: (question, answer) in the order asked."""
        lines = []
        for stage in self.stages(payload):
            for asked in stage.fields:
                if asked.name in response:
                    value = response[asked.name]
                    values = value if isinstance(value, list) else [value]
                    names = {option.value: option.label for option in asked.options}
                    lines.append((asked.label, ", ".join(names.get(str(v), str(v)) for v in values)))
        return lines

    def prompt(self, payload: JSON, stage: int = 0, before: JSON | None = None) -> list[Message]:
        """The same question for a model, from ``prompt.md``; ``before`` are the stages already answered."""
        return render_prompt(self.prompt_text, self.prompt_values(payload, stage, before or {}))

    def prompt_values(self, payload: JSON, stage: int, before: JSON) -> dict[str, str]:
        """The ``$names`` of ``prompt.md``; by default the payload's own text values."""
        return {name: value for name, value in payload.items() if isinstance(value, str)}

    # -- what lies in the folder ------------------------------------------------------------------

    @cached_property
    def instructions(self) -> str:
        """The instructions as Markdown."""
        return (self.folder / "instructions.md").read_text(encoding="utf-8")

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


def parse_fields(fields: Sequence[Field], raw: Mapping[str, Any]) -> JSON:
    """Check raw values against declared fields; returns only what was asked and counts.

    Unknown keys are ignored (a client cannot add ``score`` or ``rater``). Raises ``FieldErrors``.

    >>> helpful = Field("helpful", "Does it help?", options=(Option("yes", "Yes"), Option("no", "No")))
    >>> parse_fields([helpful], {"helpful": "yes", "score": 1})
    {'helpful': 'yes'}
    """
    response: JSON = {}
    errors: dict[str, str] = {}
    for asked in fields:
        if not all(response.get(other) in values for other, values in asked.when):
            continue
        value = raw.get(asked.name)
        if asked.kind == "multi":
            values = [] if value in (None, "") else value if isinstance(value, list) else [value]
            allowed = [option.value for option in asked.options]
            if any(not isinstance(v, str) or v not in allowed for v in values):
                errors[asked.name] = f"choose only from: {', '.join(allowed)}"
            elif asked.required and not values:
                errors[asked.name] = "choose at least one"
            else:
                response[asked.name] = [v for v in allowed if v in values]
            continue
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None or value == "":
            if asked.required:
                errors[asked.name] = "choose an answer" if asked.kind == "choice" else "write an answer"
            elif asked.kind == "text":
                response[asked.name] = ""
            continue
        if not isinstance(value, str):
            errors[asked.name] = f"expected text, got {type(value).__name__}"
        elif asked.kind == "choice":
            allowed = [option.value for option in asked.options]
            if value in allowed:
                response[asked.name] = value
            else:
                errors[asked.name] = f"choose one of: {', '.join(allowed)}"
        elif len(value) > asked.max_length:
            errors[asked.name] = f"at most {asked.max_length} characters, got {len(value)}"
        elif asked.required and not value.strip():
            errors[asked.name] = "write an answer"
        else:
            response[asked.name] = clean_text(value)
    if errors:
        raise FieldErrors(errors)
    return response


def clean_text(value: str) -> str:
    """Text as it may be stored: no NUL, no lone surrogate, line ends as ``\\n``, no outer white space."""
    value = value.replace("\r\n", "\n").replace("\r", "\n").strip()
    if "\x00" in value or any("\ud800" <= ch <= "\udfff" for ch in value):
        raise FieldErrors({"text": "contains a NUL byte or a broken character"})
    return value


class Row:
    """Reads one import row field by field and gathers every fault before it raises.

    >>> row = Row({"question": " Can owls swim? ", "answer": "maybe"})
    >>> row.text("question"), row.label("answer", {"yes": "yes", "no": "no"})
    ('Can owls swim?', '')
    >>> row.check()
    Traceback (most recent call last):
    ...
    annotator.hit_types.base.FieldErrors: answer: 'maybe' is not one of: yes, no
    """

    def __init__(self, raw: Mapping[str, Any]):
        self.raw = raw
        self.errors: dict[str, str] = {}

    def text(self, name: str, *, required: bool = True, limit: int = MAX_TEXT) -> str:
        value = self.raw.get(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            if required:
                self.errors[name] = "is missing"
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.errors[name] = f"expected text, got {type(value).__name__}"
            return ""
        try:
            cleaned = clean_text(str(value))
        except FieldErrors as error:
            self.errors[name] = error.errors["text"]
            return ""
        if len(cleaned) > limit:
            self.errors[name] = f"at most {limit} characters, got {len(cleaned)}"
        return cleaned

    def label(self, name: str, labels: Mapping[str, str], *, required: bool = True) -> str:
        """A label, matched without case; booleans read as yes and no. ``labels`` maps spelling to label."""
        value = self.raw.get(name)
        if value is None or value == "":
            if required:
                self.errors[name] = (
                    f"is missing; expected one of: {', '.join(dict.fromkeys(labels.values()))}"
                )
            return ""
        spelled = ("yes" if value else "no") if isinstance(value, bool) else str(value).strip().lower()
        if spelled not in labels:
            self.errors[name] = f"{value!r} is not one of: {', '.join(dict.fromkeys(labels.values()))}"
            return ""
        return labels[spelled]

    def texts(self, name: str, *, least: int = 1) -> list[str]:
        """A list of texts; a CSV cell may hold it as a JSON array."""
        value = self.raw.get(name)
        if isinstance(value, str) and value.strip().startswith("["):
            try:
                value = json.loads(value)
            except ValueError:
                self.errors[name] = "is not a JSON array"
                return []
        if not isinstance(value, list) or not all(isinstance(v, str) and v.strip() for v in value):
            self.errors[name] = "expected a list of texts"
            return []
        if len(value) < least:
            self.errors[name] = f"expected at least {least}, got {len(value)}"
        return [clean_text(v) for v in value]

    def check(self) -> None:
        if self.errors:
            raise FieldErrors(self.errors)


YES_NO: Mapping[str, str] = {
    "yes": "yes",
    "no": "no",
    "true": "yes",
    "false": "no",
    "1": "yes",
    "0": "no",
    "y": "yes",
    "n": "no",
}

_HEADING = re.compile(r"^## (system|user|assistant)[ \t]*$", re.MULTILINE)


def render_prompt(text: str, values: Mapping[str, str]) -> list[Message]:
    """Cut a prompt file at its ``## system``, ``## user`` and ``## assistant`` headings and fill in ``$names``.

    The file is cut before it is filled, so an item that holds a heading cannot add a message; values are put
    in once and never read again, so an item that holds ``$name`` stays as it is. A ``$name`` without a value
    is a ``KeyError``.

    >>> [m.role for m in render_prompt("## system\\nBe brief.\\n## user\\n$q", {"q": "## assistant"})]
    ['system', 'user']
    """
    cuts = list(_HEADING.finditer(text))
    if not cuts:
        raise ValueError("a prompt needs at least one '## user' heading")
    ends = [cut.start() for cut in cuts[1:]] + [len(text)]
    return [
        Message(role=cut.group(1), content=Template(text[cut.end() : end].strip()).substitute(values))  # type: ignore[arg-type]
        for cut, end in zip(cuts, ends, strict=True)
    ]
