"""Generalization: does a rationale help with a further question? (P3, Figure 11 and section 3)"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
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
    read_answer,
    write_answer,
)
from annotator.hit_types.base import translatable as _
from annotator.hit_types.generalization_utility import schema, scoring


class GeneralizationUtility(HitType):
    """A question and a follow-up question, without and with the rationale of the first, in the order of an arm."""

    name = "generalization_utility"
    title = "Utility of rationales for generalization questions"
    task_title = _("Two questions and an explanation")
    source = "Joshi et al. 2023, Figure 11 and section 3"
    #: Labels are yes and no or letters of each item's own options, so none are declared.
    variables: ClassVar[tuple[Variable, ...]] = (
        Variable("before", "Answer before the rationale"),
        Variable("after", "Answer after the rationale"),
        Variable("follow_up_before", "Answer to the follow-up without the rationale"),
        Variable("follow_up_after", "Answer to the follow-up with the rationale"),
    )
    columns: ClassVar[tuple[Column, ...]] = schema.COLUMNS
    #: 35.93 seconds an item on average (P3, Table 17); five annotators, five questions a kind.
    defaults = Defaults(
        redundancy=5,
        exam_questions=8,
        pass_mark=6,
        minutes_per_item=0.6,
        pay_per_item="0.16",
        min_seconds=5.0,
        follow_ups=15,
        one_condition_per_instance=True,
    )
    headline = "follow_up_after"
    part_field = "arms"
    measures = frozenset({"generalization"})
    ratings_need_item = False
    most_stages = 4
    made_from = "explained_questions"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        if not source.instance.gold_label:
            return None
        explanation, follow_up = source.explained, source.followed
        arms = source.choices.get("arms")
        return source.system_columns() | {
            "key": source.pair_key(),
            "question": source.instance.input,
            "rationale": explanation.text,
            "follow_up": follow_up.text,
            "kind": follow_up.kind,
            "gold_label": source.instance.gold_label,
            "follow_up_gold": follow_up.gold_label,
            "answer": explanation.output,
            "generator": follow_up.generator,
            **({"arms": arms} if arms else {}),
        }

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        """Check one import row: ``question``, ``rationale``, ``follow_up``, ``arms``; see ``columns``."""
        return self.draft(*schema.parse_row(row))

    def present(self, payload: JSON, rng: Random) -> JSON:
        """``{"arm": number}`` if the item has several arms."""
        return schema.draw_arm(payload, rng)

    def arms(self, payload: JSON) -> int:
        """The number of arms that the item names."""
        return len(payload["arms"])

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """One stage for each step of the rater's arm."""
        return schema.stages_of(payload, presentation)

    def every_stage(self, payload: JSON) -> tuple[Stage, ...]:
        """The stages of all arms."""
        return schema.every_stage_of(payload)

    def sections(self, payload: JSON, gold: JSON | None = None) -> tuple[str, ...]:
        """The steps of all the item's arms; for an exam or practice question, those that its gold grades."""
        steps = dict.fromkeys(step for arm in payload.get("arms") or [schema.STEPS] for step in arm)
        return tuple(step for step in steps if gold is None or schema.VARIABLE_OF[step] in gold)

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """The answers that were asked for and that gold names, compared with gold."""
        return scoring.grade(response, gold)

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """One rating for each step of the rater's arm."""
        return scoring.to_ratings(response)

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """What the step shows: the explanation only if the step has it."""
        step = schema.arm_of(payload, presentation)[stage]
        first, second = Answers.of(payload["options"]), Answers.of(payload["follow_up_options"])
        about = first if step.startswith("question") else second
        shown = self.stages(payload, presentation)[stage].blocks
        lines = []
        for block in shown:
            text = f"{block.label}: {block.text}" if block.text else "\n".join(block.items)
            lines.append(text)
        return {"material": "\n".join(lines), "answers": about.form}

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER:`` with yes, no or a letter, as a response of that stage."""
        step = schema.arm_of(payload, presentation)[stage]
        field = schema.VARIABLE_OF[step]
        options = payload["options" if step.startswith("question") else "follow_up_options"]
        labels = Answers.of(options).labels
        return {
            field: read_answer(
                text, labels, keys=("answer", field, "option", "choice"), language=self.language
            )
        }

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last line of a reply that means this response."""
        step = schema.arm_of(payload, presentation)[stage]
        return write_answer(response[schema.VARIABLE_OF[step]])
