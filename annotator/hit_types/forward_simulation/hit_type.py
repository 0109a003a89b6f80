"""Forward simulation: what did the robot answer to this very input, going by its explanation or a saliency map?"""

from __future__ import annotations

from dataclasses import replace

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
    NO_ANSWER,
    NOTHING,
    SYSTEM_COLUMNS,
    Answers,
    Block,
    Column,
    DeclaredStage,
    Defaults,
    Field,
    HitType,
    ItemSource,
    Material,
    Row,
    Shown,
    Stage,
    Variable,
    is_blank,
    question_columns,
)
from annotator.hit_types.base import translatable as _
from annotator.hit_types.forward_simulation import schema


class ForwardSimulation(HitType):
    """One step: the input, an explanation, a saliency map or neither (the control), and the robot's answer to predict."""

    name = "forward_simulation"
    title = "Forward simulation"
    task_title = _("Predict what the robot answered")
    source = "Hase and Bansal 2020; Doshi-Velez and Kim 2017"
    asks = "Can people predict what the model does?"
    people = "They see an input with an explanation or marked words, and predict the model's answer to that very input."
    #: Labels are yes and no or letters of each item's own options, so none are declared.
    variables = (Variable("prediction", "Predicted answer"),)
    columns = (
        Column(
            "input",
            "What the robot was given",
            example="The plot is thin, but I left the cinema smiling.",
            options="options",
            material="instance_input",
        ),
        Column("options", "Its possible answers, as a list; if left out, yes and no", False, "list"),
        Column(
            "explanation",
            "The system's explanation of its output; empty: none is shown",
            False,
            example="“Smiling” is a good sign, so the reviewer liked the film.",
            material="explanation",
        ),
        Column(
            "saliency",
            "The input's words with their weights, as a list of pairs; the larger, the more a word counted. Empty: none is shown",
            False,
            "json",
            '[["thin", 0.1], ["smiling", 0.9]]',
            read=schema.marks_of,
        ),
        Column(
            "real_output",
            "What the robot really answered, refusal or neither if it gave no answer; never shown",
            example="yes",
            kind="label",
            labels=NO_ANSWER,
            options="options",
            hidden=True,
            material="output",
        ),
        Column(
            "gold_label",
            "The correct answer; never shown",
            False,
            "label",
            "yes",
            options="options",
            hidden=True,
        ),
        *SYSTEM_COLUMNS,
        *ITEM_COLUMNS,
    )
    declared_stages = (
        DeclaredStage(
            "prediction",
            _("What did the robot answer?"),
            shown=(
                Shown("input", _("The robot was given"), group="input"),
                Shown("options", _("It could answer"), "options", group="input"),
                Shown("explanation", _("The robot's explanation"), group="reason", optional=True),
            ),
            fields=(
                Field(
                    "prediction",
                    _("What did the robot answer?"),
                    help=_("Predict its answer, even if you would answer differently."),
                    about=("input", "explanation"),
                    options_of="options",
                ),
            ),
        ),
    )
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
    control_arms = {NOTHING: {"explanation": "", "saliency": []}}
    control_conditions = {NOTHING: schema.NOTHING}
    made_from = "explanations"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; None if the system's output isn't known. See ``columns``."""
        explanation = source.explained
        if not explanation.output:
            return None
        asked = question_columns(source.instance.input)
        asked["input"] = asked.pop("question")
        return {
            **source.system_columns(),
            **asked,
            "key": f"e{explanation.pk}",
            "explanation": explanation.text,
            "real_output": explanation.output,
            "gold_label": source.instance.gold_label,
        }

    def read_item(self, row: Row) -> tuple[JSON, Material]:
        """With the condition that follows from what is shown, if the row names none."""
        payload, material = super().read_item(row)
        if is_blank(row.raw.get("condition")):
            row.raw = {**row.raw, "condition": schema.condition_of(payload)}
        explanation = payload["explanation"] or schema.words_of(payload["saliency"])
        return payload, replace(material, explanation=explanation)

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """One stage: the input, what explains the robot's answer if anything does, and the question about its answer."""
        [stage] = super().stages(payload, presentation)
        blocks, asked, lead = stage.blocks, stage.fields[0], ""
        if payload["saliency"]:
            words, marks = zip(*payload["saliency"], strict=True)
            title = _("How much each word counted, from 1 (a little) to {most} (most)", most=schema.MOST_MARK)
            blocks += (Block("saliency", title, items=words, kind="marked", marks=marks, group="reason"),)
        elif not payload["explanation"]:
            lead = _("You see no explanation here. Choose what seems most likely.")
        if not payload["explanation"]:
            asked = replace(asked, about=("input",))
        return (replace(stage, blocks=blocks, fields=(asked,), lead=lead),)

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
            "input": answers.after(payload["input"]),
            "shown": "\n".join(shown) or "No explanation is shown.",
            "answers": answers.form,
        }
