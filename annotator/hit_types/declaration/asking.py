"""The kinds of question that a file can ask with options: which form fields they are, and what is measured by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from annotator.hit_types.answers import YES_NO_WORDS, Answers
from annotator.hit_types.declaration.shown import Presented, keys_of, option_of
from annotator.hit_types.declaration.shuffling import in_order
from annotator.hit_types.fields import AnswerComparison, When
from annotator.hit_types.reading import stable_key
from annotator.hit_types.shapes import JSON, Field, Level, Option, Variable
from annotator.hit_types.wording import FileText, put

Spellings = tuple[str, ...]
#: A measured value: (what is added to the variable's name, unit within the item) -> label.
Values = dict[tuple[str, str], str]
#: Spellings longer than this aren't offered to models as an answer.
LONGEST_SPELLING = 40
#: What one question keeps of its fields, for items that show different blocks.
MOST_MADE = 64


@dataclass(frozen=True)
class Conditions:
    """The conditions of one question. All must hold; ``words`` has those that aren't a plain list of answers."""

    when: When = ()
    compares: tuple[AnswerComparison, ...] = ()
    words: str = ""


class DeclaredQuestion:
    """One question of a file: ``spec`` is what the file says about it. It is one field, or one for each of several things."""

    #: The level of the variable that is made from it.
    level: ClassVar[Level] = "nominal"
    #: Whether its variables have names and levels of their own, made from its name and those of its parts.
    compound: ClassVar[bool] = False

    def __init__(self, name: str, spec: Mapping[str, Any]):
        self.name = name
        self.spec = spec
        self.ask: str = spec["ask"]
        #: The column of units of which each is asked about; empty if the item is.
        self.each: str = spec.get("for_each", "")
        self.roles: tuple[str, ...] = tuple(spec.get("roles", ()))
        #: The columns that it's about, beside that.
        self.about = tuple(column for column in spec.get("about", ()) if column != self.each)
        #: When it is asked; ``Screens`` reads it from the file, which needs the other questions of the stage.
        self.conditions = Conditions()
        #: Fields that were made before, where they are the same for all items that show the same; see ``fields_shown``.
        self._made: dict[tuple[tuple[str, ...], ...], tuple[Field, ...]] = {}

    # -- the form --------------------------------------------------------------------------------

    def options(self, seen: Presented) -> tuple[Option, ...]:
        """The options that an item's rater chooses from; empty if something is written."""
        raise NotImplementedError

    def named_options(self, seen: Presented) -> tuple[Option, ...]:
        """The options that the file names, in the order in which a rater sees them."""
        held = self.spec["options"]
        return tuple(
            option_of(value, held[value]) for value in in_order(list(held), seen.options_drawn(self.name))
        )

    def fields_shown(self, seen: Presented) -> tuple[Field, ...]:
        """``fields`` with the question's own messages, made once for all items with the same blocks in the same order: pages and
        replies need them several times."""
        if self.each or "options_of" in self.spec:
            return self._finished(seen)
        key = (self._about(seen), seen.drawn, seen.options_drawn(self.name))
        found = self._made.get(key)
        if found is None:
            found = self._finished(seen)
            if len(self._made) < MOST_MADE:
                self._made[key] = found
        return found

    def _finished(self, seen: Presented) -> tuple[Field, ...]:
        missing = self.messages.get("missing", "")
        fields = self.fields(seen)
        return tuple(replace(one, missing=missing) for one in fields) if missing else fields

    @property
    def messages(self) -> Mapping[str, str]:
        """What people are told in place of the usual words: where an answer is ``missing``, and where it is ``invalid``."""
        found: Mapping[str, str] = self.spec.get("messages", {})
        return found

    def told(self, name: str, raw: Mapping[str, Any], usual: str) -> str:
        """What is said about the field ``name`` of what was sent: in the question's own words, if it has any."""
        value = raw.get(name)
        empty = value is None or (isinstance(value, str) and not value.strip()) or value in ([], [""])
        own = self.messages.get("missing" if empty else "invalid")
        return usual if own is None else own_message(own)

    def fields(self, seen: Presented) -> tuple[Field, ...]:
        """The form's fields for what one rater sees."""
        if not self.each:
            return (self.one_field(seen, self.name, about=self._about(seen)),)
        return tuple(
            self.one_field(seen, self.field_name(key), target=block, about=(*self._about(seen), block))
            for key, block in seen.units(self.each, self.roles)
        )

    def field_name(self, unit: str) -> str:
        """The name of the field about one unit."""
        return f"{self.name}_{unit}" if unit else self.name

    def _about(self, seen: Presented) -> tuple[str, ...]:
        return tuple(block for column in self.about for block in seen.block_names(column))

    def one_field(
        self, seen: Presented, name: str, *, target: str = "", about: tuple[str, ...] = (), **more: Any
    ) -> Field:
        """One field of the form; ``more`` are attributes that the kind of question adds."""
        return Field(
            name,
            self.ask,
            options=self.options(seen),
            required=self.spec.get("required", True),
            help=self.spec.get("help", ""),
            when=self.conditions.when,
            compares=self.conditions.compares,
            only_if=self.conditions.words,
            target=target,
            about=about,
            **more,
        )

    # -- answers ---------------------------------------------------------------------------------

    def received(self, raw: Mapping[str, Any]) -> JSON:
        """Values sent for its fields, where they may be sent in another form than the form's."""
        return {}

    def check(self, response: JSON, payload: JSON) -> dict[str, str]:
        """What is wrong with answers that each have a right form; they are put into the form that is stored."""
        return {}

    def is_right(self, name: str, given: Any, correct: Any) -> bool:
        """Whether an answer to the field ``name`` counts as the correct one."""
        return bool(given == correct)

    def answer(self, raw: Any, payload: JSON) -> JSON:
        """An answer as a file writes it, by field; raises ``ValueError`` with what was expected."""
        if not self.each:
            return {self.name: as_label(raw)}
        keys = self.units(payload)
        if not isinstance(raw, list) or len(raw) != len(keys):
            raise ValueError(f"expected a list of {len(keys)} answers, one for each entry of {self.each}")
        return {self.field_name(key): as_label(one) for key, one in zip(keys, raw, strict=True)}

    def spellings(self, option: Option) -> Spellings:
        """How models may write an option; the first is the one that prompts ask for."""
        words = option.value.replace("_", " ").lower()
        label = option.label.lower().strip(" .")
        return tuple(dict.fromkeys([words, *([label] if len(label) <= LONGEST_SPELLING else [])]))

    # -- what is measured ------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its variable, the same for all items; empty if each item has its own."""
        return ()

    @property
    def scores(self) -> Mapping[str, float]:
        """A number for each label, for means; empty if there is none."""
        return {}

    def units(self, payload: JSON) -> list[str]:
        """The suffixes of the units that it judges; ``[""]`` if it judges the item."""
        return keys_of(payload, self.each, self.roles) if self.each else [""]

    def variables(self) -> tuple[Variable, ...]:
        """What is measured by it, if the file doesn't say; the first one is what the file can name, unless it is compound."""
        return (Variable(self.name, self.ask, self.level, self.labels, scores=self.scores),)

    def values(self, payload: JSON, response: JSON) -> Values:
        """The measured values of a response; what wasn't answered is left out."""
        found = {("", unit): response.get(self.field_name(unit)) for unit in self.units(payload)}
        return {where: str(value) for where, value in found.items() if value not in (None, "")}


