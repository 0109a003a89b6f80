"""The kinds of question with several answers, or with written ones: several, number, ranking, text."""

from __future__ import annotations

import re
from math import ceil, floor
from typing import Any

from annotator.hit_types.declaration.asking import (
    ChoiceQuestion,
    DeclaredQuestion,
    PreferenceQuestion,
    ScaleQuestion,
    Values,
    YesNoQuestion,
)
from annotator.hit_types.declaration.shown import Presented, option_of
from annotator.hit_types.shapes import JSON, Field, Option, Variable

NONE, OTHER = "none", "other"


class SeveralQuestion(DeclaredQuestion):
    """All options that apply. *None* goes with no other; who chooses *other* says in one more field what it is."""

    def options(self, seen: Presented) -> tuple[Option, ...]:
        found = [option_of(value, one) for value, one in self.spec["options"].items()]
        found += [Option(value, self.spec[value]) for value in (OTHER, NONE) if self.spec.get(value)]
        return tuple(found)

    def fields(self, seen: Presented) -> tuple[Field, ...]:
        chosen = self.one_field(seen, self.name, about=self._about(seen), kind="multi", alone=self._alone)
        if not self.spec.get(OTHER):
            return (chosen,)
        label = f"{self.spec[OTHER]}: what?"
        return (chosen, Field(self._other, label, "text", when=((self.name, (OTHER,)),), max_length=500))

    @property
    def _alone(self) -> str:
        return NONE if self.spec.get(NONE) else ""

    @property
    def _other(self) -> str:
        return f"{self.name}_{OTHER}"

    def check(self, response: JSON) -> dict[str, str]:
        chosen = response.get(self.name)
        if chosen is None:
            return {}
        if NONE in chosen and len(chosen) > 1 and self.spec.get(NONE):
            return {self.name: f"choose {self.spec[NONE]!r} alone, or the others without it"}
        return {}

    def answer(self, raw: Any, payload: JSON) -> JSON:
        if not isinstance(raw, list):
            raise ValueError("expected a list of the question's options")
        return {self.name: [str(one) for one in raw]}

    def variables(self) -> tuple[Variable, ...]:
        """One for each option: whether it was chosen."""
        named = {**self.spec["options"], **({OTHER: self.spec[OTHER]} if self.spec.get(OTHER) else {})}
        return tuple(
            Variable(
                self.variable_name(value), f"{self.ask} {option_of(value, one).label}", labels=("yes", "no")
            )
            for value, one in named.items()
        )

    def variable_name(self, option: str) -> str:
        """The variable of one option."""
        return f"{self.name}_{option}"

    def values(self, payload: JSON, response: JSON) -> Values:
        if self.name not in response:
            return {}
        named = [*self.spec["options"], *([OTHER] if self.spec.get(OTHER) else [])]
        return {(f"_{value}", ""): "yes" if value in response[self.name] else "no" for value in named}


_NUMBER = re.compile(r"([-+−]?[0-9]{1,15})(?:[.,]([0-9]{1,9}))?")


class NumberQuestion(DeclaredQuestion):
    """A number that is written, with a unit and bounds."""

    level = "interval"

    def options(self, seen: Presented) -> tuple[Option, ...]:
        return ()

    def one_field(self, seen: Presented, name: str, **more: Any) -> Field:
        found = super().one_field(seen, name, **more, kind="text", max_length=40, bounds=self._bounds)
        return Field(**{**vars(found), "help": " ".join(filter(None, (found.help, f"{self.expected}.")))})

    @property
    def _bounds(self) -> tuple[int, int]:
        """The whole numbers from which made-up raters draw."""
        least = ceil(self.spec.get("least", min(0, self.spec.get("most", 0))))
        return least, max(least, floor(self.spec.get("most", least + 10)))

    @property
    def expected(self) -> str:
        """What has to be written.

        >>> NumberQuestion("age", {"ask": "?", "least": 18, "most": 99, "whole": True, "unit": "years"}).expected
        'A whole number from 18 to 99, in years'
        """
        least, most = self.spec.get("least"), self.spec.get("most")
        bounds = {
            (True, True): f" from {least} to {most}",
            (True, False): f" of at least {least}",
            (False, True): f" of at most {most}",
        }.get((least is not None, most is not None), "")
        unit = f", in {self.spec['unit']}" if self.spec.get("unit") else ""
        return f"A {'whole ' if self.spec.get('whole') else ''}number{bounds}{unit}"

    def check(self, response: JSON) -> dict[str, str]:
        written = response.get(self.name)
        if not written:
            return {}
        text = written.strip().removesuffix(self.spec.get("unit", "")).strip()
        found = _NUMBER.fullmatch(text)
        if found is None:
            return {self.name: f"expected {self._lowered()}, got {written[:40]!r}"}
        whole, part = found[1].replace("−", "-").removeprefix("+"), (found[2] or "").rstrip("0")
        number = float(f"{whole}.{part or 0}")
        least, most = self.spec.get("least"), self.spec.get("most")
        beyond = (least is not None and number < least) or (most is not None and number > most)
        if beyond or (part and self.spec.get("whole")):
            return {self.name: f"expected {self._lowered()}, got {written[:40]!r}"}
        response[self.name] = f"{int(whole)}.{part}" if part else str(int(whole))
        if part and whole.startswith("-") and int(whole) == 0:
            response[self.name] = f"-0.{part}"
        return {}

    def _lowered(self) -> str:
        return self.expected[:1].lower() + self.expected[1:]


