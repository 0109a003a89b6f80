"""The questions of one stage, ready to be drawn: which key chooses which option, what is chosen, what depends on what.

Pure: takes a ``Stage``, a response and error messages, and returns what the templates loop over. It contains no rule of
any HIT type. ``task_page`` is about the page around the questions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from annotator.hit_types.base import Block, Field, Option, Stage
from annotator.hit_types.base import translatable as _

#: The longest labels, in characters, with which two or three options fit side by side on a phone.
SHORT = {2: 14, 3: 8}
KEYS = "123456789"
#: Names of groups of blocks as annotators read them. Other groups are shown under their own name, untranslated.
GROUP_TITLES = {
    "explanation": _("Explanation"),
    "explanations": _("Explanations"),
    "follow_up": _("Follow-up"),
    "follow_up_example": _("Follow-up example"),
    "question": _("Question"),
    "starter": _("Starter"),
    "starter_example": _("Starter example"),
}
#: Texts of at least this many characters that several questions are about are shown beside the questions, not above.
BESIDE = 500


@dataclass(frozen=True)
class Choice:
    """An option as a row: its key (empty if there are more options than keys), its id, and whether it is chosen.
    ``opens`` names the conditions that it meets, as in ``Asked.needs``.
    """

    option: Option
    id: str
    key: str = ""
    chosen: bool = False
    opens: str = ""


@dataclass(frozen=True)
class Asked:
    """A field of the form. ``needs`` names its conditions ("3-0 3-1": both conditions of field 3 must hold).
    ``question`` is the number of the question that it belongs to.
    """

    field: Field
    number: int
    question: int
    id: str
    name: str
    choices: tuple[Choice, ...] = ()
    text: str = ""
    error: str = ""
    needs: str = ""
    when: str = ""
    #: Its comparisons, for the script; empty if it has none.
    compared: str = ""
    target_label: str = ""
    #: Whether it is the first row below its heading.
    heads: bool = False

    @property
    def passages(self) -> str:
        """What passages can be marked as, for the script that marks them; empty for other fields."""
        if (asked := self.field.passages) is None:
            return ""
        named = {"categories": asked.categories, "severities": asked.severities}
        found: dict[str, Any] = {
            name: [[option.value, str(option.label)] for option in options] for name, options in named.items()
        }
        return json.dumps({"block": asked.block, "none": asked.none, **found}, ensure_ascii=False)

    @property
    def answered(self) -> bool:
        return bool(self.text) or any(choice.chosen for choice in self.choices)

    @property
    def short(self) -> bool:
        """Whether the options fit side by side; of those with definitions, two."""
        if len(self.choices) > 2 and any(choice.option.detail for choice in self.choices):
            return False
        labels = [choice.option.label for choice in self.choices]
        return max(map(len, labels), default=0) <= SHORT.get(len(labels), -1)

    @property
    def required(self) -> bool:
        """Whether the browser may require an answer: not for steps that may not apply, nor if the question has words of its own
        for a missing answer, which the server says."""
        return self.field.required and not self.field.conditional and not self.field.missing


@dataclass(frozen=True)
class Group:
    """Neighbouring blocks of one group; titled only if two groups use the same labels."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Pair:
    """A block and the questions about it."""

    block: Block
    asked: tuple[Asked, ...]


@dataclass(frozen=True)
class TaskForm:
    """One stage bound to a response. A task's page has one, an exam's page one for each question.

    ``pairs`` are blocks with a question of their own and ``loose`` the other questions. ``error`` is a message about the
    whole form. ``missing`` names the required fields that apply, given the other answers, and are still empty.

    ``groups`` is all other material. The task screen divides it further, by what the fields say that they are ``about``:
    ``pinned`` stays at the bottom of the material where that is longer than the window, ``flow`` comes before it. Where
    there are pairs, ``context`` stays in view above or beside them, and the rest (``background``) can be opened.
    """

    asked: tuple[Asked, ...]
    groups: tuple[Group, ...]
    flow: tuple[Group, ...]
    pinned: tuple[Group, ...]
    context: tuple[Group, ...]
    background: tuple[Block, ...]
    pairs: tuple[Pair, ...]
    loose: tuple[Asked, ...]
    missing: tuple[str, ...]
    prefix: str = ""
    error: str = ""

    @property
    def paired(self) -> bool:
        """Whether each question is beside its own text, instead of all of them in one panel."""
        return bool(self.pairs)

    @property
    def beside(self) -> bool:
        """Whether the context is long enough for a column of its own (on wide windows)."""
        return sum(block.length for group in self.context for block in group.blocks) >= BESIDE


