"""Human utility of a rationale: an answer before it and an answer after it. (P3, Figure 8)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from annotator.hit_types.base import (
    JSON,
    Answers,
    Column,
    Defaults,
    Grade,
    HitType,
    ItemDraft,
    ItemSource,
    Rating,
    Stage,
    Variable,
    question_columns,
    read_answer,
    write_answer,
)
from annotator.hit_types.base import translatable as _
from annotator.hit_types.utility import schema, scoring


class Utility(HitType):
    """The same question twice; the rationale is sent only after the first answer is committed."""

    name = "utility"
    title = "Human utility of rationales"
    task_title = _("Answer, read, answer again")
    source = "Joshi et al. 2023, Figure 8"
    #: Labels are yes and no or letters of each item's own options, so none are declared.
    variables: ClassVar[tuple[Variable, ...]] = (
        Variable("before", "Answer before the rationale"),
        Variable("after", "Answer after the rationale"),
    )
    columns: ClassVar[tuple[Column, ...]] = schema.COLUMNS
    #: 37.41 seconds an item on average (P3, Table 17); five annotators.
    defaults = Defaults(
        redundancy=5,
        exam_questions=8,
        pass_mark=6,
        minutes_per_item=0.63,
        pay_per_item="0.16",
        min_seconds=5.0,
        one_condition_per_instance=True,
    )
    headline = "after"
    measures = frozenset({"utility"})
    ratings_need_item = False
    most_stages = 2
    made_from = "explanations"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        if not source.instance.gold_label:
            return None
        explanation = source.explained
        return (
            source.system_columns()
            | question_columns(source.instance.input)
            | {
                "key": f"e{explanation.pk}",
                "rationale": explanation.text,
                "gold_label": source.instance.gold_label,
                "answer": explanation.output,
                "gold_rationale": source.instance.gold_rationale,
            }
        )

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        """Check one import row: ``question``, ``options`` if it has any, ``rationale``; see ``columns``."""
        return self.draft(*schema.parse_row(row))

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """``before`` and ``after``."""
        return schema.stages_of(payload)

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """The answers that gold names, usually only the second one, compared with gold."""
        return scoring.grade(response, gold)

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """One rating each of ``before`` and ``after``."""
        return scoring.to_ratings(response)

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The question with its options; the explanation and the first answer at the second stage only."""
        answers = Answers.of(payload["options"])
        values = {"question": "\n".join([payload["question"], *answers.lines]), "answers": answers.form}
        if stage == 1:
            first = before.get("before")
            values |= {
                "explanation": payload["rationale"],
                "first": answers.say(first) if first else "not given",
            }
        return values

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER:`` with yes, no or a letter, as a response of that stage."""
        field = ("before", "after")[stage]
        labels = Answers.of(payload["options"]).labels
        return {
            field: read_answer(
                text, labels, keys=("answer", field, "option", "choice"), language=self.language
            )
        }

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last line of a reply that means this response."""
        return write_answer(response[("before", "after")[stage]])
