"""The questions of a form as value objects: what is asked, which options there are, and when it is asked."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from annotator.hit_types.direction import direction_of

#: (other field, values): conditions that an answer meets if it is one of the values, or has one of them.
When = tuple[tuple[str, tuple[str, ...]], ...]
#: Comparisons of numbers by their names in files.
SIZES: Mapping[str, Callable[[float, float], bool]] = {
    "at_least": operator.ge,
    "more_than": operator.gt,
    "at_most": operator.le,
    "less_than": operator.lt,
}
_NUMBER = re.compile(r"([-+−]?[0-9]{1,15})(?:[.,]([0-9]{1,9}))?")


def number_written(text: str, unit: str = "") -> str | None:
    """A number as it is stored, from what somebody wrote: with a comma or a point, with or without its unit; None if it is none.

    >>> number_written("+2,50 km", "km"), number_written("−0.5"), number_written("two")
    ('2.5', '-0.5', None)
    """
    found = _NUMBER.fullmatch(text.strip().removesuffix(unit).strip())
    if found is None:
        return None
    whole, part = found[1].replace("−", "-").removeprefix("+"), (found[2] or "").rstrip("0")
    if part and whole.startswith("-") and int(whole) == 0:
        return f"-0.{part}"
    return f"{int(whole)}.{part}" if part else str(int(whole))


@dataclass(frozen=True)
class AnswerComparison:
    """A condition on the answer to ``field`` that isn't a list of answers. ``sign`` is a name of ``SIZES`` and then has one value, or
    ``not`` or ``lacks``: the answer is none of the values, or has none of them. Without an answer, it doesn't hold.

    >>> AnswerComparison("age", "at_least", ("18",)).holds("18"), AnswerComparison("tags", "lacks", ("odd",)).holds(["long"])
    (True, True)
    >>> AnswerComparison("tags", "lacks", ("odd",)).holds([])
    False
    """

    field: str
    sign: str
    values: tuple[str, ...]
    unit: str = ""

    def holds(self, answer: Any) -> bool:
        """Whether it holds for an answer."""
        if answer in (None, "", []):
            return False
        if self.sign in SIZES:
            number = number_written(str(answer), self.unit)
            return number is not None and SIZES[self.sign](float(number), float(self.values[0]))
        given = answer if isinstance(answer, list) else [answer]
        return not any(str(one) in self.values for one in given)


@dataclass(frozen=True)
class Option:
    """One choice of a field. ``label`` is short; ``detail`` is the full wording."""

    value: str
    label: str
    detail: str = ""
    #: ISO 639-1 code of the label's language, where a page in another language shows it.
    language: str = ""

    @property
    def direction(self) -> str:
        """``rtl`` or ``ltr``, as its label is read without the letter of a lettered option."""
        return direction_of(self.label)


@dataclass(frozen=True)
class Passages:
    """How passages of a block's text are marked: each with a category and, if there are any, a severity. ``none`` is the label of
    an answer that there is no passage to mark; empty if there is no such answer."""

    block: str
    categories: tuple[Option, ...]
    severities: tuple[Option, ...] = ()
    none: str = ""


@dataclass(frozen=True)
class Field:
    """One question of a form.

    ``when`` lists ``(other field, values)``: the field is asked only if every other field has one of its values;
    otherwise any value sent for it is dropped. ``compares`` are further conditions, and ``only_if`` says those in words that people and
    models can't see from the options. ``target`` names the block that the field belongs to, if each of several
    blocks has a question. ``about`` names the blocks that people must see to answer: the task screen keeps their first
    lines in view while the field is answered, however long the material is. ``options_of`` names the payload's list of
    options if each item has its own: a ``DeclaredStage`` offers them, lettered, or yes and no if the list is empty.
    ``keys`` has a key for each option, where they aren't numbered from 1. The options of a ``scale`` are short steps, which
    the screen shows side by side. ``alone`` is an option of several that goes with no other, ``bounds`` the least and the
    most number of a text that is one, in steps of ``step``, and fields with the same ``distinct`` name have different answers: the type checks
    these, and raters that are made up keep to them.

    Fields with the same ``heading`` are rows below it; the screen shows ``row`` in place of a row's label. ``ends`` says what the
    least and the most number of a slider mean. ``passages`` is given for a text that lists marked passages. ``missing`` is what
    people are told where the answer is missing, in place of the usual words.
    """

    name: str
    label: str
    kind: Literal["choice", "multi", "text"] = "choice"
    options: tuple[Option, ...] = ()
    required: bool = True
    help: str = ""
    when: When = ()
    target: str = ""
    about: tuple[str, ...] = ()
    max_length: int = 2_000
    options_of: str = ""
    keys: str = ""
    scale: bool = False
    alone: str = ""
    bounds: tuple[int, int] | None = None
    step: int = 1
    distinct: str = ""
    heading: str = ""
    heading_help: str = ""
    row: str = ""
    ends: tuple[str, str] | None = None
    passages: Passages | None = None
    missing: str = ""
    compares: tuple[AnswerComparison, ...] = ()
    only_if: str = ""

    @property
    def conditional(self) -> bool:
        """Whether other answers decide if it is asked."""
        return bool(self.when or self.compares)

    def applies(self, response: Mapping[str, Any]) -> bool:
        """Whether it is asked, given the other answers; of several answers, one of the values is enough.

        >>> Field("which", "Which?", when=(("tags", ("other",)),)).applies({"tags": ["odd", "other"]})
        True
        """
        return all(
            any(one in values for one in held)
            if isinstance(held := response.get(other), list)
            else held in values
            for other, values in self.when
        ) and all(one.holds(response.get(one.field)) for one in self.compares)
