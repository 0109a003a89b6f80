"""The kind of question that asks the same about several criteria on one page: a grid, such as a rubric with weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotator.hit_types.answers import YES_NO_WORDS
from annotator.hit_types.declaration.asking import (
    DeclaredQuestion,
    Values,
    anchors_text,
    as_label,
    digit_keys,
)
from annotator.hit_types.declaration.shown import Presented, option_of
from annotator.hit_types.declaration.shuffling import in_order
from annotator.hit_types.shapes import JSON, Field, Level, Option, Variable
from annotator.hit_types.wording import put

#: What the weighted mean of all rows is called, after the question.
SCORE = "score"


class GridQuestion(DeclaredQuestion):
    """A step of a scale, or yes or no, for each of several criteria (``rows``); with weights, their weighted mean is measured."""

    compound = True

    @property
    def steps(self) -> Sequence[int]:
        """The numbers of the scale; none if each row is answered with yes or no."""
        return range(self.spec["from"], self.spec["to"] + 1) if "from" in self.spec else range(0)

    @property
    def rows(self) -> Mapping[str, Option]:
        """Name -> label and full wording of each criterion."""
        return {name: option_of(name, one) for name, one in self.spec["rows"].items()}

    @property
    def weights(self) -> Mapping[str, float]:
        """Row -> weight, 1 if it has none; empty if none has any."""
        given = {name: one["weight"] for name, one in self.spec["rows"].items() if "weight" in one}
        return {name: float(given.get(name, 1)) for name in self.spec["rows"]} if given else {}

    def options(self, seen: Presented) -> tuple[Option, ...]:
        if not self.steps:
            return tuple(Option(value, words) for value, words in YES_NO_WORDS.items())
        return tuple(Option(str(number), str(number)) for number in self.steps)

    def fields(self, seen: Presented) -> tuple[Field, ...]:
        anchors = anchors_text(self.spec["anchors"]) if self.steps else ""
        own = self.spec.get("help", "")
        heading_help = (
            put("{help} {anchors}", help=own, anchors=anchors) if own and anchors else own or anchors
        )
        found = []
        rows = self.rows
        for name in in_order(list(rows), seen.options_drawn(self.name)):
            row = rows[name]
            one = self.one_field(seen, self.field_name(name), about=self._about(seen))
            changes = {
                "label": put("{ask} {row}", ask=self.ask, row=row.label),
                "help": row.detail,
                "row": row.label,
                "heading": self.ask,
                "heading_help": heading_help,
                "scale": True,
                "keys": digit_keys(self.steps) if self.steps else "",
            }
            found.append(Field(**{**vars(one), **changes}))
        return tuple(found)

    def answer(self, raw: Any, payload: JSON) -> JSON:
        if not isinstance(raw, Mapping) or not raw or set(raw) - set(self.rows):
            raise ValueError(f"expected an object with an answer for rows, which are: {', '.join(self.rows)}")
        return {self.field_name(name): as_label(value) for name, value in raw.items()}

    @property
    def _row_level(self) -> Level:
        return "ordinal" if self.steps else "nominal"

    @property
    def _row_scores(self) -> dict[str, float]:
        return {str(number): float(number) for number in self.steps} or {"yes": 1.0, "no": 0.0}

    def variables(self) -> tuple[Variable, ...]:
        """One for each row; with weights, also the weighted mean of the rows (yes counts as 1 and no as 0)."""
        scores = self._row_scores
        found = [
            Variable(
                self.field_name(name),
                f"{self.ask} {row.label}",
                self._row_level,
                tuple(scores),
                scores=scores,
            )
            for name, row in self.rows.items()
        ]
        if self.weights:
            found.append(Variable(self.field_name(SCORE), f"{self.ask} Weighted mean", "interval"))
        return tuple(found)

    def values(self, payload: JSON, response: JSON) -> Values:
        given = {name: response.get(self.field_name(name)) for name in self.rows}
        found = {(f"_{name}", ""): str(value) for name, value in given.items() if value}
        if self.weights and len(found) == len(self.rows):
            scores = self._row_scores
            weighted = sum(weight * scores[str(given[name])] for name, weight in self.weights.items())
            found[f"_{SCORE}", ""] = f"{round(weighted / sum(self.weights.values()), 6):g}"
        return found
