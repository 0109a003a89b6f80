"""What the types share that ask for a robot's yes or no to a follow-up question: their items, screens and replies (P1)."""

from __future__ import annotations

from typing import ClassVar

from annotator.hit_types.arms import NOTHING
from annotator.hit_types.columns import ITEM_COLUMNS, SYSTEM_COLUMNS
from annotator.hit_types.declared import DeclaredStage, Shown
from annotator.hit_types.making import ItemSource
from annotator.hit_types.reading import NO_ANSWER, YES_NO
from annotator.hit_types.replies import Labels
from annotator.hit_types.shapes import JSON, Column, Field, Option
from annotator.hit_types.simulating import (
    GENERATOR_COLUMN,
    KIND_COLUMN,
    TwoStepSimulation,
    guessable,
    helpful,
    predicted,
)
from annotator.hit_types.wording import translatable as _

#: What is shown where nothing but the follow-up question is.
QUESTION_ONLY = (Shown("follow_up", _("Question"), group="follow_up"),)
QUESTION_ONLY_LEAD = _("You see only the question here. Predict what the robot will answer to it.")


def explained_stage(lead: str = "") -> DeclaredStage:
    """The stage that shows the explanation: does it directly help, and if so, what will the robot answer?"""
    return DeclaredStage(
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
                    Option("no", _("No"), _("Going by its explanation and answer, the robot will say “no”.")),
                ),
            ),
        ),
        lead=lead,
    )


def question_only_fields(first: str = "helpful", second: str = "answer") -> tuple[Field, Field]:
    """The two steps, by the fields' names, where only the follow-up question is shown: can it be guessed, and what will it be?"""
    return (
        guessable(
            _("Does anything in the question help you predict the robot's answer?"),
            _("Nothing in the question helps to predict the robot's answer."),
            name=first,
        ),
        predicted(
            _("What will the robot answer?"),
            options=(
                Option("yes", _("Yes"), _("The robot will say “yes”.")),
                Option("no", _("No"), _("The robot will say “no”.")),
            ),
            arm=NOTHING,
            name=second,
            after=first,
        ),
    )


class YesNoSimulation(TwoStepSimulation):
    """The base of types whose items are a yes/no question that the robot answered and explained, and a follow-up question."""

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
    spellings: ClassVar[Labels] = {"yes": ("yes", "helpful - yes"), "no": ("no", "helpful - no")}

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
