"""What an item of `generalization_utility` contains, and the steps in which it is asked.

There are four steps: ``question`` and ``follow_up`` are answered without the rationale, ``question_again`` and
``follow_up_again`` with it. An *arm* is the list of steps that one rater takes, in order. An item names its
arms; if it names several, one is drawn for each rater.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
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
    is_blank,
    stable_key,
    system_name,
)
from annotator.hit_types.base import translatable as _

STEPS = ("question", "follow_up", "question_again", "follow_up_again")
#: Step -> the variable and the field that it fills.
VARIABLE_OF = {
    "question": "before",
    "question_again": "after",
    "follow_up": "follow_up_before",
    "follow_up_again": "follow_up_after",
}
ARMS: Mapping[str, tuple[str, ...]] = {
    #: Both questions without the rationale first, so that those answers cannot be influenced by it.
    "all": STEPS,
    #: P3, Figure 11: the question, the question again, and the follow-up with the rationale in view.
    "figure_11": ("question", "question_again", "follow_up_again"),
    #: P3, section 3: only the follow-up question, without and with the rationale.
    "follow_up_only": ("follow_up", "follow_up_again"),
    #: The question without and with its rationale, then the follow-up without and with it.
    "in_turn": ("question", "question_again", "follow_up", "follow_up_again"),
    #: A control group that never sees the rationale.
    "without": ("question", "follow_up"),
}

COLUMNS = (
    Column("question", "The original question", example="Can sea air harm a car?"),
    Column("options", "Its possible answers, as a list; if left out, yes and no", False, "list"),
    Column("rationale", "The system's rationale for the original question", example="Sea air is salty."),
    Column("follow_up", "The generalization question", example="Can salt on winter roads harm a car?"),
    Column("follow_up_options", "Its possible answers, as a list; if left out, yes and no", False, "list"),
    Column("kind", "Its kind: rephrase, counterfactual or similar_reasoning; never shown", False, "label"),
    Column("gold_label", "The correct answer to the original question; never shown", False, "label", "yes"),
    Column(
        "follow_up_gold", "The correct answer to the follow-up question; never shown", False, "label", "yes"
    ),
    Column("answer", "The system's own answer to the original question; never shown", False, "label"),
    Column(
        "arms",
        f"The arms, as a list of names ({', '.join(ARMS)}) or of lists of steps ({', '.join(STEPS)}); if left out, all",
        False,
        "json",
        example=["all"],
    ),
    *SYSTEM_COLUMNS,
    Column("generator", "Who or what wrote the follow-up question", False, example="writer-x"),
    Column("gold_rationale", "A correct rationale; never shown", False),
    *ITEM_COLUMNS,
)
KINDS = {
    "rephrase": "rephrase",
    "counterfactual": "counterfactual",
    "similar_reasoning": "similar_reasoning",
    "similar reasoning": "similar_reasoning",
    "similar": "similar_reasoning",
}


def parse_row(raw: Mapping[str, Any]) -> tuple[Row, JSON, Material]:
    """Read an import row; its errors are in the returned ``Row``."""
    row = Row(raw)
    system, model, method = system_name(row)
    first = Answers.read_options(row, "options")
    second = Answers.read_options(row, "follow_up_options")
    readable = not {"options", "follow_up_options"} & set(row.errors)
    payload: JSON = {
        "question": row.text("question"),
        "options": list(first.options),
        "rationale": row.text("rationale"),
        "follow_up": row.text("follow_up"),
        "follow_up_options": list(second.options),
        "arms": read_arms(row),
    }
    material = Material(
        instance_key=row.text("instance", required=False, limit=200)
        or stable_key(payload["question"], *first.options),
        instance_input="\n".join([payload["question"], *first.lines]),
        gold_label=first.read(row, "gold_label", required=False) if readable else "",
        gold_rationale=row.text("gold_rationale", required=False),
        system=system,
        model=model,
        method=method,
        explanation=payload["rationale"],
        output=first.read(row, "answer", required=False) if readable else "",
        follow_up="\n".join([payload["follow_up"], *second.lines]),
        follow_up_gold=second.read(row, "follow_up_gold", required=False) if readable else "",
        generator=row.text("generator", required=False, limit=200),
        kind=row.label("kind", KINDS, required=False),
    )
    return row, payload, material


def read_arms(row: Row) -> list[list[str]]:
    """The item's arms as lists of steps; a single name or a single list of steps is one arm."""
    given = row.json("arms")
    if is_blank(given):
        return [list(ARMS["all"])]
    if isinstance(given, str):
        given = [given]
    if isinstance(given, list) and given and all(isinstance(step, str) and step in STEPS for step in given):
        given = [given]
    arms: list[list[str]] = []
    for arm in given or [[]] if isinstance(given, list) else [given]:
        steps = list(ARMS.get(arm, ())) if isinstance(arm, str) else arm
        fault = arm_fault(steps)
        if fault:
            row.errors["arms"] = f"{arm!r}: {fault}"
            return [list(ARMS["all"])]
        arms.append(list(steps))
    return arms