def questions_of(fields: Sequence[Field]) -> dict[str, int]:
    """Which question each field belongs to, numbered from 1.

    A step that only opens for one answer of another step completes that answer: both are one question.

    >>> yes_no = (Option("no", "No"), Option("yes", "Yes"))
    >>> helps = Field("helps", "?", options=yes_no)
    >>> guess = Field("guess", "?", options=yes_no, when=(("helps", ("yes",)),))
    >>> other = Field("other", "?", options=yes_no, when=(("helps", ("no", "yes")),))
    >>> questions_of([helps, guess, other])
    {'helps': 1, 'guess': 1, 'other': 2}
    """
    found: dict[str, int] = {}
    for field in fields:
        before = [name for name, values in field.when if len(values) == 1 and name in found]
        joined = len(field.when) == 1 and before and field.options and not field.compares
        found[field.name] = found[before[0]] if joined else max(found.values(), default=0) + 1
    return found


def option_keys(fields: Sequence[Field]) -> dict[tuple[str, str], str]:
    """The key that chooses each option, by (field, option value).

    Number keys answer the question that is marked as current, so each question's options are numbered from 1. A
    second step continues its question's numbers: one key answers it and, with it, the first step. A question
    with more than nine options is numbered within each of its steps, until the keys run out.

    >>> one = Field("helps", "?", options=(Option("no", "No"), Option("yes", "Yes")))
    >>> two = Field("guess", "?", options=(Option("a", "A"), Option("b", "B")), when=(("helps", ("yes",)),))
    >>> option_keys([one, two])
    {('helps', 'no'): '1', ('helps', 'yes'): '2', ('guess', 'a'): '3', ('guess', 'b'): '4'}
    """
    question = questions_of(fields)
    keys: dict[tuple[str, str], str] = {}
    for number in dict.fromkeys(question.values()):
        steps = [field for field in fields if question[field.name] == number]
        if own_keys := steps[0].keys:
            named = [(steps[0].name, option.value) for option in steps[0].options]
            keys |= dict(zip(named, own_keys, strict=False))
            continue
        through = [(step.name, option.value) for step in steps for option in step.options]
        if len(through) <= len(KEYS):
            keys |= dict(zip(through, KEYS, strict=False))
            continue
        for step in steps:
            own = [(step.name, option.value) for option in step.options]
            keys |= dict(zip(own, KEYS, strict=False))
    return keys


