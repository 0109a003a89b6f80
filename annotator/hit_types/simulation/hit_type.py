"""Counterfactual simulation on yes/no questions: what will the robot answer next? (P1, Figure 3)"""

from __future__ import annotations

from typing import ClassVar

from annotator.hit_types.base import (
    ANSWER_ONLY,
    CANNOT_GUESS,
    GENERATOR_COLUMN,
    ITEM_COLUMNS,
    JSON,
    KIND_COLUMN,
    NO_ANSWER,
    NOTHING,
    SYSTEM_COLUMNS,
    YES_NO,
    Column,
    DeclaredStage,
    Defaults,
    Demo,
    ItemSource,
    Labels,
    Option,
    Shown,
    TwoStepSimulation,
    guessable,
    helpful,
    helpful_answer,
    predicted,
    simulated,
)
from annotator.hit_types.base import translatable as _


class Simulation(TwoStepSimulation):
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
    columns = (
        Column(
            "question",
            "The starter question, answered with yes or no",
            example="Do spiders have eight legs?",
            material="instance_input",
        ),
        Column(
            "explanation",
            "The system's explanation of its answer",
            example="All small crawling animals have eight legs.",
            material="explanation",
        ),
        Column(
            "answer",
            "The system's answer to the starter question: yes or no",
            kind="label",
            example="yes",
            labels=YES_NO,
            material="output",
        ),
        Column(
            "follow_up", "The follow-up question", example="Do ants have eight legs?", material="follow_up"
        ),
        Column(
            "real_output",
            "The system's real answer to the follow-up question, refusal or neither if it gave none; never shown",
            False,
            "label",
            "no",
            labels={**YES_NO, **NO_ANSWER},
            hidden=True,
        ),
        *SYSTEM_COLUMNS,
        GENERATOR_COLUMN,
        KIND_COLUMN,
        Column(
            "gold_label",
            "The correct answer to the starter question",
            False,
            "label",
            "yes",
            labels=YES_NO,
            hidden=True,
        ),
        Column("gold_rationale", "A correct explanation of it", False, hidden=True),
        *ITEM_COLUMNS,
    )
    declared_stages = (
        DeclaredStage(
            "simulation",
            _("What will the robot answer?"),
            shown=(
                Shown("question", _("Starter question"), group="starter"),
                Shown("explanation", _("The robot's explanation"), group="starter"),
                Shown("answer", _("The robot answered"), "answer", group="starter"),
                Shown("follow_up", _("Follow-up question"), group="follow_up"),
            ),
            fields=(
                helpful(
                    _("Do the robot's explanation and answer directly help you predict its next answer?"),
                    _(
                        "Nothing in the robot's explanation and answer directly helps to predict its answer to the"
                        " follow-up question."
                    ),
                ),
                predicted(
                    _("What will the robot answer to the follow-up question?"),
                    options=(
                        Option(
                            "yes",
                            _("Yes"),
                            _("Going by its explanation and answer, the robot will say “yes”."),
                        ),
                        Option(
                            "no", _("No"), _("Going by its explanation and answer, the robot will say “no”.")
                        ),
                    ),
                ),
            ),
        ),
    )
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
            shown=(Shown("follow_up", _("Question"), group="follow_up"),),
            fields=(
                guessable(
                    _("Does anything in the question help you predict the robot's answer?"),
                    _("Nothing in the question helps to predict the robot's answer."),
                ),
                predicted(
                    _("What will the robot answer?"),
                    options=(
                        Option("yes", _("Yes"), _("The robot will say “yes”.")),
                        Option("no", _("No"), _("The robot will say “no”.")),
                    ),
                    arm=NOTHING,
                ),
            ),
            lead=_("You see only the question here. Predict what the robot will answer to it."),
        ),
    }
    spellings: ClassVar[Labels] = {"yes": ("yes", "helpful - yes"), "no": ("no", "helpful - no")}
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

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        return source.pair_columns() | {
            "question": source.instance.input,
            "explanation": source.explained.text,
            "answer": source.explained.output,
            "follow_up": source.followed.text,
            "real_output": source.output,
            "gold_rationale": source.instance.gold_rationale,
        }
