"""The possible answers to a question: yes and no, or its own lettered options."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from types import MappingProxyType

from annotator.hit_types.reading import YES_NO, Row, is_blank
from annotator.hit_types.replies import YES_NO_LABELS, Labels
from annotator.hit_types.shapes import Option
from annotator.hit_types.wording import translatable as _

#: The answers to a question that has no options of its own, as people read them.
YES_NO_WORDS: Mapping[str, str] = MappingProxyType({"yes": _("Yes"), "no": _("No")})


@dataclass(frozen=True)
class Answers:
    """The answers that a question allows: its ``options``, lettered A, B, C ..., or yes and no if it has none.

    >>> Answers(("house", "shop")).values, Answers().values
    (('A', 'B'), ('yes', 'no'))
    """

    options: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Sequence[str] | None) -> Answers:
        """From a payload's list."""
        return cls(tuple(options or ()))

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(ascii_uppercase[: len(self.options)]) if self.options else ("yes", "no")

    @property
    def lines(self) -> tuple[str, ...]:
        """The lettered options as they are shown; empty for yes and no.

        >>> Answers(("house", "shop")).lines
        ('A. house', 'B. shop')
        """
        return tuple(
            f"{letter}. {text}"
            for letter, text in zip(self.values, self.options, strict=False)
            if self.options
        )

    def after(self, text: str) -> str:
        """A question, followed by its options.

        >>> Answers(("house", "shop")).after("Which?")
        'Which?\\nA. house\\nB. shop'
        """
        return "\n".join([text, *self.lines])

    @property
    def choices(self) -> tuple[Option, ...]:
        """The options of a form field."""
        if not self.options:
            return (Option("yes", YES_NO_WORDS["yes"]), Option("no", YES_NO_WORDS["no"]))
        return tuple(Option(v, line) for v, line in zip(self.values, self.lines, strict=True))

    @property
    def form(self) -> str:
        """How a prompt names the possible answers.

        >>> Answers(("house", "shop", "tent")).form, Answers().form
        ('A, B or C', 'YES or NO')
        """
        names = [value.upper() for value in self.values]
        return f"{', '.join(names[:-1])} or {names[-1]}"

    def example(self, about: str) -> str:
        """One of the possible answers, for a prompt that shows the form of a reply: drawn by the question, so that no answer is
        suggested more often than another.

        >>> Answers(("house", "shop")).example("Which?") in ("A", "B"), Answers().example("Why?") in ("YES", "NO")
        (True, True)
        """
        drawn = int(hashlib.sha256(about.encode("utf-8", "replace")).hexdigest(), 16)
        return self.values[drawn % len(self.values)].upper()

    @property
    def labels(self) -> Labels:
        """Each value's spellings in a model's reply: its letter, "option A", and the text of the option."""
        if not self.options:
            return YES_NO_LABELS
        plain = [_plain(text) for text in self.options]
        return {
            letter: (letter.lower(), f"option {letter.lower()}", *([text] if len(text) > 1 else []))
            for letter, text in zip(self.values, plain, strict=True)
        }

    def say(self, value: str) -> str:
        """An answer as people read it.

        >>> Answers().say("no"), Answers(("house", "shop")).say("B")
        ('No', 'B. shop')
        """
        if not self.options:
            return YES_NO_WORDS.get(value, value.capitalize())
        return dict(zip(self.values, self.lines, strict=True)).get(value, value)

    def read(
        self, row: Row, name: str, *, required: bool = True, also: Mapping[str, str] = MappingProxyType({})
    ) -> str:
        """A column with an answer: yes or no, or the letter or text of an option; ``also`` maps other spellings."""
        if not self.options:
            return row.label(name, {**YES_NO, **also}, required=required)
        spelled = dict(also) | {
            _plain(text): letter for letter, text in zip(self.values, self.options, strict=True)
        }
        spelled |= {letter.lower(): letter for letter in self.values}
        value = row.raw.get(name)
        if isinstance(value, str) and not is_blank(value) and _plain(value) in spelled:
            return spelled[_plain(value)]
        if is_blank(value) and not required:
            return ""
        expected = f"a letter from {self.values[0]} to {self.values[-1]}, or the text of an option"
        if also:
            expected += f" ({', '.join(dict.fromkeys(also.values()))} if it gave no answer)"
        row.errors[name] = (
            f"is missing; expected {expected}" if is_blank(value) else f"{value!r} is not {expected}"
        )
        return ""

    @classmethod
    def read_options(cls, row: Row, name: str) -> Answers:
        """A column with a list of options; if it is missing, yes and no."""
        options = row.texts(name, least=0, most=10)
        if len(options) == 1:
            row.errors[name] = "expected at least 2 options, got 1"
        elif len({_plain(option) for option in options}) < len(options):
            row.errors[name] = "the same option is given twice"
        return cls(tuple(options) if name not in row.errors else ())


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip(" .\"'").lower()
