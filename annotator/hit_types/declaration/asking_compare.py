"""The kinds of question that compare several things: preference, ranking, best and worst."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.hit_types.declaration.asking import DeclaredQuestion, Spellings, Values
from annotator.hit_types.declaration.asking_more import value_text
from annotator.hit_types.declaration.shown import Presented
from annotator.hit_types.shapes import JSON, Field, Option, Variable
from annotator.hit_types.wording import put

EQUAL = "equal"
#: Parts of names: the field and the variable of a preference's strength, and the variables of whole answers.
STRENGTH, DEGREE, PAIR, ORDER = "strength", "degree", "pair", "order"
BEST, WORST = "best", "worst"


class ComparingQuestion(DeclaredQuestion):
    """A question about the columns ``between``, in the order in which a rater sees them, or about options of the file."""

    @property
    def compared(self) -> tuple[str, ...]:
        """The keys of what is compared, in the order of the file."""
        return tuple(self.spec.get("between") or self.spec["options"])

    def compared_options(self, seen: Presented) -> tuple[Option, ...]:
        """What is compared, as one rater sees it."""
        if columns := self.spec.get("between"):
            return tuple(Option(column, seen.label(column)) for column in sorted(columns, key=seen.place))
        return self.named_options(seen)

    def spellings(self, option: Option) -> Spellings:
        """Columns are named as a rater sees them: their own names could tell who wrote them."""
        return (
            (option.label.lower(),)
            if option.value in self.spec.get("between", ())
            else super().spellings(option)
        )


class PreferenceQuestion(ComparingQuestion):
    """The better one of several columns, or that they are equally good; of two, also how much better it is."""

    def options(self, seen: Presented) -> tuple[Option, ...]:
        found = self.compared_options(seen)
        return (*found, Option(EQUAL, self.spec["equal"])) if self.spec.get("equal") else found

    def fields(self, seen: Presented) -> tuple[Field, ...]:
        better = super().fields(seen)
        if not self.strengths:
            return better
        options = tuple(Option(value, label) for value, label in self.strengths.items())
        when = ((self.name, self.compared),)
        about = self._about(seen)
        label = self.spec.get("how_much", "How much better is it?")
        return (*better, Field(self._strength, label, options=options, when=when, about=about))

    @property
    def strengths(self) -> Mapping[str, str]:
        """Number -> label of how much better it is, the weakest first; empty if that isn't asked."""
        return dict(sorted(self.spec.get("strength", {}).items()))

    @property
    def _strength(self) -> str:
        return f"{self.name}_{STRENGTH}"

    def spellings(self, option: Option) -> Spellings:
        if option.value in self.strengths:
            return (option.value, option.label.lower().strip(" ."))
        if option.value == EQUAL:
            return tuple(dict.fromkeys([EQUAL, "equally good", "tie", option.label.lower().strip(" .")]))
        return super().spellings(option)

    def answer(self, raw: Any, payload: JSON) -> JSON:
        if not self.strengths or raw == EQUAL:
            return super().answer(raw, payload)
        if not isinstance(raw, Mapping) or set(raw) != {"choice", STRENGTH}:
            raise ValueError(
                f"expected {EQUAL} or {{choice: {' or '.join(self.compared)}, {STRENGTH}: a number}}"
            )
        return {self.name: str(raw["choice"]), self._strength: str(raw[STRENGTH])}

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.spec["between"], *([EQUAL] if self.spec.get("equal") else ()))

    def variables(self) -> tuple[Variable, ...]:
        """Which one is better; of two, the whole answer, and a scale from much better to much worse where strength is asked."""
        found = super().variables()
        if len(self.compared) != 2:
            return found
        if self.strengths:
            numbers = list(map(int, self.strengths))
            steps = [*(-n for n in reversed(numbers)), *([0] if self.spec.get("equal") else []), *numbers]
            scores = {str(n): float(n) for n in steps}
            title = f"{self.ask} (negative: the first is better)"
            found += (Variable(f"{self.name}_{DEGREE}", title, "ordinal", tuple(scores), scores=scores),)
        return (*found, Variable(f"{self.name}_{PAIR}", self.ask, "pairwise"))

    def values(self, payload: JSON, response: JSON) -> Values:
        found = super().values(payload, response)
        if len(self.compared) != 2 or self.name not in response:
            return found
        chosen = response[self.name]
        choice = EQUAL if chosen == EQUAL else "ab"[self.compared.index(chosen)]
        said = response.get(self._strength)
        strength = 0 if chosen == EQUAL else int(said) if said else None
        if self.strengths and strength is not None:
            found[f"_{DEGREE}", ""] = str(-strength if choice == "a" else strength)
        found[f"_{PAIR}", ""] = value_text({"choice": choice, STRENGTH: strength})
        return found


