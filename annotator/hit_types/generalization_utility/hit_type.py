"""Generalization: does a rationale help with a further question? (P3, Figure 11 and section 3)"""

from __future__ import annotations

from random import Random

from annotator.hit_types.base import JSON, Answers, Defaults, Grade, HitType, ItemSource, Stage, Variable
from annotator.hit_types.base import translatable as _
from annotator.hit_types.generalization_utility import schema


class GeneralizationUtility(HitType):
    """A question and a follow-up question, without and with the rationale of the first, in the order of an arm."""

    name = "generalization_utility"
    title = "Utility of rationales for generalization questions"
    task_title = _("Two questions and an explanation")
    source = "Joshi et al. 2023, Figure 11 and section 3"
    asks = "Do the explanations help people?"
    people = "They answer a question and a related one, without and with the explanation."
    #: Labels are yes and no or letters of each item's own options, so none are declared.
    variables = (
        Variable("before", "Answer before the rationale"),
        Variable("after", "Answer after the rationale"),
        Variable("follow_up_before", "Answer to the follow-up without the rationale"),
        Variable("follow_up_after", "Answer to the follow-up with the rationale"),
    )
    columns = schema.COLUMNS
    #: 35.93 seconds an item on average (P3, Table 17); five annotators, five questions a kind.
    defaults = Defaults(
        redundancy=5,
        exam_questions=8,
        pass_mark=6,
        minutes_per_item=0.6,
        pay_per_item="0.16",
        follow_ups=15,
        one_condition_per_instance=True,
    )
    headline = "follow_up_after"
    part_field = "arms"
    measures = frozenset({"generalization"})
    most_stages = 4
    made_from = "explained_questions"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        if not source.instance.gold_label:
            return None
        arms = source.choices.get("arms")
        return {
            **source.pair_columns(),
            "question": source.instance.input,
            "rationale": source.explained.text,
            "follow_up": source.followed.text,
            "follow_up_gold": source.followed.gold_label,
            "answer": source.explained.output,
            **({"arms": arms} if arms else {}),
        }

    def present(self, payload: JSON, rng: Random) -> JSON:
        """``{"arm": number}`` if the item has several arms."""
        arms = len(payload["arms"])
        return {"arm": rng.randrange(arms)} if arms > 1 else {}

    def arms(self, payload: JSON) -> int:
        """The number of arms that the item names."""
        return len(payload["arms"])

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """One stage for each step of the rater's arm."""
        steps = schema.arm_of(payload, presentation)
        return tuple(schema.stage_of(payload, step, seen=steps[:n]) for n, step in enumerate(steps))

    def every_stage(self, payload: JSON) -> tuple[Stage, ...]:
        """The stages of all arms."""
        used = {step for arm in payload["arms"] for step in arm}
        return tuple(schema.stage_of(payload, step, seen=[]) for step in schema.STEPS if step in used)

    def sections(self, payload: JSON, gold: JSON | None = None) -> tuple[str, ...]:
        """The steps of all the item's arms; for an exam or practice question, those that its gold grades."""
        steps = dict.fromkeys(step for arm in payload.get("arms") or [schema.STEPS] for step in arm)
        return tuple(step for step in steps if gold is None or schema.VARIABLE_OF[step] in gold)

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """The answers that gold names, compared with gold; what the rater's arm did not ask is not graded."""
        return super().grade(response, {name: value for name, value in gold.items() if name in response})

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """What the step shows: the explanation only if the step has it."""
        step = schema.arm_of(payload, presentation)[stage]
        first, second = Answers.of(payload["options"]), Answers.of(payload["follow_up_options"])
        asked = first if step.startswith("question") else second
        lines = [
            f"{block.label}: {block.text}" if block.text else "\n".join(block.items)
            for block in self.stages(payload, presentation)[stage].blocks
        ]
        about = payload["question" if step.startswith("question") else "follow_up"]
        return {"material": "\n".join(lines), "answers": asked.form, "example": asked.example(about)}
