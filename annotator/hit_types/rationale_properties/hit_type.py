"""Properties of a rationale, two at a time: is each one present? (P3, Figures 3 and 9)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from annotator.hit_types.base import (
    JSON,
    YES_NO_LABELS,
    Column,
    Defaults,
    Demo,
    Grade,
    HitType,
    ItemDraft,
    ItemSource,
    Rating,
    Stage,
    Variable,
    question_columns,
    read_answers,
    write_answers,
)
from annotator.hit_types.base import translatable as _
from annotator.hit_types.rationale_properties import schema, scoring

TITLES = {
    "grammaticality": "Grammaticality",
    "validity": "Factual validity",
    "association": "Association with the answer (support)",
    "contrast": "Contrast between answers (non-ambiguity)",
    "novelty": "Novel information",
    "leakage": "Leakage of the answer",
    "coherence": "Coherence (nothing irrelevant)",
    "conciseness": "Conciseness (nothing redundant)",
}


class RationaleProperties(HitType):
    """One group of two properties for each item; each group has its own instructions, and usually its own study."""

    name = "rationale_properties"
    title = "Properties of rationales"
    task_title = _("Judge an explanation")
    source = "Joshi et al. 2023, Figures 3 and 9"
    variables: ClassVar[tuple[Variable, ...]] = tuple(
        Variable(name, TITLES[name], labels=("yes", "no")) for name in schema.PROPERTIES
    )
    columns: ClassVar[tuple[Column, ...]] = schema.COLUMNS
    #: 36.50 seconds an item on average (P3, Table 17); five annotators.
    defaults = Defaults(
        redundancy=5,
        exam_questions=8,
        pass_mark=6,
        minutes_per_item=0.61,
        pay_per_item="0.16",
        min_seconds=5.0,
        one_condition_per_instance=True,
    )
    demo = Demo(summary="Judge one aspect of explanations.", by_variant=True)
    headline = "association"
    measures = frozenset({"rationale_properties"})
    ratings_need_item = False
    variants: ClassVar[tuple[str, ...]] = tuple(schema.GROUPS)
    variant_field = "group"
    made_from = "explanations"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        explanation = source.explained
        return (
            source.system_columns()
            | question_columns(source.instance.input)
            | {
                "key": f"e{explanation.pk}",
                "answer": explanation.output,
                "rationale": explanation.text,
                "group": source.choices.get("group", ""),
            }
        )

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        """Check one import row: ``question``, ``answer``, ``rationale``, ``group``; see ``columns``."""
        return self.draft(*schema.parse_row(row))

    def for_item(self, payload: JSON) -> HitType:
        """The type in a study of this item's group: its two properties, with the first as the headline."""
        asked = [asked.name for asked in schema.GROUPS[payload["group"]]]
        variables = tuple(variable for variable in self.variables if variable.name in asked)
        return super().for_item(payload).replaced(variables=variables, headline=asked[0])

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """One stage; the second property is asked after the first."""
        return schema.stages_of(payload)

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """Both properties compared with gold."""
        return scoring.grade(response, gold)

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """One rating for each of the group's two properties."""
        return scoring.to_ratings(response, schema.PROPERTIES)

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The question with its options, the answer and the explanation."""
        blocks = {block.name: block for block in schema.stages_of(payload)[0].blocks}
        options = blocks["options"].items if "options" in blocks else ()
        return {
            "question": "\n".join([payload["question"], *options]),
            "answer": schema.say(payload),
            "explanation": payload["rationale"],
        }

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER: 1=YES; 2=NO`` as a response; 1 and 2 are the group's properties in their order."""
        answers = read_answers(text, ["1", "2"], YES_NO_LABELS, language=self.language)
        first, second = schema.GROUPS[payload["group"]]
        return {first.name: answers["1"], second.name: answers["2"]}

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last line of a reply that means this response."""
        first, second = schema.GROUPS[payload["group"]]
        return write_answers({"1": response[first.name], "2": response[second.name]})
