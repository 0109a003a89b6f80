"""The kinds of question with several answers, or with written ones: several, number, slider, text."""

from __future__ import annotations

import json
from math import ceil, floor
from typing import Any

from annotator.hit_types.declaration.asking import DeclaredQuestion, Values
from annotator.hit_types.declaration.shown import Presented, option_of
from annotator.hit_types.fields import number_written
from annotator.hit_types.shapes import JSON, Field, Option, Variable
from annotator.hit_types.wording import put

NONE, OTHER = "none", "other"
#: What the variable with all chosen options is called, after the question.
SET = "set"


class SeveralQuestion(DeclaredQuestion):
    """All options that apply. *None* goes with no other; who chooses *other* says in one more field what it is."""

    compound = True

    def options(self, seen: Presented) -> tuple[Option, ...]:
        found = list(self.named_options(seen))
        found += [Option(value, self.spec[value]) for value in (OTHER, NONE) if self.spec.get(value)]
        return tuple(found)

    def fields(self, seen: Presented) -> tuple[Field, ...]:
        chosen = self.one_field(seen, self.name, about=self._about(seen), kind="multi", alone=self._alone)
        if not self.spec.get(OTHER):
            return (chosen,)
        label = put("{other}: what?", other=self.spec[OTHER])
        return (chosen, Field(self._other, label, "text", when=((self.name, (OTHER,)),), max_length=500))

    @property
    def _alone(self) -> str:
        return NONE if self.spec.get(NONE) else ""

    @property
    def _other(self) -> str:
        return f"{self.name}_{OTHER}"

    def check(self, response: JSON, payload: JSON) -> dict[str, str]:
        chosen = response.get(self.name)
        if chosen is None:
            return {}
        # Stored in the order of the file, in whichever order they were shown.
        chosen = response[self.name] = [one for one in (*self.spec["options"], OTHER, NONE) if one in chosen]
        if NONE in chosen and len(chosen) > 1 and self.spec.get(NONE):
            return {self.name: f"choose {self.spec[NONE]!r} alone, or the others without it"}
        return {}

    def answer(self, raw: Any, payload: JSON) -> JSON:
        if not isinstance(raw, list):
            raise ValueError("expected a list of the question's options")
        return {self.name: [str(one) for one in raw]}

    @property
    def _named(self) -> dict[str, Any]:
        return {**self.spec["options"], **({OTHER: self.spec[OTHER]} if self.spec.get(OTHER) else {})}

    def variables(self) -> tuple[Variable, ...]:
        """One for each option: whether it was chosen; and all that were, as a set."""
        each = [
            Variable(
                f"{self.name}_{value}", f"{self.ask} {option_of(value, one).label}", labels=("yes", "no")
            )
            for value, one in self._named.items()
        ]
        return (*each, Variable(f"{self.name}_{SET}", self.ask, "set"))

    def values(self, payload: JSON, response: JSON) -> Values:
        if self.name not in response:
            return {}
        chosen = response[self.name]
        found = {(f"_{value}", ""): "yes" if value in chosen else "no" for value in self._named}
        return {**found, (f"_{SET}", ""): value_text(sorted(one for one in chosen if one in self._named))}


def value_text(value: Any) -> str:
    """A value of a structured level as the ratings table has it.

    >>> value_text({"choice": "a", "strength": 2})
    '{"choice":"a","strength":2}'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


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

    def check(self, response: JSON, payload: JSON) -> dict[str, str]:
        written = response.get(self.name)
        if not written:
            return {}
        found = number_written(written, self.spec.get("unit", ""))
        if found is None:
            return {self.name: f"expected {self._lowered()}, got {written[:40]!r}"}
        number = float(found)
        least, most = self.spec.get("least"), self.spec.get("most")
        beyond = (least is not None and number < least) or (most is not None and number > most)
        if beyond or ("." in found and self.spec.get("whole")):
            return {self.name: f"expected {self._lowered()}, got {written[:40]!r}"}
        response[self.name] = found
        return {}

    def _lowered(self) -> str:
        return self.expected[:1].lower() + self.expected[1:]


class SliderQuestion(NumberQuestion):
    """A number between two ends, in steps: pulled, or written. Nothing is chosen before it is moved."""

    @property
    def _step(self) -> int:
        return int(self.spec.get("step", 1))

    def one_field(self, seen: Presented, name: str, **more: Any) -> Field:
        found = super().one_field(seen, name, **more)
        ends = (self.spec["low"], self.spec["high"])
        said = put(
            f"{self.spec['least']}: {{low}}; {self.spec['most']}: {{high}}.", low=ends[0], high=ends[1]
        )
        own = self.spec.get("help", "")
        help_text = put("{help} {ends}", help=own, ends=said) if own else said
        return Field(**{**vars(found), "help": help_text, "step": self._step, "ends": ends})

    @property
    def expected(self) -> str:
        steps = f", in steps of {self._step}" if self._step > 1 else ""
        unit = f", in {self.spec['unit']}" if self.spec.get("unit") else ""
        return f"A whole number from {self.spec['least']} to {self.spec['most']}{steps}{unit}"

    def check(self, response: JSON, payload: JSON) -> dict[str, str]:
        written = response.get(self.name)
        if not written:
            return {}
        if faults := super().check(response, payload):
            return faults
        number = response[self.name]
        if "." in number or (int(number) - self.spec["least"]) % self._step:
            return {self.name: f"expected {self._lowered()}, got {written[:40]!r}"}
        return {}

    def is_right(self, name: str, given: Any, correct: Any) -> bool:
        if not isinstance(given, str) or not given or not correct:
            return bool(given == correct)
        return abs(int(given) - int(correct)) <= self.spec.get("tolerance", 0)


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
