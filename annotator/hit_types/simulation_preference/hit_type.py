"""Counterfactual simulation on preferences: which response will the robot choose next? (P1, Figure 4)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from annotator.hit_types.base import (
    JSON,
    Column,
    Defaults,
    Grade,
    HitType,
    ItemDraft,
    ItemSource,
    Labels,
    Rating,
    Stage,
    Variable,
    preference_parts,
    read_answer,
    write_answer,
)
from annotator.hit_types.base import translatable as _
from annotator.hit_types.simulation_preference import schema, scoring

REPLIES: Labels = {
    "response_1": ("response 1", "1", "candidate response 1"),
    "response_2": ("response 2", "2", "candidate response 2"),
    schema.EQUALLY_LIKELY: (
        "equally likely",
        "both equally likely",
        "either",
        "cannot guess",
        "can't guess",
        "can not guess",
    ),
}
PHRASES = (
    r"(?:(?:so|thus|hence|therefore)[,:]?\s+)?(?:the\s+)?robot\s+(?:will|would)\s+(?:most\s+)?(?:likely\s+|probably\s+)?"
    r"(?:choose|pick|prefer)\s+",
    r"(?:(?:so|thus|hence|therefore)[,:]?\s+)?(?=(?:candidate\s+)?response\s+[12]\s+is\s+more\s+helpful)",
)


class SimulationPreference(HitType):
    """Response 1, response 2, or equally likely."""

    name = "simulation_preference"
    title = "Counterfactual simulation, preferences"
    task_title = _("Predict the robot's choice")
    source = "Chen et al. 2024, Figure 4"
    variables: ClassVar[tuple[Variable, ...]] = (
        Variable(
            "simulation",
            "Simulated choice",
            labels=("response_1", "response_2", schema.EQUALLY_LIKELY),
            abstain=(schema.EQUALLY_LIKELY,),
        ),
    )
    columns: ClassVar[tuple[Column, ...]] = schema.COLUMNS
    defaults = Defaults(
        redundancy=3,
        exam_questions=11,
        pass_mark=9,
        minutes_per_item=2.0,
        pay_per_item="0.60",
        min_seconds=5.0,
        follow_ups=6,
    )
    headline = "simulation"
    measures = frozenset({"simulatability"})
    ratings_need_item = False
    made_from = "follow_ups"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        explanation, follow_up = source.explained, source.followed
        context, first, second = preference_parts(source.instance.input)
        new, new_first, new_second = preference_parts(follow_up.text)
        return source.system_columns() | {
            "key": source.pair_key(),
            "context": context,
            "response_1": first,
            "response_2": second,
            "explanation": explanation.text,
            "choice": explanation.output[-1:],
            "follow_up_context": new,
            "follow_up_response_1": new_first,
            "follow_up_response_2": new_second,
            "real_output": source.output[-1:],
            "generator": follow_up.generator,
            "kind": follow_up.kind,
            "gold_label": source.instance.gold_label[-1:],
        }

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        """Check one import row: both examples, the explanation and the choice; see ``columns``."""
        return self.draft(*schema.parse_row(row))

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """One stage with one question."""
        return schema.stages_of(payload)

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """The choice compared with gold."""
        return scoring.grade(response, gold)

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """One rating of ``simulation``."""
        return scoring.to_ratings(response)

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The payload's texts, with the choice as people see it."""
        return payload | {"choice": payload["choice"].replace("_", " ").capitalize()}

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER: RESPONSE 1``, ``RESPONSE 2`` or ``EQUALLY LIKELY`` as a response."""
        keys = ("answer", "choice", "simulation", "prediction", "guess")
        return {"choice": read_answer(text, REPLIES, keys=keys, phrases=PHRASES, language=self.language)}

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last line of a reply that means this response."""
        return write_answer(REPLIES[response["choice"]][0])
