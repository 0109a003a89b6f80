"""What an item of `question_validation` contains and what is asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
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
)
from annotator.hit_types.base import translatable as _

YES_NO_OPTIONS = (Option("yes", _("Yes")), Option("no", _("No")))
#: Kind -> (what is asked about the relation, what yes means, what no means).
RELATIONS: Mapping[str, tuple[str, str, str]] = {
    "rephrase": (
        _("Does the accompanying question ask the same as the original question, in other words?"),
        _("It means the same, is worded differently, and has the same answer."),
        _("It asks something else, is the same question again, or cannot be answered with yes or no."),
    ),
    "counterfactual": (
        _(
            "Does the accompanying question reverse the original question, so that its answer is the opposite?"
        ),
        _("The same facts and reasoning answer it, and its answer is the opposite."),
        _("Its answer is the same, it needs other facts, or it cannot be answered with yes or no."),
    ),
    "similar_reasoning": (
        _("Does the accompanying question need similar reasoning to the original question?"),
        _("It uses the same reasoning for something else, or one step of the reasoning."),
        _("It needs other reasoning, is the same question again, or cannot be answered with yes or no."),
    ),
}
KINDS = {kind: kind for kind in RELATIONS} | {
    "similar reasoning": "similar_reasoning",
    "similar": "similar_reasoning",
}
_FLIP = {"yes": "no", "no": "yes"}

COLUMNS = (
    Column(
        "context",
        "The facts behind the original question, or its gold rationale",
        example="Water that freezes takes more room.",
    ),
    Column("question", "The original question", example="Can frost burst a closed water pipe?"),
    Column("follow_up", "The accompanying question", example="Does water take more room when it freezes?"),
    Column(
        "answer",
        "Its answer: yes or no; optional for rephrase (then gold_label) and counterfactual (then the opposite of gold_label)",
        False,
        "label",
        "yes",
    ),
    Column(
        "kind",
        "Its intended relation: rephrase, counterfactual or similar_reasoning",
        kind="label",
        example="rephrase",
    ),
    Column("gold_label", "The correct answer to the original question; never shown", False, "label", "yes"),
    Column("generator", "Who or what wrote the accompanying question", False, example="writer-x"),
    *ITEM_COLUMNS,
)


def parse_row(raw: Mapping[str, Any]) -> tuple[Row, JSON, Material]:
    """Read an import row; its errors are in the returned ``Row``.

    A rephrase has the original's answer and a counterfactual the opposite one, so these two may leave out
    ``answer`` if ``gold_label`` is given.
    """
    row = Row(raw)
    kind = row.label("kind", KINDS)
    gold_label = row.label("gold_label", YES_NO, required=False)
    answer = row.label("answer", YES_NO, required=False)
    if not answer and kind and "answer" not in row.errors:
        answer = {"rephrase": gold_label, "counterfactual": _FLIP.get(gold_label, "")}.get(kind, "")
        if not answer:
            hint = "" if kind == "similar_reasoning" else ", or gold_label to take it from"
            row.errors["answer"] = f"is missing; expected yes or no{hint}"
    payload: JSON = {
        "kind": kind,
        "context": row.text("context"),
        "question": row.text("question"),
        "follow_up": row.text("follow_up"),
        "answer": answer,
    }
    material = Material(
        instance_key=row.text("instance", required=False, limit=200) or stable_key(payload["question"]),
        instance_input=payload["question"],
        gold_label=gold_label,
        gold_rationale=payload["context"],
        follow_up=payload["follow_up"],
        follow_up_gold=answer,
        generator=row.text("generator", required=False, limit=200),
        kind=kind,
    )
    return row, payload, material


def stages_of(payload: JSON) -> tuple[Stage, ...]:
    """One stage: the relation, then whether the context answers the question, then whether its answer is right."""
    label, yes, no = RELATIONS[payload["kind"]]
    blocks = (
        Block("context", _("Context"), payload["context"], format=format_of(payload, "context")),
        Block(
            "question",
            _("Original question"),
            payload["question"],
            format=format_of(payload, "question"),
            group="original",
        ),
        Block(
            "follow_up",
            _("Accompanying question"),
            payload["follow_up"],
            format=format_of(payload, "follow_up"),
            group="accompanying",
        ),
        Block(
            "answer",
            _("Answer to the accompanying question"),
            Answers().say(payload["answer"]),
            kind="answer",
            group="accompanying",
        ),
    )
    fields = (
        Field(
            "relation",
            label,
            options=(Option("yes", _("Yes"), yes), Option("no", _("No"), no)),
            about=("question", "follow_up"),
        ),
        Field(
            "answerable",
            _("Can the accompanying question be answered from the context?"),
            options=YES_NO_OPTIONS,
            help=_("You may use common knowledge, but do not look anything up."),
            when=(("relation", ("yes", "no")),),
            about=("context", "follow_up"),
        ),
        Field(
            "answer_right",
            _("Is its answer right, going by the context?"),
            options=YES_NO_OPTIONS,
            when=(("answerable", ("yes",)),),
            about=("context", "answer"),
        ),
    )
    return (Stage(payload["kind"], _("Check the accompanying question"), blocks, fields),)
