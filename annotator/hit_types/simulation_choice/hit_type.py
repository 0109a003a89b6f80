"""Counterfactual simulation on multiple-choice questions: which option will the robot choose next?"""

from __future__ import annotations

from annotator.hit_types.base import (
    ANSWER_ONLY,
    GENERATOR_COLUMN,
    ITEM_COLUMNS,
    JSON,
    KIND_COLUMN,
    NO_ANSWER,
    NOTHING,
    ROBOT_WILL,
    SYSTEM_COLUMNS,
    Answers,
    Column,
    DeclaredStage,
    Defaults,
    ItemSource,
    Row,
    Shown,
    TwoStepSimulation,
    choice_parts,
    guessable,
    helpful,
    helpful_answer,
    predicted,
    simulated,
)
from annotator.hit_types.base import translatable as _


def _options(row: Row) -> list[str]:
    return row.texts("options", least=2, most=10)


def _follow_up_options(row: Row) -> list[str]:
    return list(Answers.read_options(row, "follow_up_options").options) or _options(row)


class SimulationChoice(TwoStepSimulation):
    """Two steps: does the explanation directly help to predict the choice, and if so, which option will the robot choose?"""

    name = "simulation_choice"
    title = "Counterfactual simulation, multiple choice"
    task_title = _("Predict the robot's answer")
    source = "Chen et al. 2024, Figure 3, for questions with options"
    asks = "Can people predict what the model does?"
    people = "They read an answer with its explanation, and predict which option the model chooses next."
    #: Labels are the letters of each item's own options, so none are declared.
    variables = (simulated("Simulated option"),)
    columns = (
        Column(
            "question",
            "The starter question",
            example="Where does a polar bear live?",
            options="options",
            material="instance_input",
        ),
        Column(
            "options",
            "Its possible answers, as a list",
            kind="list",
            example=["Arctic", "Sahara"],
            read=_options,
        ),
        Column(
            "explanation",
            "The system's explanation of its answer",
            example="White animals live in snow.",
            material="explanation",
        ),
        Column(
            "answer",
            "The system's answer: the letter or the text of an option",
            kind="label",
            example="A",
            options="options",
            material="output",
        ),
        Column(
            "follow_up",
            "The follow-up question",
            example="Where does a white rabbit live?",
            options="follow_up_options",
            material="follow_up",
        ),
        Column(
            "follow_up_options",
            "Its possible answers; if left out, those of the starter question",
            False,
            "list",
            read=_follow_up_options,
        ),
        Column(
            "real_output",
            "The system's real answer to the follow-up question; never shown",
            False,
            "label",
            "A",
            labels=NO_ANSWER,
            options="follow_up_options",
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
            "A",
            options="options",
            hidden=True,
        ),
        Column("gold_rationale", "A correct explanation of it", False, hidden=True),
        *ITEM_COLUMNS,
    )
    declared_stages = (
        DeclaredStage(
            "simulation",
            _("Which option will the robot choose?"),
            shown=(
                Shown("question", _("Starter question"), group="starter"),
                Shown("options", _("Options of the starter question"), "options", group="starter"),
                Shown("explanation", _("The robot's explanation"), group="starter"),
                Shown("answer", _("The robot answered"), "answer", group="starter", options="options"),
                Shown("follow_up", _("Follow-up question"), group="follow_up"),
                Shown(
                    "follow_up_options", _("Options of the follow-up question"), "options", group="follow_up"
                ),
            ),
            fields=(
                helpful(
                    _("Do the robot's explanation and answer directly help you predict its next choice?"),
                    _(
                        "Nothing in the robot's explanation and answer directly helps to predict which option it will"
                        " choose."
                    ),
                ),
                predicted(
                    _("Which option will the robot choose for the follow-up question?"),
                    options_of="follow_up_options",
                ),
            ),
        ),
    )
    control_arms = {
        ANSWER_ONLY: {"explanation": None},
        NOTHING: {"question": None, "options": None, "explanation": None, "answer": None},
    }
    control_stages = {
        ANSWER_ONLY: DeclaredStage(
            ANSWER_ONLY,
            _("Which option will the robot choose?"),
            shown=(
                Shown("question", _("Starter question"), group="starter"),
                Shown("options", _("Options of the starter question"), "options", group="starter"),
                Shown("answer", _("The robot answered"), "answer", group="starter", options="options"),
                Shown("follow_up", _("Follow-up question"), group="follow_up"),
                Shown(
                    "follow_up_options", _("Options of the follow-up question"), "options", group="follow_up"
                ),
            ),
            fields=(
                helpful_answer(
                    _(
                        "Do the starter question and the robot's answer directly help you predict its next choice?"
                    ),
                    _(
                        "Nothing in the starter question and the robot's answer directly helps to predict which option it"
                        " will choose."
                    ),
                ),
                predicted(
                    _("Which option will the robot choose for the follow-up question?"),
                    options_of="follow_up_options",
                    arm=ANSWER_ONLY,
                ),
            ),
            lead=_("You see no explanation here. Go by the starter question and the robot's answer."),
        ),
        NOTHING: DeclaredStage(
            NOTHING,
            _("Which option will the robot choose?"),
            shown=(
                Shown("follow_up", _("Question"), group="follow_up"),
                Shown("follow_up_options", _("Options"), "options", group="follow_up"),
            ),
            fields=(
                guessable(
                    _("Does anything in the question help you predict which option the robot will choose?"),
                    _("Nothing in the question helps to predict which option the robot will choose."),
                ),
                predicted(
                    _("Which option will the robot choose?"), options_of="follow_up_options", arm=NOTHING
                ),
            ),
            lead=_("You see only the question here. Predict what the robot will answer to it."),
        ),
    }
    phrases = (rf"{ROBOT_WILL}(?:choose|pick)\s+", *TwoStepSimulation.phrases)
    reply_keys = ("option", "choice", *TwoStepSimulation.reply_keys)
    defaults = Defaults(
        redundancy=3, exam_questions=11, pass_mark=9, minutes_per_item=2.0, pay_per_item="0.60", follow_ups=10
    )

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        question, options = choice_parts(source.instance.input)
        follow_up, follow_up_options = choice_parts(source.followed.text)
        return source.pair_columns() | {
            "question": question,
            "options": options,
            "explanation": source.explained.text,
            "answer": source.explained.output,
            "follow_up": follow_up,
            "follow_up_options": follow_up_options or options,
            "real_output": source.output,
        }
