"""Validation of generalization questions: relation, answerable, answer. (P3, Figure 10)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from annotator.hit_types.base import (
    JSON,
    YES_NO_LABELS,
    Column,
    Defaults,
    Grade,
    HitType,
    ItemDraft,
    ItemSource,
    Labels,
    Rating,
    Stage,
    Unparsable,
    Variable,
    read_answers,
    write_answers,
)
from annotator.hit_types.base import translatable as _
from annotator.hit_types.question_validation import schema, scoring

REPLIES: Labels = {**YES_NO_LABELS, "none": ("none", "n/a", "na", "not applicable", "-")}


class QuestionValidation(HitType):
    """Each kind of question (rephrase, counterfactual, similar reasoning) has its own instructions."""

    name = "question_validation"
    title = "Validation of generalization questions"
    task_title = _("Check an accompanying question")
    source = "Joshi et al. 2023, Figure 10"
    variables: ClassVar[tuple[Variable, ...]] = (
        Variable("relation", "The relation holds", labels=("yes", "no")),
        Variable("answerable", "Answerable from the context", labels=("yes", "no")),
        Variable("answer_right", "The answer is right", labels=("yes", "no")),
    )
    columns: ClassVar[tuple[Column, ...]] = schema.COLUMNS
    defaults = Defaults(
        redundancy=3,
        exam_questions=8,
        pass_mark=6,
        minutes_per_item=0.7,
        pay_per_item="0.18",
        min_seconds=5.0,
    )
    headline = "relation"
    ratings_need_item = False
    variants: ClassVar[tuple[str, ...]] = tuple(schema.RELATIONS)
    variant_field = "kind"
    measures = frozenset({"question_validity"})
    made_from = "questions"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        if not source.instance.gold_rationale:
            return None
        follow_up = source.followed
        return {
            "key": f"f{follow_up.pk}",
            "instance": source.instance.key,
            "context": source.instance.gold_rationale,
            "question": source.instance.input,
            "gold_label": source.instance.gold_label,
            "follow_up": follow_up.text,
            "answer": follow_up.gold_label,
            "kind": follow_up.kind,
            "generator": follow_up.generator,
        }

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        """Check one import row: ``context``, ``question``, ``follow_up``, ``kind``, ``answer``; see ``columns``."""
        return self.draft(*schema.parse_row(row))

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """One stage with three steps."""
        return schema.stages_of(payload)

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """Each answer compared with gold."""
        return scoring.grade(response, gold)

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """Up to three ratings."""
        return scoring.to_ratings(response)

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The payload's texts, with the answer as people see it."""
        return payload | {"answer": payload["answer"].capitalize()}

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER: 1=YES; 2=YES; 3=NO`` as a response; the third is NONE if the second is NO."""
        answers = read_answers(text, ["1", "2", "3"], REPLIES, language=self.language)
        if "none" in (answers["1"], answers["2"]):
            raise Unparsable("1 and 2 need YES or NO")
        if (answers["2"] == "no") != (answers["3"] == "none"):
            raise Unparsable(f"2={answers['2']} does not go with 3={answers['3']}", kind="ambiguous")
        response = {"relation": answers["1"], "answerable": answers["2"]}
        return response if answers["3"] == "none" else response | {"answer_right": answers["3"]}

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last line of a reply that means this response."""
        third = response.get("answer_right", "none")
        return write_answers({"1": response["relation"], "2": response["answerable"], "3": third})
