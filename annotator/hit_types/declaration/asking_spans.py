"""The kind of question in which passages of a text are marked, each with a category and a severity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.hit_types.declaration.asking import DeclaredQuestion, Values
from annotator.hit_types.declaration.asking_more import value_text
from annotator.hit_types.declaration.passages import (
    MOST,
    NONE,
    MarkedPassage,
    PassageFault,
    PassageReader,
    lines_of,
    passage_line,
    passages_kept,
)
from annotator.hit_types.declaration.shown import Presented, option_of
from annotator.hit_types.shapes import JSON, Field, Option, Passages, Variable

#: What the number of passages, and the sum of their weights, are called after the question.
COUNT, SCORE = "count", "score"
#: Characters of an answer: texts have up to 20,000, and passages may overlap.
_LONGEST = 100_000
#: The share of the union that two passages must have in common to count as the same in an exam.
OVERLAP = 0.5


class SpansQuestion(DeclaredQuestion):
    """Passages of the column ``in``; they may overlap. The response has a line for each: see ``passages``."""

    compound = True

    def options(self, seen: Presented) -> tuple[Option, ...]:
        return ()

    @property
    def passages(self) -> Passages:
        """The categories and severities."""
        categories, severities = (
            tuple(option_of(value, one) for value, one in self.spec.get(part, {}).items())
            for part in ("categories", "severities")
        )
        return Passages(self.spec["in"], categories, severities, self.spec.get("none", ""))

    def one_field(self, seen: Presented, name: str, **more: Any) -> Field:
        found = super().one_field(seen, name, **more)
        about = tuple(dict.fromkeys((*found.about, self.spec["in"])))
        changes = {"kind": "text", "max_length": _LONGEST, "about": about, "passages": self.passages}
        return Field(**{**vars(found), **changes})

    def received(self, raw: Mapping[str, Any]) -> JSON:
        """A list of ``{start, end, category, severity}`` or ``{words, category, severity}``, as lines."""
        given = raw.get(self.name)
        if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
            return {}
        return {self.name: "\n".join(map(passage_line, given)) or (NONE if self.spec.get("none") else "")}

    def check(self, response: JSON, payload: JSON) -> dict[str, str]:
        written = response.get(self.name)
        if not written:
            return {}
        text = payload[self.spec["in"]]
        try:
            found = self._reader(text).read(written)
        except PassageFault as fault:
            return {self.name: str(fault)}
        if not found and not self.spec.get("none"):
            if self.spec.get("required", True):
                return {self.name: "marks nothing; mark at least one passage"}
            response[self.name] = ""
            return {}
        response[self.name] = lines_of(found, text) if found else NONE
        return {}

    def _reader(self, text: str) -> PassageReader:
        return PassageReader(text, self.passages, self.spec.get("most", MOST))

    def answer(self, raw: Any, payload: JSON) -> JSON:
        expected = 'expected a list of {words: "...", category: ..., severity: ...}, or none'
        if raw in (NONE, []):
            return {self.name: NONE}
        if not isinstance(raw, list) or not all(isinstance(one, Mapping) for one in raw):
            raise ValueError(expected)
        for one in raw:
            if set(one) - {"words", "start", "end", "category", "severity", "nth"} or "category" not in one:
                raise ValueError(expected)
        return self.received({self.name: raw})

    def is_right(self, name: str, given: Any, correct: Any) -> bool:
        """Whether the same passages are marked, one for one: the same category, and at least half in common."""
        if not isinstance(given, str) or not isinstance(correct, str):
            return bool(given == correct)
        left, wanted = passages_kept(given), passages_kept(correct)
        if len(left) != len(wanted):
            return False
        for one in wanted:
            near = [
                other for other in left if other.category == one.category and _shared(one, other) >= OVERLAP
            ]
            if not near:
                return False
            left.remove(max(near, key=lambda other: _shared(one, other)))
        return True

    @property
    def weights(self) -> dict[str, float]:
        """Severity -> weight, 1 if it has none; empty if none has any."""
        severities = self.spec.get("severities", {})
        given = {name: one["weight"] for name, one in severities.items() if "weight" in one}
        return {name: float(given.get(name, 1)) for name in severities} if given else {}

    def variables(self) -> tuple[Variable, ...]:
        """The passages, how many they are, and if severities have weights, the sum of these."""
        found = [Variable(self.name, self.ask, "span")]
        found.append(Variable(f"{self.name}_{COUNT}", f"{self.ask} Number of passages", "interval"))
        if self.weights:
            found.append(Variable(f"{self.name}_{SCORE}", f"{self.ask} Sum of weights", "interval"))
        return tuple(found)

    def values(self, payload: JSON, response: JSON) -> Values:
        if self.name not in response:
            return {}
        marked = passages_kept(response[self.name])
        found = {
            ("", ""): value_text([one.value for one in marked]),
            (f"_{COUNT}", ""): str(len(marked)),
        }
        if self.weights:
            found[f"_{SCORE}", ""] = f"{round(sum(self.weights[one.severity] for one in marked), 6):g}"
        return found


def _shared(one: MarkedPassage, other: MarkedPassage) -> float:
    """The share of their union that two passages have in common."""
    common = max(0, min(one.end, other.end) - max(one.start, other.start))
    return common / (one.end - one.start + other.end - other.start - common)
