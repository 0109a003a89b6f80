"""Counterfactual simulation on multiple-choice questions: which option will the robot choose next?"""

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
    Labels,
    Rating,
    Stage,
    Variable,
    choice_parts,
    read_answer,
    read_object,
    write_answer,
)
from annotator.hit_types.base import translatable as _
from annotator.hit_types.simulation_choice import schema, scoring

CANNOT_GUESS = (
    "cannot guess",
    "can't guess",
    "can not guess",
    "cannot be guessed",
    "unable to guess",
    "not helpful",
)
PHRASES = (
    r"(?:(?:so|thus|hence|therefore)[,:]?\s+)?(?:the\s+)?robot\s+(?:will|would)\s+(?:most\s+)?(?:likely\s+|probably\s+)?"
    r"(?:answer|say|choose|pick)\s+",
    r"(?:(?:so|thus|hence|therefore)[,:]?\s+)?i\s+(?=cannot guess|can't guess|can not guess)",
)


class SimulationChoice(HitType):
    """Two steps: does the explanation directly help to predict the choice, and if so, which option will the robot choose?"""

    name = "simulation_choice"
    title = "Counterfactual simulation, multiple choice"
    task_title = _("Predict the robot's answer")
    source = "Chen et al. 2024, Figure 3, for questions with options"
    #: Labels are the letters of each item's own options, so none are declared.
    variables: ClassVar[tuple[Variable, ...]] = (
        Variable("simulation", "Simulated option", abstain=(scoring.CANNOT_GUESS,)),
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
    headline = "simulation"
    measures = frozenset({"simulatability"})
    ratings_need_item = False
    made_from = "follow_ups"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        explanation, follow_up = source.explained, source.followed
        question, options = choice_parts(source.instance.input)
        new, new_options = choice_parts(follow_up.text)
        return source.system_columns() | {
            "key": source.pair_key(),
            "question": question,
            "options": options,
            "explanation": explanation.text,
            "answer": explanation.output,
            "follow_up": new,
            "follow_up_options": new_options or options,
            "real_output": source.output,
            "generator": follow_up.generator,
            "kind": follow_up.kind,
            "gold_label": source.instance.gold_label,
        }

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        """Check one import row: both questions with their options, explanation and answer; see ``columns``."""
        return self.draft(*schema.parse_row(row))

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """One stage with two steps."""
        return schema.stages_of(payload)

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """Both steps compared with gold."""
        return scoring.grade(response, gold)

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """One rating of ``simulation``: a letter or cannot_guess."""
        return scoring.to_ratings(response)

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The payload's texts with lettered options."""
        starter, follow_up = Answers.of(payload["options"]), Answers.of(payload["follow_up_options"])
        return {
            "question": payload["question"],
            "options": "\n".join(starter.lines),
            "explanation": payload["explanation"],
            "answer": starter.say(payload["answer"]),
            "follow_up": payload["follow_up"],
            "follow_up_options": "\n".join(follow_up.lines),
        }

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER:`` with an option's letter or ``CANNOT GUESS`` as a response; JSON is read too."""
        steps = read_object(text) or {}
        if str(steps.get("helpful")).strip().lower() in ("no", "false"):
            # As in the form: if it doesn't help, the second question isn't asked, so an answer to it is ignored.
            return scoring.response_of(scoring.CANNOT_GUESS)
        labels: Labels = {
            **Answers.of(payload["follow_up_options"]).labels,
            scoring.CANNOT_GUESS: CANNOT_GUESS,
        }
        keys = ("answer", "option", "choice", "simulation", "prediction", "guess")
        return scoring.response_of(
            read_answer(text, labels, keys=keys, phrases=PHRASES, language=self.language)
        )

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last line of a reply that means this response."""
        outcome = scoring.outcome_of(response)
        return write_answer(CANNOT_GUESS[0] if outcome == scoring.CANNOT_GUESS else outcome)
