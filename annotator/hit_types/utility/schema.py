"""What an item of `utility` contains and what is asked about it, before and after the explanation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
    SYSTEM_COLUMNS,
    Answers,
    Block,
    Column,
    Field,
    Material,
    Row,
    Stage,
    format_of,
    stable_key,
    system_name,
)
from annotator.hit_types.base import translatable as _

COLUMNS = (
    Column("question", "The question", example="Does argon burn?"),
    Column("options", "Its possible answers, as a list; if left out, yes and no", False, "list"),
    Column(
        "rationale",
        "The system's rationale, shown after the first answer",
        example="Argon does not react with oxygen.",
    ),
    Column("gold_label", "The correct answer; never shown", False, "label", "no"),
    Column("answer", "The system's own answer; never shown", False, "label", "no"),
    *SYSTEM_COLUMNS,
    Column("gold_rationale", "A correct rationale; never shown", False),
    *ITEM_COLUMNS,
)


def parse_row(raw: Mapping[str, Any]) -> tuple[Row, JSON, Material]:
    """Read an import row; its errors are in the returned ``Row``."""
    row = Row(raw)
    system, model, method = system_name(row)
    answers = Answers.read_options(row, "options")
    readable = "options" not in row.errors
    payload: JSON = {
        "question": row.text("question"),
        "options": list(answers.options),
        "rationale": row.text("rationale"),
    }
    material = Material(
        instance_key=row.text("instance", required=False, limit=200)
        or stable_key(payload["question"], *answers.options),
        instance_input="\n".join([payload["question"], *answers.lines]),
        gold_label=answers.read(row, "gold_label", required=False) if readable else "",
        gold_rationale=row.text("gold_rationale", required=False),
        system=system,
        model=model,
        method=method,
        explanation=payload["rationale"],
        output=answers.read(row, "answer", required=False) if readable else "",
    )
    return row, payload, material


def stages_of(payload: JSON) -> tuple[Stage, ...]:
    """Two stages: the question alone; then the explanation, and the question again."""
    answers = Answers.of(payload["options"])
    question: tuple[Block, ...] = (
        Block(
            "question",
            _("Question"),
            payload["question"],
            format=format_of(payload, "question"),
            group="question",
        ),
    )
    if answers.options:
        question += (Block("options", _("Options"), items=answers.lines, kind="options", group="question"),)
    before = Field(
        "before", _("What is the answer to the question?"), options=answers.choices, about=("question",)
    )
    after = Field(
        "after",
        _("What is the answer to the question, going by the explanation alone?"),
        options=answers.choices,
        help=_("Assume that the explanation is right, even if you disagree. Use nothing else that you know."),
        about=("question", "explanation"),
    )
    explanation = Block(
        "explanation",
        _("Explanation"),
        payload["rationale"],
        format=format_of(payload, "rationale"),
        group="explanation",
    )
    return (
        Stage(
            "before",
            _("Before the explanation"),
            question,
            (before,),
            _(
                "Answer as well as you can. If you do not know, choose what seems most likely. Please do not look it up."
            ),
        ),
        Stage(
            "after",
            _("After the explanation"),
            (*question, explanation),
            (after,),
            _("Now read the explanation and answer the question again from it alone."),
        ),
    )