def arm_fault(steps: Any) -> str:
    """What is wrong with an arm; empty if nothing is.

    >>> arm_fault(["question_again", "question"])
    "'question' after 'question_again': an answer without the explanation comes first"
    """
    if not isinstance(steps, Sequence) or not steps or not all(step in STEPS for step in steps):
        return f"expected one of {', '.join(ARMS)}, or a list of steps from {', '.join(STEPS)}"
    if len(set(steps)) < len(steps):
        return "a step is listed twice"
    for step in ("question", "follow_up"):
        if step in steps and f"{step}_again" in steps and steps.index(step) > steps.index(f"{step}_again"):
            return f"{step!r} after '{step}_again': an answer without the explanation comes first"
    return ""


def draw_arm(payload: JSON, rng: Random) -> JSON:
    """One arm for one rater; nothing is drawn if the item has only one."""
    arms = payload["arms"]
    return {"arm": rng.randrange(len(arms))} if len(arms) > 1 else {}


def arm_of(payload: JSON, presentation: JSON | None) -> list[str]:
    """The steps of the arm drawn, or of the first arm if none was drawn."""
    steps: list[str] = payload["arms"][(presentation or {}).get("arm", 0)]
    return steps


def stages_of(payload: JSON, presentation: JSON | None) -> tuple[Stage, ...]:
    """One stage for each step of the arm."""
    return tuple(
        stage_of(payload, step, seen=steps[:n])
        for steps in [arm_of(payload, presentation)]
        for n, step in enumerate(steps)
    )


def every_stage_of(payload: JSON) -> tuple[Stage, ...]:
    """The stages of every step of every arm."""
    used = {step for arm in payload["arms"] for step in arm}
    return tuple(stage_of(payload, step, seen=[]) for step in STEPS if step in used)


def stage_of(payload: JSON, step: str, *, seen: Sequence[str]) -> Stage:
    """The stage of one step. ``seen`` are the steps already taken; their questions stay in view."""
    first, second = Answers.of(payload["options"]), Answers.of(payload["follow_up_options"])
    about = step.removesuffix("_again")
    explained = step.endswith("_again")
    blocks = []
    if about == "question" or explained or any(s.startswith("question") for s in seen):
        blocks += _question(payload, "question", _("Question"), first)
    if explained:
        blocks.append(
            Block(
                "explanation",
                _("Explanation"),
                payload["rationale"],
                format=format_of(payload, "rationale"),
                group="explanation",
            )
        )
    if about == "follow_up" or any(s.startswith("follow_up") for s in seen):
        blocks += _question(payload, "follow_up", _("Follow-up question"), second)
    titles = {
        "question": (_("Question"), _("Answer as well as you can. Please do not look it up.")),
        "follow_up": (
            _("Follow-up question"),
            _("Answer as well as you can, from what you know yourself. Please do not look it up."),
        ),
        "question_again": (
            _("Question again"),
            _("Now read the explanation and answer the question again from it alone."),
        ),
        "follow_up_again": (
            _("Follow-up question again"),
            _("Answer the follow-up question. You may use the explanation of the first question."),
        ),
    }
    labels = {
        "question": _("What is the answer to the question?"),
        "question_again": _("What is the answer to the question, going by the explanation alone?"),
        "follow_up": _("What is the answer to the follow-up question?"),
        "follow_up_again": _(
            "What is the answer to the follow-up question, with the help of the explanation?"
        ),
    }
    title, lead = titles[step]
    field = Field(
        VARIABLE_OF[step],
        labels[step],
        options=(first if about == "question" else second).choices,
        help=_("Assume that the explanation is right, even if you disagree.") if explained else "",
        about=(about, "explanation") if explained else (about,),
    )
    return Stage(step, title, tuple(blocks), (field,), lead)


def _question(payload: JSON, name: str, label: str, answers: Answers) -> list[Block]:
    blocks = [Block(name, label, payload[name], format=format_of(payload, name), group=name)]
    if answers.options:
        blocks.append(Block(f"{name}_options", _("Options"), items=answers.lines, kind="options", group=name))
    return blocks
