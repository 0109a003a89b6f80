"""What an item of `generalization_utility` contains, and the steps in which it is asked.

There are four steps: ``question`` and ``follow_up`` are answered without the rationale, ``question_again`` and
``follow_up_again`` with it. An *arm* is the list of steps that one rater takes, in order. An item names its
arms; if it names several, one is drawn for each rater.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotator.hit_types.base import (
    GENERATOR_COLUMN,
    ITEM_COLUMNS,
    JSON,
    SYSTEM_COLUMNS,
    Column,
    DeclaredStage,
    Field,
    Row,
    Shown,
    Stage,
    is_blank,
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

KINDS = {
    "rephrase": "rephrase",
    "counterfactual": "counterfactual",
    "similar_reasoning": "similar_reasoning",
    "similar reasoning": "similar_reasoning",
    "similar": "similar_reasoning",
}


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


def arm_of(payload: JSON, presentation: JSON | None) -> list[str]:
    """The steps of the arm drawn, or of the first arm if none was drawn."""
    steps: list[str] = payload["arms"][(presentation or {}).get("arm", 0)]
    return steps


COLUMNS = (
    Column(
        "question",
        "The original question",
        example="Can sea air harm a car?",
        options="options",
        material="instance_input",
    ),
    Column("options", "Its possible answers, as a list; if left out, yes and no", False, "list"),
    Column(
        "rationale",
        "The system's rationale for the original question",
        example="Sea air is salty.",
        material="explanation",
    ),
    Column(
        "follow_up",
        "The generalization question",
        example="Can salt on winter roads harm a car?",
        options="follow_up_options",
        material="follow_up",
    ),
    Column("follow_up_options", "Its possible answers, as a list; if left out, yes and no", False, "list"),
    Column(
        "kind",
        "Its kind: rephrase, counterfactual or similar_reasoning; never shown",
        False,
        "label",
        labels=KINDS,
        hidden=True,
    ),
    Column(
        "gold_label",
        "The correct answer to the original question; never shown",
        False,
        "label",
        "yes",
        options="options",
        hidden=True,
    ),
    Column(
        "follow_up_gold",
        "The correct answer to the follow-up question; never shown",
        False,
        "label",
        "yes",
        options="follow_up_options",
        hidden=True,
    ),
    Column(
        "answer",
        "The system's own answer to the original question; never shown",
        False,
        "label",
        options="options",
        hidden=True,
        material="output",
    ),
    Column(
        "arms",
        f"The arms, as a list of names ({', '.join(ARMS)}) or of lists of steps ({', '.join(STEPS)}); if left out, all",
        False,
        "json",
        example=["all"],
        read=read_arms,
    ),
    *SYSTEM_COLUMNS,
    GENERATOR_COLUMN,
    Column("gold_rationale", "A correct rationale; never shown", False, hidden=True),
    *ITEM_COLUMNS,
)
#: The blocks of both questions and of the explanation.
_SHOWN: Mapping[str, tuple[Shown, ...]] = {
    "question": (
        Shown("question", _("Question"), group="question"),
        Shown("options", _("Options"), "options", group="question", name="question_options"),
    ),
    "explanation": (Shown("rationale", _("Explanation"), group="explanation", name="explanation"),),
    "follow_up": (
        Shown("follow_up", _("Follow-up question"), group="follow_up"),
        Shown("follow_up_options", _("Options"), "options", group="follow_up"),
    ),
}
#: Step -> its title, its lead and its question.
_TEXTS: Mapping[str, tuple[str, str, str]] = {
    "question": (
        _("Question"),
        _("Answer as well as you can. Please do not look it up."),
        _("What is the answer to the question?"),
    ),
    "follow_up": (
        _("Follow-up question"),
        _("Answer as well as you can, from what you know yourself. Please do not look it up."),
        _("What is the answer to the follow-up question?"),
    ),
    "question_again": (
        _("Question again"),
        _("Now read the explanation and answer the question again, using only the explanation."),
        _("What is the answer to the question, going by the explanation alone?"),
    ),
    "follow_up_again": (
        _("Follow-up question again"),
        _("Answer the follow-up question. You may use the explanation of the first question."),
        _("What is the answer to the follow-up question, with the help of the explanation?"),
    ),
}


def stage_of(payload: JSON, step: str, *, seen: Sequence[str]) -> Stage:
    """The stage of one step. ``seen`` are the steps already taken; their questions stay in view."""
    about = step.removesuffix("_again")
    explained = step != about
    title, lead, label = _TEXTS[step]
    shown = {about, *(earlier.removesuffix("_again") for earlier in seen)}
    if explained:
        shown |= {"question", "explanation"}
    asked = Field(
        VARIABLE_OF[step],
        label,
        help=_("Assume that the explanation is right, even if you disagree.") if explained else "",
        about=(about, "explanation") if explained else (about,),
        options_of="options" if about == "question" else "follow_up_options",
    )
    parts = tuple(part for name, group in _SHOWN.items() if name in shown for part in group)
    return DeclaredStage(step, title, parts, (asked,), lead).stage(payload)
