"""The questions of a form as value objects: what is asked, which options there are, and when it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from annotator.hit_types.direction import direction_of


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
    otherwise any value sent for it is dropped. ``target`` names the block that the field belongs to, if each of several
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
    when: tuple[tuple[str, tuple[str, ...]], ...] = ()
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
        )
