"""Counterfactual simulation on yes/no questions: what will the robot answer next? (P1, Figure 3)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from annotator.hit_types.base import (
    JSON,
    Column,
    Defaults,
    Demo,
    Grade,
    HitType,
    ItemDraft,
    ItemSource,
    Labels,
    Rating,
    Stage,
    Variable,
    read_answer,
    read_object,
    write_answer,
)
from annotator.hit_types.base import translatable as _
from annotator.hit_types.simulation import schema, scoring

REPLIES: Labels = {
    "yes": ("yes", "helpful - yes"),
    "no": ("no", "helpful - no"),
    scoring.CANNOT_GUESS: (
        "cannot guess",
        "can't guess",
        "can not guess",
        "cannot be guessed",
        "unable to guess",
        "not helpful",
    ),
}
#: Sentences that state an answer in full, from models that leave out the fixed last line.
PHRASES = (
    r"(?:(?:so|thus|hence|therefore)[,:]?\s+)?(?:the\s+)?robot\s+(?:will|would)\s+(?:most\s+)?(?:likely\s+|probably\s+)?"
    r"(?:answer|say)\s+",
    r"(?:(?:so|thus|hence|therefore)[,:]?\s+)?i\s+(?=cannot guess|can't guess|can not guess)",
)


class Simulation(HitType):
    """Two steps: does the explanation directly help to predict the answer, and if so, what will the robot answer?"""

    name = "simulation"
    title = "Counterfactual simulation, yes/no questions"
    task_title = _("Predict the robot's answer")
    source = "Chen et al. 2024, Figure 3"
    variables: ClassVar[tuple[Variable, ...]] = (
        Variable(
            "simulation",
            "Simulated answer",
            labels=("yes", "no", scoring.CANNOT_GUESS),
            abstain=(scoring.CANNOT_GUESS,),
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
        follow_ups=10,
    )
    demo = Demo(
        title="What will the robot answer?",
        summary="Read how a robot explained one answer, and guess what it will answer next.",
        fill=0.9,
        simulated=True,
        report_with="plausibility",
    )
    headline = "simulation"
    measures = frozenset({"simulatability"})
    ratings_need_item = False
    made_from = "follow_ups"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        explanation, follow_up = source.explained, source.followed
        return source.system_columns() | {
            "key": source.pair_key(),
            "question": source.instance.input,
            "explanation": explanation.text,
            "answer": explanation.output,
            "follow_up": follow_up.text,
            "real_output": source.output,
            "generator": follow_up.generator,
            "kind": follow_up.kind,
            "gold_label": source.instance.gold_label,
            "gold_rationale": source.instance.gold_rationale,
        }

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        """Check one import row: ``question``, ``explanation``, ``answer``, ``follow_up``; see ``columns``."""
        return self.draft(*schema.parse_row(row))

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """One stage with two steps."""
        return schema.stages_of(payload)

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """Both steps compared with gold."""
        return scoring.grade(response, gold)

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """One rating of ``simulation``: yes, no or cannot_guess."""
        return scoring.to_ratings(response)

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER: YES``, ``NO`` or ``CANNOT GUESS`` as a response; JSON with both steps is read too."""
        steps = read_object(text) or {}
        if str(steps.get("helpful")).strip().lower() in ("no", "false"):
            # As in the form: if it doesn't help, the second question isn't asked, so an answer to it is ignored.
            return scoring.response_of(scoring.CANNOT_GUESS)
        outcome = read_answer(
            text,
            REPLIES,
            keys=("answer", "simulation", "prediction", "guess"),
            phrases=PHRASES,
            language=self.language,
        )
        return scoring.response_of(outcome)

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The payload's texts, with the answer as people see it."""
        return payload | {"answer": payload["answer"].capitalize()}

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last line of a reply that means this response."""
        return write_answer(REPLIES[scoring.outcome_of(response)][0])