def task_form(
    stage: Stage,
    response: Mapping[str, Any] | None = None,
    errors: Mapping[str, str] | None = None,
    prefix: str = "",
) -> TaskForm:
    """Bind a stage to the answers so far; ``prefix`` ("q3-") is put before names and ids if a page has several forms.

    >>> stage = Stage("only", "Guess", (), (Field("q", "Sure?", options=(Option("y", "Y"), Option("n", "N"))),))
    >>> form = task_form(stage, {"q": "n"})
    >>> [(choice.key, choice.chosen) for choice in form.asked[0].choices], form.missing
    ([('1', False), ('2', True)], ())
    """
    response, errors = response or {}, errors or {}
    keys, question = option_keys(stage.fields), questions_of(stage.fields)
    labels = {block.name: block.label for block in stage.blocks}
    asked = tuple(
        _bind(
            field,
            place=(number, question[field.name]),
            fields=stage.fields,
            keys=keys,
            response=response,
            error=errors.get(field.name, ""),
            labels=labels,
            prefix=prefix,
        )
        for number, field in enumerate(stage.fields, start=1)
    )
    targets = {field.target for field in stage.fields if field.target in labels}
    paired = targets if len(targets) > 1 else set()
    about = {name for field in stage.fields for name in field.about}
    others = [block for block in stage.blocks if block.name not in paired]
    groups = _groups(others)
    first_pinned = _first_pinned(groups, about)
    return TaskForm(
        asked=asked,
        groups=groups,
        flow=groups[:first_pinned],
        pinned=groups[first_pinned:],
        context=_groups([block for block in others if block.name in about or not about]),
        background=tuple(block for block in others if about and block.name not in about),
        pairs=tuple(
            Pair(block, tuple(one for one in asked if one.field.target == block.name))
            for block in stage.blocks
            if block.name in paired
        ),
        loose=tuple(one for one in asked if one.field.target not in paired),
        missing=tuple(field.name for field in stage.fields if _is_missing(field, response)),
        prefix=prefix,
        error=errors.get("", ""),
    )


def _groups(blocks: Sequence[Block]) -> tuple[Group, ...]:
    groups = [(name, tuple(those)) for name, those in groupby(blocks, key=lambda block: block.group)]
    labels = [block.label for block in blocks]
    unclear = len(set(labels)) < len(labels)
    return tuple(Group(_title(name) if unclear else "", those) for name, those in groups)


def _first_pinned(groups: Sequence[Group], about: set[str]) -> int:
    """The number of groups before the pinned ones: material that questions are about, unless it comes first anyway."""
    for number, group in enumerate(groups):
        if number and any(block.name in about for block in group.blocks):
            return number
    return len(groups)


def _title(group: str) -> str:
    """``follow_up_example`` -> ``Follow-up example``."""
    return GROUP_TITLES.get(group) or group.replace("_", " ").capitalize()


def _bind(
    field: Field,
    *,
    place: tuple[int, int],
    fields: Sequence[Field],
    keys: Mapping[tuple[str, str], str],
    response: Mapping[str, Any],
    error: str,
    labels: Mapping[str, str],
    prefix: str,
) -> Asked:
    value = response.get(field.name)
    chosen = {str(one) for one in value} if isinstance(value, list | tuple) else {str(value)}
    own = f"a-{prefix}{field.name}"
    number, question = place
    return Asked(
        field=field,
        number=number,
        question=question,
        id=own,
        name=prefix + field.name,
        choices=tuple(
            Choice(
                option=option,
                id=f"{own}-{place}",
                key=keys.get((field.name, option.value), ""),
                chosen=option.value in chosen,
                opens=" ".join(_opens(field.name, option.value, fields)),
            )
            for place, option in enumerate(field.options, start=1)
        ),
        text=value if isinstance(value, str) and field.kind == "text" else "",
        error=error,
        needs=" ".join(f"{number}-{place}" for place in range(len(field.when))),
        when=json.dumps([[prefix + other, list(values)] for other, values in field.when])
        if field.conditional
        else "",
        compared=_compared(field, prefix),
        target_label=labels.get(field.target, ""),
        heads=bool(field.heading) and (number == 1 or fields[number - 2].heading != field.heading),
    )


def _compared(field: Field, prefix: str) -> str:
    found = [
        [prefix + compare.field, compare.sign, list(compare.values), compare.unit]
        for compare in field.compares
    ]
    return json.dumps(found, ensure_ascii=False) if found else ""


def _opens(name: str, value: str, fields: Sequence[Field]) -> list[str]:
    """The conditions of all fields that this option meets."""
    return [
        f"{number}-{place}"
        for number, field in enumerate(fields, start=1)
        for place, (other, values) in enumerate(field.when)
        if other == name and value in values
    ]


def _is_missing(field: Field, response: Mapping[str, Any]) -> bool:
    return field.required and field.applies(response) and not response.get(field.name)
