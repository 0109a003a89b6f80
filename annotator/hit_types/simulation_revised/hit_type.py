"""Counterfactual simulation with an initial guess: what will the robot answer, before and after its explanation is seen?"""

from __future__ import annotations

from annotator.hit_types.base import (
    CANNOT_GUESS,
    JSON,
    QUESTION_ONLY,
    QUESTION_ONLY_LEAD,
    AnsweredTwice,
    DeclaredStage,
    Defaults,
    Demo,
    Rating,
    YesNoSimulation,
    explained_stage,
    question_only_fields,
    simulated,
)
from annotator.hit_types.base import translatable as _

LABELS = ("yes", "no", CANNOT_GUESS)
#: Variable -> the field that its stage asks first.
FIRST_STEPS = {"before": "guessable", "simulation": "helpful"}


class SimulationRevised(YesNoSimulation):
    """A guess from the follow-up question alone; starter question, explanation and answer are sent only after it is committed."""

    name = "simulation_revised"
    title = "Counterfactual simulation with an initial guess"
    task_title = _("Predict the robot's answer twice")
    source = "Chen et al. 2024, Figure 3, and Schemmer et al. 2023, with an initial guess"
    asks = "Can people predict what the model does?"
    people = (
        "They guess the model's yes or no to a question, then read its answer to a related one with the explanation, and keep"
        " or change their guess."
    )
    variables = (
        simulated("First guess", LABELS, name="before", field="guess"),
        simulated("Simulated answer", LABELS),
    )
    declared_stages = (
        DeclaredStage(
            "before",
            _("Your first guess"),
            shown=QUESTION_ONLY,
            fields=question_only_fields("guessable", "guess"),
            lead=QUESTION_ONLY_LEAD,
        ),
        explained_stage(
            lead=_(
                "Now you also see another question, with the robot's answer and explanation. Keep your first guess or change it."
            )
        ),
    )
    most_stages = 2
    #: Longer than ``simulation`` by a question without material; whoever has seen the explanation can't guess without it any more.
    defaults = Defaults(
        redundancy=3,
        exam_questions=13,
        pass_mark=11,
        minutes_per_item=2.3,
        pay_per_item="0.69",
        follow_ups=10,
        one_condition_per_instance=True,
    )
    demo = Demo(
        title="What will the robot answer, and does its explanation change your mind?",
        summary="Guess what a robot will answer, then read how it explained another answer, and guess again.",
    )
    #: Its own ``to_ratings`` doesn't read the item.
    ratings_need_item = False

    def answered_twice(self) -> AnsweredTwice:
        """The first guess and the simulated answer, which are right if the system really answered so."""
        return AnsweredTwice("before", "simulation", "real_output")

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """The ratings of the stages that were answered: a stage that was not asked does not say “cannot guess”."""
        ratings = super().to_ratings(payload, response)
        return [one for one in ratings if FIRST_STEPS[one.variable] in response]

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """What the stage shows; at the second one, the first guess too."""
        values = super().prompt_values(payload, stage, before, presentation)
        if stage == 0:
            return {"follow_up": values["follow_up"]}
        words = {"yes": "Yes", "no": "No"}
        return values | {
            "first": words.get(before.get("guess", ""), "Cannot guess" if before else "not given")
        }
