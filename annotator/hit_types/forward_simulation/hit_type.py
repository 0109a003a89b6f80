"""Forward simulation: what did the robot answer to this very input, going by its explanation or a saliency map?"""

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
from annotator.hit_types.forward_simulation import schema, scoring


class ForwardSimulation(HitType):
    """One step: the input, an explanation, a saliency map or neither (the control), and the robot's answer to predict."""

    name = "forward_simulation"
    title = "Forward simulation"
    task_title = _("Predict what the robot answered")
    source = "Hase and Bansal 2020; Doshi-Velez and Kim 2017"
    #: Labels are yes and no or letters of each item's own options, so none are declared.
    variables: ClassVar[tuple[Variable, ...]] = (Variable("prediction", "Predicted answer"),)
    columns: ClassVar[tuple[Column, ...]] = schema.COLUMNS
    defaults = Defaults(
        redundancy=3,
        exam_questions=8,
        pass_mark=6,
        minutes_per_item=0.75,
        pay_per_item="0.20",
        min_seconds=3.0,
        one_condition_per_instance=True,
    )
    headline = "prediction"
    measures = frozenset({"forward_simulation"})
    ratings_need_item = False
    made_from = "explanations"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; None if the system's output isn't known. See ``columns``."""
        explanation = source.explained
        if not explanation.output:
            return None
        asked = question_columns(source.instance.input)
        row = {"input": asked["question"], "key": f"e{explanation.pk}", "explanation": explanation.text}
        row |= {"options": asked["options"]} if "options" in asked else {}
        row |= {"real_output": explanation.output, "gold_label": source.instance.gold_label}
        return source.system_columns() | row

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        """Check one import row: ``input``, ``real_output``, and what is shown beside the input; see ``columns``."""
        return self.draft(*schema.parse_row(row))

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """One stage with one question."""
        return schema.stages_of(payload)

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """The prediction compared with gold."""
        return scoring.grade(response, gold)

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """One rating of ``prediction``: yes, no, or the letter of an option."""
        return scoring.to_ratings(response)

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The input with its options, and what is shown beside it; in a saliency map, each word is followed by its mark."""
        answers = Answers.of(payload["options"])
        shown = []
        if payload["explanation"]:
            shown.append(f"The robot's explanation: {payload['explanation']}")
        if payload["saliency"]:
            title = f"How much each word counted, from 1 (a little) to {schema.MOST_MARK} (most)"
            shown.append(f"{title}: {schema.words_of(payload['saliency'])}")
        return {
            "input": "\n".join([payload["input"], *answers.lines]),
            "shown": "\n".join(shown) or "No explanation is shown.",
            "answers": answers.form,
        }

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER:`` with yes, no or a letter, as a response."""
        labels = Answers.of(payload["options"]).labels
        return {"prediction": read_answer(text, labels, keys=("answer", "prediction", "option", "choice"))}

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last line of a reply that means this response."""
        return write_answer(response["prediction"])
