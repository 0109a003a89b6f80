"""Counterfactual simulation on yes/no questions: what will the robot answer next? (P1, Figure 3)"""

from __future__ import annotations

from annotator.hit_types.base import (
    ANSWER_ONLY,
    CANNOT_GUESS,
    NOTHING,
    QUESTION_ONLY,
    QUESTION_ONLY_LEAD,
    DeclaredStage,
    Defaults,
    Demo,
    Option,
    Shown,
    YesNoSimulation,
    explained_stage,
    helpful_answer,
    predicted,
    question_only_fields,
    simulated,
)
from annotator.hit_types.base import translatable as _


class Simulation(YesNoSimulation):
    """Two steps: does the explanation directly help to predict the answer, and if so, what will the robot answer?"""

    name = "simulation"
    title = "Counterfactual simulation, yes/no questions"
    task_title = _("Predict the robot's answer")
    source = "Chen et al. 2024, Figure 3"
    asks = "Can people predict what the model does?"
    people = (
        "They read an answer with its explanation, and predict the model's yes or no to a related question."
    )
    variables = (simulated("Simulated answer", ("yes", "no", CANNOT_GUESS)),)
    declared_stages = (explained_stage(),)
    control_arms = {
        ANSWER_ONLY: {"explanation": None},
        NOTHING: {"question": None, "explanation": None, "answer": None},
    }
    control_stages = {
        ANSWER_ONLY: DeclaredStage(
            ANSWER_ONLY,
            _("What will the robot answer?"),
            shown=(
                Shown("question", _("Starter question"), group="starter"),
                Shown("answer", _("The robot answered"), "answer", group="starter"),
                Shown("follow_up", _("Follow-up question"), group="follow_up"),
            ),
            fields=(
                helpful_answer(
                    _(
                        "Do the starter question and the robot's answer directly help you predict its next answer?"
                    ),
                    _(
                        "Nothing in the starter question and the robot's answer directly helps to predict its answer to the"
                        " follow-up question."
                    ),
                ),
                predicted(
                    _("What will the robot answer to the follow-up question?"),
                    options=(
                        Option("yes", _("Yes"), _("Going by its answer, the robot will say “yes”.")),
                        Option("no", _("No"), _("Going by its answer, the robot will say “no”.")),
                    ),
                    arm=ANSWER_ONLY,
                ),
            ),
            lead=_("You see no explanation here. Go by the starter question and the robot's answer."),
        ),
        NOTHING: DeclaredStage(
            NOTHING,
            _("What will the robot answer?"),
            shown=QUESTION_ONLY,
            fields=question_only_fields(),
            lead=QUESTION_ONLY_LEAD,
        ),
    }
    defaults = Defaults(
        redundancy=3, exam_questions=11, pass_mark=9, minutes_per_item=2.0, pay_per_item="0.60", follow_ups=10
    )
    demo = Demo(
        title="What will the robot answer?",
        summary="Read how a robot explained one answer, and guess what it will answer next.",
        fill=0.9,
        simulated=True,
        report_with="plausibility",
        gain={"": 2, NOTHING: 2},
        gain_title="Predict the robot's answer, with its explanation or without",
    )