class RankingQuestion(DeclaredQuestion):
    """A place for each option, 1 for the best; without ties, each place once."""

    level = "ordinal"

    def options(self, seen: Presented) -> tuple[Option, ...]:
        return tuple(Option(str(place), str(place)) for place in range(1, len(self.ranked) + 1))

    @property
    def ranked(self) -> tuple[str, ...]:
        """The options that get a place."""
        return tuple(self.spec["options"])

    def fields(self, seen: Presented) -> tuple[Field, ...]:
        labels = {value: option_of(value, one).label for value, one in self.spec["options"].items()}
        distinct = "" if self.spec.get("ties") else self.name
        found = []
        for value in self.ranked:
            one = self.one_field(
                seen, self.field_name(value), about=self._about(seen), scale=True, distinct=distinct
            )
            found.append(Field(**{**vars(one), "label": f"{self.ask} {labels[value]}"}))
        return tuple(found)

    def check(self, response: JSON) -> dict[str, str]:
        names = [self.field_name(value) for value in self.ranked]
        places = [response[name] for name in names if name in response]
        if self.spec.get("ties") or len(set(places)) == len(places):
            return {}
        return {
            name: f"another option has place {response[name]} too; give each place once"
            for name in names
            if name in response and places.count(response[name]) > 1
        }

    def answer(self, raw: Any, payload: JSON) -> JSON:
        """From a list, the best first; options of a list within it have the same place."""
        expected = f"expected a list of all options, the best first: {', '.join(self.ranked)}"
        if not isinstance(raw, list):
            raise ValueError(expected)
        found: JSON = {}
        place = 1
        for one in raw:
            tied = [str(value) for value in one] if isinstance(one, list) else [str(one)]
            found |= {self.field_name(value): str(place) for value in tied}
            place += len(tied)
        if sorted(found) != sorted(map(self.field_name, self.ranked)):
            raise ValueError(expected)
        return found

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(str(place) for place in range(1, len(self.ranked) + 1))

    def values(self, payload: JSON, response: JSON) -> Values:
        found = {value: response.get(self.field_name(value)) for value in self.ranked}
        return {("", value): str(place) for value, place in found.items() if place}


class TextQuestion(DeclaredQuestion):
    """A text that is written; it is read, not measured."""

    def options(self, seen: Presented) -> tuple[Option, ...]:
        return ()

    def one_field(self, seen: Presented, name: str, **more: Any) -> Field:
        return super().one_field(seen, name, **more, kind="text", max_length=self.spec.get("longest", 2_000))

    def variables(self) -> tuple[Variable, ...]:
        return ()

    def values(self, payload: JSON, response: JSON) -> Values:
        return {}


KINDS: dict[str, type[DeclaredQuestion]] = {
    "choice": ChoiceQuestion,
    "yes_no": YesNoQuestion,
    "several": SeveralQuestion,
    "scale": ScaleQuestion,
    "number": NumberQuestion,
    "ranking": RankingQuestion,
    "preference": PreferenceQuestion,
    "text": TextQuestion,
}


def question_of(name: str, spec: Any) -> DeclaredQuestion:
    """The question of a file."""
    return KINDS[spec["kind"]](name, spec)
