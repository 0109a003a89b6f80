"""What an item of `forward_simulation` contains and what is asked about it."""

from __future__ import annotations

import math
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
    Row,
    Stage,
    format_of,
    is_blank,
    stable_key,
    system_name,
)
from annotator.hit_types.base import translatable as _

COLUMNS = (
    Column("input", "What the robot was given", example="The plot is thin, but I left the cinema smiling."),
    Column("options", "Its possible answers, as a list; if left out, yes and no", False, "list"),
    Column(
        "explanation",
        "The system's explanation of its output; empty: none is shown",
        False,
        example="“Smiling” is a good sign, so the reviewer liked the film.",
    ),
    Column(
        "saliency",
        "The input's words with their weights, as a list of pairs; the larger, the more a word counted. Empty: none is shown",
        False,
        "json",
        '[["thin", 0.1], ["smiling", 0.9]]',
    ),
    Column(
        "real_output",
        "What the robot really answered, refusal or neither if it gave no answer; never shown",
        example="yes",
        kind="label",
    ),
    Column("gold_label", "The correct answer; never shown", False, "label", "yes"),
    *SYSTEM_COLUMNS,
    *ITEM_COLUMNS,
)
#: The condition of an item whose row names none, by what is shown beside the input.
NOTHING, TEXT, MAP, BOTH = (
    "no explanation",
    "explanation",
    "saliency map",
    "explanation and saliency map",
)
#: Words are marked from 0 (did not count) to this.
MOST_MARK = 3


def parse_row(raw: Mapping[str, Any]) -> tuple[Row, JSON, Material]:
    """Read an import row; its errors are in the returned ``Row``."""
    row = Row(raw)
    system, model, method = system_name(row)
    answers = Answers.read_options(row, "options")
    readable = "options" not in row.errors
    payload: JSON = {
        "input": row.text("input"),
        "options": list(answers.options),
        "explanation": row.text("explanation", required=False),
        "saliency": _marks(row),
    }
    output = answers.read(row, "real_output", also=NO_ANSWER) if readable else ""
    if is_blank(raw.get("condition")):
        row.raw = {**raw, "condition": condition_of(payload)}
    material = Material(
        instance_key=row.text("instance", required=False, limit=200)
        or stable_key(payload["input"], *answers.options),
        instance_input="\n".join([payload["input"], *answers.lines]),
        gold_label=answers.read(row, "gold_label", required=False) if readable else "",
        system=system,
        model=model,
        method=method,
        explanation=payload["explanation"] or words_of(payload["saliency"]),
        output=output,
    )
    return row, payload, material


def condition_of(payload: JSON) -> str:
    """The condition of an item by what it shows beside the input.

    >>> condition_of({"explanation": "", "saliency": []})
    'no explanation'
    """
    if payload["explanation"]:
        return BOTH if payload["saliency"] else TEXT
    return MAP if payload["saliency"] else NOTHING


def words_of(saliency: list[Any]) -> str:
    """A saliency map as text: each word that counted, followed by its mark.

    >>> words_of([["a", 0], ["fine", 3]])
    'a fine[3]'
    """
    return " ".join(f"{word}[{mark}]" if mark else str(word) for word, mark in saliency)


def _marks(row: Row) -> list[Any]:
    """Words with marks from 0 to ``MOST_MARK``, in proportion to the largest weight without its sign."""
    raw = row.json("saliency")
    if is_blank(raw) or "saliency" in row.errors:
        return []
    pairs = raw if isinstance(raw, list) else []
    if not pairs or not all(_is_pair(pair) for pair in pairs):
        row.errors["saliency"] = (
            'expected a list of words with their weights, such as [["thin", 0.1], ["fine", 0.9]]'
        )
        return []
    most = max(abs(float(weight)) for _, weight in pairs)
    if not most:
        row.errors["saliency"] = "every weight is 0; leave the column empty where nothing is to be marked"
        return []
    return [[word.strip(), round(MOST_MARK * abs(float(weight)) / most)] for word, weight in pairs]


def _is_pair(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    word, weight = pair
    number = isinstance(weight, int | float) and not isinstance(weight, bool) and math.isfinite(weight)
    return isinstance(word, str) and bool(word.strip()) and "\0" not in word and number


def stages_of(payload: JSON) -> tuple[Stage, ...]:
    """One stage: the input, what explains the robot's answer, and the question about its answer."""
    answers = Answers.of(payload["options"])
    blocks: tuple[Block, ...] = (
        Block(
            "input",
            _("The robot was given"),
            payload["input"],
            format=format_of(payload, "input"),
            group="input",
        ),
    )
    if answers.options:
        blocks += (
            Block("options", _("It could answer"), items=answers.lines, kind="options", group="input"),
        )
    if payload["explanation"]:
        blocks += (
            Block(
                "explanation",
                _("The robot's explanation"),
                payload["explanation"],
                format=format_of(payload, "explanation"),
                group="reason",
            ),
        )
    if payload["saliency"]:
        words = tuple(word for word, _ in payload["saliency"])
        marks = tuple(mark for _, mark in payload["saliency"])
        title = _("How much each word counted, from 1 (a little) to {most} (most)", most=MOST_MARK)
        blocks += (Block("saliency", title, items=words, kind="marked", marks=marks, group="reason"),)
    asked = Field(
        "prediction",
        _("What did the robot answer?"),
        options=answers.choices,
        help=_("Predict its answer, even if you would answer differently."),
        about=("input", "explanation") if payload["explanation"] else ("input",),
    )
    lead = (
        ""
        if len(blocks) > 1 + bool(answers.options)
        else _("You see no explanation here. Choose what seems most likely.")
    )
    return (Stage("prediction", _("What did the robot answer?"), blocks, (asked,), lead),)
