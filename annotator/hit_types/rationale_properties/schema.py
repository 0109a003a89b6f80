"""What an item of `rationale_properties` contains and what is asked about it: two properties of one group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
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


def _asked(name: str, label: str, yes: str, no: str) -> Field:
    options = (Option("yes", _("Yes"), yes), Option("no", _("No"), no))
    return Field(name, label, options=options, about=("question", "answer", "explanation"))


#: Group -> its two properties, in the order asked.
GROUPS: Mapping[str, tuple[Field, Field]] = {
    "surface_form": (
        _asked(
            "grammaticality",
            _("Grammar: is the explanation written in correct, understandable sentences?"),
            _("Its sentences are correct. Missing capital letters do not count."),
            _("Sentences are broken, cut off or jumbled."),
        ),
        _asked(
            "validity",
            _("Facts: is everything in the explanation factually correct?"),
            _("Every statement in it is true."),
            _("At least one statement in it is false."),
        ),
    ),
    "support": (
        _asked(
            "association",
            _("Support: does the explanation support the answer?"),
            _("It supports the answer given."),
            _("It supports another answer, or none."),
        ),
        _asked(
            "contrast",
            _("Non-ambiguity: does the explanation lead to this answer only?"),
            _("It leads to the answer given and to no other."),
            _("It could lead to another answer as well, or leads to another one instead."),
        ),
    ),
    "informativeness": (
        _asked(
            "novelty",
            _(
                "New information: does the explanation say anything that is not in the question or the answer?"
            ),
            _("It says something new."),
            _("It only repeats the question and the answer, in the same words or in others."),
        ),
        _asked(
            "leakage",
            _("Giveaway: does the explanation state the answer?"),
            _("It states the answer, in the same words or in others. The reader does not have to think."),
            _("The reader has to draw the conclusion."),
        ),
    ),
    "style": (
        _asked(
            "coherence",
            _("To the point: is everything in the explanation relevant to the question?"),
            _("Every sentence is relevant to the question."),
            _("At least one sentence has nothing to do with the question."),
        ),
        _asked(
            "conciseness",
            _("No repetition: does the explanation say each thing only once?"),
            _("Nothing is repeated, and nothing relevant is redundant."),
            _("Something relevant is repeated, or could be left out without losing anything."),
        ),
    ),
}
TITLES = {
    "surface_form": _("Is the explanation well written and true?"),
    "support": _("Does the explanation support the answer?"),
    "informativeness": _("How informative is the explanation?"),
    "style": _("Is the explanation to the point?"),
}
PROPERTIES = tuple(asked.name for pair in GROUPS.values() for asked in pair)

COLUMNS = (
    Column("question", "The question", example="Does argon burn?"),
    Column(
        "options",
        "Its possible answers, as a list; if left out, yes and no, or an open question",
        False,
        "list",
    ),
    Column("answer", "The answer that the rationale explains, right or wrong", example="no"),
    Column("rationale", "The system's rationale", example="Argon does not react with oxygen."),
    Column("group", f"The group of properties: {', '.join(GROUPS)}", kind="label", example="support"),
    Column("gold_label", "The correct answer to the question; never shown", False),
    *SYSTEM_COLUMNS,
    Column("gold_rationale", "A correct rationale; never shown", False),
    *ITEM_COLUMNS,
)


def parse_row(raw: Mapping[str, Any]) -> tuple[Row, JSON, Material]:
    """Read an import row; its errors are in the returned ``Row``."""
    row = Row(raw)
    system, model, method = system_name(row)
    answers = Answers.read_options(row, "options")
    payload: JSON = {
        "group": row.label("group", {group: group for group in GROUPS}),
        "question": row.text("question"),
        "options": list(answers.options),
        "answer": _answer(row, "answer", answers, required=True),
        "rationale": row.text("rationale"),
    }
    material = Material(
        instance_key=row.text("instance", required=False, limit=200)
        or stable_key(payload["question"], *answers.options),
        instance_input="\n".join([payload["question"], *answers.lines]),
        gold_label=_answer(row, "gold_label", answers, required=False),
        gold_rationale=row.text("gold_rationale", required=False),
        system=system,
        model=model,
        method=method,
        explanation=payload["rationale"],
        output=payload["answer"],
        kind="",
    )
    return row, payload, material


def _answer(row: Row, name: str, answers: Answers, *, required: bool) -> str:
    """A letter if the question has options; else yes, no or the answer in words."""
    if answers.options:
        return answers.read(row, name, required=required)
    if isinstance(row.raw.get(name), bool):
        return row.label(name, YES_NO)
    text = row.text(name, required=required, limit=200)
    return YES_NO.get(text.lower(), text)


def stages_of(payload: JSON) -> tuple[Stage, ...]:
    """One stage with two steps: the second property is asked after the first."""
    first, second = GROUPS[payload["group"]]
    answers = Answers.of(payload["options"])
    blocks: tuple[Block, ...] = (
        Block("question", _("Question"), payload["question"], format=format_of(payload, "question")),
    )
    if answers.options:
        blocks += (Block("options", _("Options"), items=answers.lines, kind="options"),)
    blocks += (
        Block("answer", _("Answer"), say(payload), kind="answer", group="explanation"),
        Block(
            "explanation",
            _("Explanation"),
            payload["rationale"],
            format=format_of(payload, "rationale"),
            group="explanation",
        ),
    )
    after = replace(second, when=((first.name, ("yes", "no")),))
    lead = _("Pretend that the answer is right, even if you disagree.")
    if payload["group"] == "surface_form":
        lead = _("Judge the sentences and the facts of the explanation. You may look facts up.")
    return (Stage(payload["group"], TITLES[payload["group"]], blocks, (first, after), lead),)


def say(payload: JSON) -> str:
    """The answer as it is shown."""
    answer = str(payload["answer"])
    if payload["options"]:
        return Answers.of(payload["options"]).say(answer)
    return Answers().say(answer) if answer in ("yes", "no") else answer
