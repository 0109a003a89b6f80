"""What an item of `simulation_preference` contains and what is asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
    NO_ANSWER,
    SYSTEM_COLUMNS,
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

EQUALLY_LIKELY = "equally_likely"
#: Spellings of a choice in import files; the paper's prompts say "Candidate Response 1".
CHOICES = {
    spelling: f"response_{number}"
    for number in (1, 2)
    for spelling in (f"{number}", f"response {number}", f"response_{number}", f"candidate response {number}")
}

COLUMNS = (
    Column("context", "The post that the responses reply to", example="How do I keep basil alive?"),
    Column("response_1", "The first response to it", example="Water it from below and give it light."),
    Column("response_2", "The second response to it", example="Mine always dies too!"),
    Column(
        "explanation", "The system's explanation of its choice", example="Response 1 gives concrete advice."
    ),
    Column("choice", "The system's choice: 1 or 2", kind="label", example="1"),
    Column("follow_up_context", "The post of the follow-up example", example="How do I clean a kettle?"),
    Column("follow_up_response_1", "The first response of the follow-up example", example="No idea."),
    Column(
        "follow_up_response_2", "The second response of the follow-up example", example="Boil vinegar in it."
    ),
    Column(
        "real_output",
        "The system's real choice in the follow-up example: 1 or 2; never shown",
        False,
        "label",
        "2",
    ),
    *SYSTEM_COLUMNS,
    Column("generator", "Who or what wrote the follow-up example", False, example="writer-x"),
    Column("kind", "The kind of follow-up example", False, example="counterfactual"),
    Column(
        "gold_label",
        "The response of the starter example that people found more helpful",
        False,
        "label",
        "1",
    ),
    *ITEM_COLUMNS,
)

CHOICE = Field(
    "choice",
    _("Which response will the robot choose in the follow-up example?"),
    options=(
        Option("response_1", _("Response 1")),
        Option("response_2", _("Response 2")),
        Option(
            EQUALLY_LIKELY,
            _("Equally likely"),
            _("Going by its explanation and choice, the robot could choose either."),
        ),
    ),
    help=_("Choose what a consistent robot would choose, not what you find more helpful."),
    about=("follow_up_context", "follow_up_response_1", "follow_up_response_2"),
)


def parse_row(raw: Mapping[str, Any]) -> tuple[Row, JSON, Material]:
    """Read an import row; its errors are in the returned ``Row``."""
    row = Row(raw)
    system, model, method = system_name(row)
    payload: JSON = {
        "context": row.text("context"),
        "response_1": row.text("response_1"),
        "response_2": row.text("response_2"),
        "explanation": row.text("explanation"),
        "choice": row.label("choice", CHOICES),
        "follow_up_context": row.text("follow_up_context"),
        "follow_up_response_1": row.text("follow_up_response_1"),
        "follow_up_response_2": row.text("follow_up_response_2"),
    }
    starter = as_text(payload["context"], payload["response_1"], payload["response_2"])
    material = Material(
        instance_key=row.text("instance", required=False, limit=200) or stable_key(starter),
        instance_input=starter,
        gold_label=row.label("gold_label", CHOICES, required=False),
        system=system,
        model=model,
        method=method,
        explanation=payload["explanation"],
        output=payload["choice"],
        follow_up=as_text(
            payload["follow_up_context"], payload["follow_up_response_1"], payload["follow_up_response_2"]
        ),
        generator=row.text("generator", required=False, limit=200),
        kind=row.text("kind", required=False, limit=60),
        real_output=row.label("real_output", {**CHOICES, **NO_ANSWER}, required=False),
    )
    return row, payload, material


def as_text(context: str, response_1: str, response_2: str) -> str:
    """A post with its two responses as one text, as similarity measures and exports need it."""
    return f"Context: {context}\n\nResponse 1: {response_1}\n\nResponse 2: {response_2}"


def stages_of(payload: JSON) -> tuple[Stage, ...]:
    """One stage: the starter example with explanation and choice, the follow-up example, one question."""
    chosen = _("Response 1") if payload["choice"] == "response_1" else _("Response 2")
    blocks = (
        Block(
            "context",
            _("Context"),
            payload["context"],
            format=format_of(payload, "context"),
            group="starter_example",
        ),
        Block(
            "response_1",
            _("Response 1"),
            payload["response_1"],
            format=format_of(payload, "response_1"),
            group="starter_example",
        ),
        Block(
            "response_2",
            _("Response 2"),
            payload["response_2"],
            format=format_of(payload, "response_2"),
            group="starter_example",
        ),
        Block(
            "explanation",
            _("The robot's explanation"),
            payload["explanation"],
            format=format_of(payload, "explanation"),
            group="starter_example",
        ),
        Block("robot_choice", _("The robot chose"), chosen, kind="answer", group="starter_example"),
        Block(
            "follow_up_context",
            _("Context"),
            payload["follow_up_context"],
            format=format_of(payload, "follow_up_context"),
            group="follow_up_example",
        ),
        Block(
            "follow_up_response_1",
            _("Response 1"),
            payload["follow_up_response_1"],
            format=format_of(payload, "follow_up_response_1"),
            group="follow_up_example",
        ),
        Block(
            "follow_up_response_2",
            _("Response 2"),
            payload["follow_up_response_2"],
            format=format_of(payload, "follow_up_response_2"),
            group="follow_up_example",
        ),
    )
    return (Stage("simulation", _("Which response will the robot choose?"), blocks, (CHOICE,)),)
