"""What an item of `simulation_choice` contains and what is asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
    NO_ANSWER,
    SYSTEM_COLUMNS,
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
    Column("question", "The starter question", example="Where does a polar bear live?"),
    Column("options", "Its possible answers, as a list", kind="list", example=["Arctic", "Sahara"]),
    Column("explanation", "The system's explanation of its answer", example="White animals live in snow."),
    Column("answer", "The system's answer: the letter or the text of an option", kind="label", example="A"),
    Column("follow_up", "The follow-up question", example="Where does a white rabbit live?"),
    Column(
        "follow_up_options", "Its possible answers; if left out, those of the starter question", False, "list"
    ),
    Column(
        "real_output", "The system's real answer to the follow-up question; never shown", False, "label", "A"
    ),
    *SYSTEM_COLUMNS,
    Column("generator", "Who or what wrote the follow-up question", False, example="writer-x"),
    Column("kind", "The kind of follow-up question", False, example="counterfactual"),
    Column("gold_label", "The correct answer to the starter question", False, "label", "A"),
    Column("gold_rationale", "A correct explanation of it", False),
    *ITEM_COLUMNS,
)

HELPFUL = Field(
    "helpful",
    _("Do the robot's explanation and answer directly help you predict its next choice?"),
    options=(
        Option(
            "no",
            _("Not helpful"),
            _(
                "Nothing in the robot's explanation and answer directly helps to predict which option it will choose."
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


def parse_row(raw: Mapping[str, Any]) -> tuple[Row, JSON, Material]:
    """Read an import row; its errors are in the returned ``Row``."""
    row = Row(raw)
    system, model, method = system_name(row)
    starter = Answers(tuple(row.texts("options", least=2, most=10)))
    follow_up = Answers.read_options(row, "follow_up_options")
    if not follow_up.options:
        follow_up = starter
    payload: JSON = {
        "question": row.text("question"),
        "options": list(starter.options),
        "explanation": row.text("explanation"),
        "answer": starter.read(row, "answer") if "options" not in row.errors else row.text("answer"),
        "follow_up": row.text("follow_up"),
        "follow_up_options": list(follow_up.options),
    }
    readable = not {"options", "follow_up_options"} & set(row.errors)
    material = Material(
        instance_key=row.text("instance", required=False, limit=200)
        or stable_key(payload["question"], *starter.options),
        instance_input=_as_text(payload["question"], starter),
        gold_label=starter.read(row, "gold_label", required=False) if readable else "",
        gold_rationale=row.text("gold_rationale", required=False),
        system=system,
        model=model,
        method=method,
        explanation=payload["explanation"],
        output=payload["answer"],
        follow_up=_as_text(payload["follow_up"], follow_up),
        generator=row.text("generator", required=False, limit=200),
        kind=row.text("kind", required=False, limit=60),
        real_output=follow_up.read(row, "real_output", required=False, also=NO_ANSWER) if readable else "",
    )
    return row, payload, material


def _as_text(question: str, answers: Answers) -> str:
    return "\n".join([question, *answers.lines])


def stages_of(payload: JSON) -> tuple[Stage, ...]:
    """One stage with two steps: the starter question, the explanation and answer, and the follow-up question."""
    starter, follow_up = Answers.of(payload["options"]), Answers.of(payload["follow_up_options"])
    blocks = (
        Block(
            "question",
            _("Starter question"),
            payload["question"],
            format=format_of(payload, "question"),
            group="starter",
        ),
        Block(
            "options",
            _("Options of the starter question"),
            items=starter.lines,
            kind="options",
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
            "answer", _("The robot answered"), starter.say(payload["answer"]), kind="answer", group="starter"
        ),
        Block(
            "follow_up",
            _("Follow-up question"),
            payload["follow_up"],
            format=format_of(payload, "follow_up"),
            group="follow_up",
        ),
        Block(
            "follow_up_options",
            _("Options of the follow-up question"),
            items=follow_up.lines,
            kind="options",
            group="follow_up",
        ),
    )
    answer = Field(
        "answer",
        _("Which option will the robot choose for the follow-up question?"),
        options=follow_up.choices,
        help=_(
            "Stick to the robot's claims, even if they are wrong. Assume that it knows any missing facts."
        ),
        when=(("helpful", ("yes",)),),
        about=("follow_up",),
    )
    return (Stage("simulation", _("Which option will the robot choose?"), blocks, (HELPFUL, answer)),)
