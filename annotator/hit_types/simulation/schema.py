"""What an item of `simulation` contains and what is asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
    NO_ANSWER,
    SYSTEM_COLUMNS,
    YES_NO,
    Answers,
    Block,
    Column,
    Field,
    Material,
    Option,
    Row,
    Stage,
    format_of,
    stable_key,
    system_name,
)
from annotator.hit_types.base import translatable as _

COLUMNS = (
    Column(
        "question", "The starter question, answered with yes or no", example="Do spiders have eight legs?"
    ),
    Column(
        "explanation",
        "The system's explanation of its answer",
        example="All small crawling animals have eight legs.",
    ),
    Column("answer", "The system's answer to the starter question: yes or no", kind="label", example="yes"),
    Column("follow_up", "The follow-up question", example="Do ants have eight legs?"),
    Column(
        "real_output",
        "The system's real answer to the follow-up question, refusal or neither if it gave none; never shown",
        False,
        "label",
        "no",
    ),
    *SYSTEM_COLUMNS,
    Column("generator", "Who or what wrote the follow-up question", False, example="writer-x"),
    Column("kind", "The kind of follow-up question", False, example="counterfactual"),
    Column("gold_label", "The correct answer to the starter question", False, "label", "yes"),
    Column("gold_rationale", "A correct explanation of it", False),
    *ITEM_COLUMNS,
)

HELPFUL = Field(
    "helpful",
    _("Do the robot's explanation and answer directly help you predict its next answer?"),
    options=(
        Option(
            "no",
            _("Not helpful"),
            _(
                "Nothing in the robot's explanation and answer directly helps to predict its answer to the follow-up"
                " question."
            ),
        ),
        Option(
            "yes",
            _("Helpful"),
            _(
                "Something in the robot's explanation or answer directly helps, even if more facts are needed."
            ),
        ),
    ),
    help=_("Judge only whether they help, not whether they are true."),
    about=("explanation", "follow_up"),
)
ANSWER = Field(
    "answer",
    _("What will the robot answer to the follow-up question?"),
    options=(
        Option("yes", _("Yes"), _("Going by its explanation and answer, the robot will say “yes”.")),
        Option("no", _("No"), _("Going by its explanation and answer, the robot will say “no”.")),
    ),
    help=_("Stick to the robot's claims, even if they are wrong. Assume that it knows any missing facts."),
    when=(("helpful", ("yes",)),),
    about=("follow_up",),
)


def parse_row(raw: Mapping[str, Any]) -> tuple[Row, JSON, Material]:
    """Read an import row; its errors are in the returned ``Row``."""
    row = Row(raw)
    system, model, method = system_name(row)
    payload: JSON = {
        "question": row.text("question"),
        "explanation": row.text("explanation"),
        "answer": row.label("answer", YES_NO),
        "follow_up": row.text("follow_up"),
    }
    material = Material(
        instance_key=row.text("instance", required=False, limit=200) or stable_key(payload["question"]),
        instance_input=payload["question"],
        gold_label=row.label("gold_label", YES_NO, required=False),
        gold_rationale=row.text("gold_rationale", required=False),
        system=system,
        model=model,
        method=method,
        explanation=payload["explanation"],
        output=payload["answer"],
        follow_up=payload["follow_up"],
        generator=row.text("generator", required=False, limit=200),
        kind=row.text("kind", required=False, limit=60),
        real_output=row.label("real_output", {**YES_NO, **NO_ANSWER}, required=False),
    )
    return row, payload, material


def stages_of(payload: JSON) -> tuple[Stage, ...]:
    """One stage with two steps: the starter question, the explanation and answer, and the follow-up question."""
    blocks = (
        Block(
            "question",
            _("Starter question"),
            payload["question"],
            format=format_of(payload, "question"),
            group="starter",
        ),
        Block(
            "explanation",
            _("The robot's explanation"),
            payload["explanation"],
            format=format_of(payload, "explanation"),
            group="starter",
        ),
        Block(
            "answer",
            _("The robot answered"),
            Answers().say(payload["answer"]),
            kind="answer",
            group="starter",
        ),
        Block(
            "follow_up",
            _("Follow-up question"),
            payload["follow_up"],
            format=format_of(payload, "follow_up"),
            group="follow_up",
        ),
    )
    return (Stage("simulation", _("What will the robot answer?"), blocks, (HELPFUL, ANSWER)),)