class RankingQuestion(ComparingQuestion):
    """A place for each of several, 1 for the best; without ties, each place once."""

    level = "ordinal"

    def options(self, seen: Presented) -> tuple[Option, ...]:
        return tuple(Option(str(place), str(place)) for place in range(1, len(self.compared) + 1))

    def fields(self, seen: Presented) -> tuple[Field, ...]:
        distinct = "" if self.spec.get("ties") else self.name
        found = []
        for option in self.compared_options(seen):
            one = self.one_field(
                seen, self.field_name(option.value), about=self._about(seen), scale=True, distinct=distinct
            )
            found.append(
                Field(**{**vars(one), "label": put("{ask} {option}", ask=self.ask, option=option.label)})
            )
        return tuple(found)

    def check(self, response: JSON, payload: JSON) -> dict[str, str]:
        names = [self.field_name(value) for value in self.compared]
        places = [response[name] for name in names if name in response]
        if self.spec.get("ties") or len(set(places)) == len(places):
            return {}
        return {
            name: f"another one has place {response[name]} too; give each place once"
            for name in names
            if name in response and places.count(response[name]) > 1
        }

    def answer(self, raw: Any, payload: JSON) -> JSON:
        """From a list, the best first; those of a list within it have the same place."""
        expected = f"expected a list of all, the best first: {', '.join(self.compared)}"
        if not isinstance(raw, list):
            raise ValueError(expected)
        found: JSON = {}
        place = 1
        for one in raw:
            tied = [str(value) for value in one] if isinstance(one, list) else [str(one)]
            found |= {self.field_name(value): str(place) for value in tied}
            place += len(tied)
        if sorted(found) != sorted(map(self.field_name, self.compared)):
            raise ValueError(expected)
        return found

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(str(place) for place in range(1, len(self.compared) + 1))

    def units(self, payload: JSON) -> list[str]:
        return [*self.compared, ""]

    def variables(self) -> tuple[Variable, ...]:
        """The place of each, and the whole order."""
        return (*super().variables(), Variable(f"{self.name}_{ORDER}", self.ask, "ranking"))

    def values(self, payload: JSON, response: JSON) -> Values:
        places = {value: response.get(self.field_name(value)) for value in self.compared}
        found = {("", value): str(place) for value, place in places.items() if place}
        if len(found) == len(self.compared):
            at: dict[int, list[str]] = {}
            for value, place in places.items():
                at.setdefault(int(str(place)), []).append(value)
            order = [tied if len(tied) > 1 else tied[0] for _, tied in sorted(at.items())]
            found[f"_{ORDER}", ""] = value_text(order)
        return found


class BestWorstQuestion(ComparingQuestion):
    """The best and the worst of several."""

    compound = True

    def options(self, seen: Presented) -> tuple[Option, ...]:
        return self.compared_options(seen)

    def fields(self, seen: Presented) -> tuple[Field, ...]:
        found = []
        for part in (BEST, WORST):
            one = self.one_field(seen, self.field_name(part), about=self._about(seen), distinct=self.name)
            label = self.spec.get(part, part.capitalize())
            found.append(Field(**{**vars(one), "label": put("{ask} {which}", ask=self.ask, which=label)}))
        return tuple(found)

    def check(self, response: JSON, payload: JSON) -> dict[str, str]:
        best, worst = (self.field_name(part) for part in (BEST, WORST))
        if best in response and response[best] == response.get(worst):
            return {worst: "is also chosen as the best; choose another one"}
        return {}

    def answer(self, raw: Any, payload: JSON) -> JSON:
        if not isinstance(raw, Mapping) or not raw or set(raw) - {BEST, WORST}:
            raise ValueError(f"expected {{best: ..., worst: ...}}, each one of: {', '.join(self.compared)}")
        return {self.field_name(part): str(value) for part, value in raw.items()}

    def variables(self) -> tuple[Variable, ...]:
        """Which one is the best, and which the worst."""
        return tuple(
            Variable(
                self.field_name(part),
                f"{self.ask} {self.spec.get(part, part.capitalize())}",
                labels=self.compared,
            )
            for part in (BEST, WORST)
        )

    def values(self, payload: JSON, response: JSON) -> Values:
        found = {part: response.get(self.field_name(part)) for part in (BEST, WORST)}
        return {(f"_{part}", ""): value for part, value in found.items() if value}
