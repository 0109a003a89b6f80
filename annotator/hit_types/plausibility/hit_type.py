"""Plausibility: does each explanation justify the correct answer? (P1, Figure 5)"""

from __future__ import annotations

from random import Random

from annotator.hit_types.base import (
    JSON,
    YES_NO_WORDS,
    Defaults,
    HitType,
    ItemSource,
    Labels,
    Material,
    Rating,
    Row,
    Stage,
    Variable,
    answered_numbers,
    read_answers,
    write_answers,
)
from annotator.hit_types.base import translatable as _
from annotator.hit_types.plausibility import schema

REPLIES: Labels = {"yes": ("yes",), "moderate": ("moderate",), "no": ("no",)}


class Plausibility(HitType):
    """Several explanations of one correct answer on a page, in an order drawn for each rater."""

    name = "plausibility"
    title = "Plausibility of explanations"
    task_title = _("Does the explanation justify the answer?")
    source = "Chen et al. 2024, Figure 5"
    asks = "Are the explanations good?"
    people = "They say whether each explanation justifies the correct answer."
    variables = (
        Variable(
            "plausibility",
            "Justifies the correct answer",
            level="ordinal",
            labels=("no", "moderate", "yes"),
            scores={"no": 0.0, "moderate": 0.5, "yes": 1.0},
        ),
    )
    columns = schema.COLUMNS
    defaults = Defaults(
        redundancy=3, exam_questions=8, pass_mark=6, minutes_per_item=2.0, pay_per_item="0.60"
    )
    headline = "plausibility"
    measures = frozenset({"plausibility"})
    made_from = "instances"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        if not source.instance.gold_label or not source.explanations:
            return None
        return {
            "key": source.instance.key,
            "instance": source.instance.key,
            "question": source.instance.input,
            "answer": source.instance.gold_label,
            "explanations": [
                {"system": one.system, "model": one.model, "method": one.method, "explanation": one.text}
                for one in source.explanations
            ],
        }

    def read_item(self, row: Row) -> tuple[JSON, Material]:
        """With the row's explanations, and their gold ratings if it has any."""
        return schema.read_item(row, *super().read_item(row))

    def present(self, payload: JSON, rng: Random) -> JSON:
        """``{"order": [...]}``: the explanations' keys in the order for one rater."""
        order = list(self.units(payload))
        rng.shuffle(order)
        return {"order": order}

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """One stage with one field for each explanation, in the order drawn."""
        return (schema.stage_of(payload, presentation),)

    def units(self, payload: JSON) -> tuple[str, ...]:
        """The explanations' keys."""
        return tuple(one["key"] for one in payload["explanations"])

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """One rating of ``plausibility`` for each explanation, in the item's own order; the unit is its key."""
        return [
            Rating("plausibility", str(response[schema.field_name(key)]), key) for key in self.units(payload)
        ]

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The question, its answer and the numbered explanations, in the order drawn."""
        shown = schema.in_order(payload, presentation)
        texts = [f"Explanation {number}: {one['text']}" for number, one in enumerate(shown, 1)]
        return {
            "question": payload["question"],
            "answer": YES_NO_WORDS.get(payload["answer"], payload["answer"]),
            "explanations": "\n".join(texts),
        }

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER: 1=YES; 2=MODERATE`` as a response; the numbers are those of the order shown."""
        shown = schema.in_order(payload, presentation)
        numbers = [str(number) for number in range(1, len(shown) + 1)]
        answers = read_answers(text, numbers, REPLIES, language=self.language)
        return {schema.field_name(one["key"]): answers[n] for n, one in zip(numbers, shown, strict=True)}

    def demonstrated(
        self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> JSON | None:
        """The ratings of a demonstration under the item's own fields, in the order shown, as far as it has as many."""
        numbers = answered_numbers(text)
        keys = [one["key"] for one in schema.in_order(payload, presentation)]
        keys += numbers[len(keys) :]
        answers = read_answers(text, numbers, REPLIES)
        return {schema.field_name(key): answers[n] for n, key in zip(numbers, keys, strict=False)}

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last line of a reply that means this response."""
        shown = schema.in_order(payload, presentation)
        return write_answers(
            {str(n): response[schema.field_name(one["key"])] for n, one in enumerate(shown, 1)}
        )