def own_message(text: str) -> FileText:
    """A message of the file, marked as such: it is shown as it is, or as the file translates it."""
    return text if isinstance(text, FileText) else FileText(text, {})


def as_label(raw: Any) -> str:
    """An answer as a file writes it, as a label; raises ``ValueError``."""
    if isinstance(raw, bool):
        return "yes" if raw else "no"
    if not isinstance(raw, str | int | float):
        raise ValueError("expected one of the question's options")
    return str(raw)


class ChoiceQuestion(DeclaredQuestion):
    """One of several options: those of the file, or those of each item."""

    def options(self, seen: Presented) -> tuple[Option, ...]:
        if column := self.spec.get("options_of"):
            return Answers.of(seen.payload[column]).choices
        return self.named_options(seen)

    def spellings(self, option: Option) -> Spellings:
        one = self.spec.get("options", {}).get(option.value)
        if isinstance(one, dict) and one.get("spellings"):
            return tuple(text.lower() for text in one["spellings"])
        if self.spec.get("options_of") and len(option.value) == 1:
            text = option.label.removeprefix(f"{option.value}. ").lower().strip(" .\"'")
            return (
                option.value.lower(),
                f"option {option.value.lower()}",
                *([text] if len(text) > 1 else []),
            )
        return super().spellings(option)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.spec.get("options", ()))


class YesNoQuestion(DeclaredQuestion):
    """Yes or no."""

    def options(self, seen: Presented) -> tuple[Option, ...]:
        return tuple(Option(value, words) for value, words in YES_NO_WORDS.items())

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(YES_NO_WORDS)


class ScaleQuestion(DeclaredQuestion):
    """A step of a scale; the anchors, which say what numbers mean, are in the second line of the question."""

    level = "ordinal"

    @property
    def steps(self) -> Sequence[int]:
        """The numbers in order."""
        return range(self.spec["from"], self.spec["to"] + 1)

    def options(self, seen: Presented) -> tuple[Option, ...]:
        return tuple(Option(str(number), str(number)) for number in self.steps)

    def one_field(self, seen: Presented, name: str, **more: Any) -> Field:
        found = super().one_field(seen, name, **more)
        help_text = (
            put("{help} {anchors}", help=found.help, anchors=self.anchors) if found.help else self.anchors
        )
        return Field(**{**vars(found), "help": help_text, "keys": digit_keys(self.steps), "scale": True})

    @property
    def anchors(self) -> str:
        """What the numbers mean, in one line.

        >>> spec = {"ask": "?", "from": 1, "to": 2, "anchors": {"1": "poor", "2": "good"}}
        >>> ScaleQuestion("q", spec).anchors
        '1: poor; 2: good.'
        """
        return anchors_text(self.spec["anchors"])

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(map(str, self.steps))

    @property
    def scores(self) -> Mapping[str, float]:
        return {str(number): float(number) for number in self.steps}


def digit_keys(steps: Sequence[int]) -> str:
    """The keys of a scale's steps, if each is a digit.

    >>> digit_keys(range(0, 5)), digit_keys(range(1, 11))
    ('01234', '')
    """
    return "".join(map(str, steps)) if all(0 <= number <= 9 for number in steps) else ""


def anchors_text(anchors: Mapping[str, str]) -> str:
    """What the numbers of a scale mean, in one line.

    >>> anchors_text({"5": "good.", "1": "poor"})
    '1: poor; 5: good.'
    """
    named = sorted(anchors.items(), key=lambda one: int(one[0]))
    texts = {f"at{place}": _unended(text) for place, (_, text) in enumerate(named)}
    return put(
        "; ".join(f"{number}: {{at{place}}}" for place, (number, _) in enumerate(named)) + ".", **texts
    )


def _unended(text: str) -> str:
    return text.changed(_unended) if isinstance(text, FileText) else text.rstrip(".")


def unit_key(*parts: str) -> str:
    """The key of one entry of a list, by its content: it doesn't depend on the order in a file or on a page."""
    return stable_key(*parts)[:8]
