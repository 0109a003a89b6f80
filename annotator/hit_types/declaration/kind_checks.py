"""What can be wrong within one question of a file, given its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from annotator.hit_types.declaration.asking_compare import EQUAL
from annotator.hit_types.declaration.asking_grid import SCORE
from annotator.hit_types.declaration.asking_more import NONE, OTHER, SET
from annotator.hit_types.declaration.kinds import question_of
from annotator.hit_types.declaration.problems import Path, shown_value


def labels_of(question: Mapping[str, Any]) -> list[str]:
    """The labels of a well-formed question; none if items have their own, or if it is written."""
    if question["kind"] == "scale" and question["from"] >= question["to"]:
        return []
    if question["kind"] in ("ranking", "best_worst") and not {"options", "between"} & set(question):
        return []
    return list(question_of("q", question).labels)


def has_parts(question: Mapping[str, Any]) -> bool:
    """Whether a question has several fields or variables, whose names begin with its own."""
    kinds = ("several", "ranking", "grid", "best_worst", "preference", "spans")
    return question.get("kind") in kinds or "for_each" in question


def kind_problems(one: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """What is wrong within one question, given its kind."""
    yield from _KINDS.get(one["kind"], lambda _: iter(()))(one)
    if "missing" in one.get("messages", {}) and one.get("required") is False:
        yield ("messages", "missing"), "is never said, because the question need not be answered; remove it"
    for other in ("options_of", "between"):
        if one.get("shuffled") and other in one:
            yield ("shuffled",), f"can't be given with {other}; it is for options that the file names"
    if "between" in one:
        for number, column in enumerate(one["between"]):
            if column == EQUAL or one["between"].index(column) < number:
                yield (
                    ("between", number),
                    f"is {shown_value(column)}; name each column once, and none {EQUAL}",
                )


Problems = Iterator[tuple[Path, str]]


def _scale(one: Mapping[str, Any]) -> Problems:
    if not 1 <= one["to"] - one["from"] <= 10:
        yield ("to",), f"is {one['to']}; expected 1 to 10 more than from, {one['from']}"
    steps = [str(step) for step in range(one["from"], one["to"] + 1)]
    for number in one["anchors"]:
        if number not in steps:
            yield ("anchors", number), f"isn't on the scale; expected one of: {', '.join(steps)}"
    for number in (steps[:1] + steps[-1:]) if steps else []:
        if number not in one["anchors"]:
            yield ("anchors", number), "is missing; say what the lowest and the highest number mean"


def _grid(one: Mapping[str, Any]) -> Problems:
    given = [key for key in ("from", "to", "anchors") if key in one]
    if len(given) == 3:
        yield from _scale(one)
    elif given:
        missing = next(key for key in ("from", "to", "anchors") if key not in one)
        yield (
            (missing,),
            "is missing; a scale has from, to and anchors, and without all three each row is yes or no",
        )
    if SCORE in one["rows"]:
        yield ("rows", SCORE), "is the name of the weighted mean; choose another"


def _number(one: Mapping[str, Any]) -> Problems:
    if one.get("least", 0) > one.get("most", one.get("least", 0)):
        yield ("least",), f"is {one['least']}, more than most, {one['most']}"


def _slider(one: Mapping[str, Any]) -> Problems:
    span, step = one["most"] - one["least"], one.get("step", 1)
    if span <= 0:
        yield ("most",), f"is {one['most']}; expected more than least, {one['least']}"
    elif span % step:
        yield ("step",), f"is {step}; expected a number that divides {span}, the difference of most and least"


def _preference(one: Mapping[str, Any]) -> Problems:
    if "strength" not in one:
        if "how_much" in one:
            yield ("how_much",), "can't be given without strength"
        return
    if len(one["between"]) != 2:
        yield ("strength",), f"is asked of two columns; between has {len(one['between'])}"
    expected = [str(number) for number in range(1, len(one["strength"]) + 1)]
    if sorted(one["strength"]) != expected:
        yield ("strength",), f"has the numbers {', '.join(one['strength'])}; expected {', '.join(expected)}"


def _several(one: Mapping[str, Any]) -> Problems:
    for value in (NONE, OTHER):
        if value in one["options"]:
            yield ("options", value), f"is given as an option; write `{value}: its label` beside options"
    if SET in one["options"]:
        yield ("options", SET), "is the name of the variable with all chosen options; choose another"
    yield from _plain_values(one)


def _compared(one: Mapping[str, Any]) -> Problems:
    if ("options" in one) == ("between" in one):
        yield (), "needs either options or between"
        return
    if len(one.get("options", ())) > 9:
        yield ("options",), f"has {len(one['options'])} entries; expected at most 9"
    yield from _plain_values(one)


def _plain_values(one: Mapping[str, Any]) -> Problems:
    for value in one.get("options", ()):
        if not value.replace("_", "").isalnum():
            yield ("options", value), "is a value with other characters than letters, digits and _"


def _spans(one: Mapping[str, Any]) -> Problems:
    if "none" in one and one.get("required") is False:
        yield ("none",), "can't be given with required: false; leave one of the two out"
    if NONE in one["categories"]:
        yield ("categories", NONE), "is what an answer without passages is called; choose another"


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], Problems]] = {
    "scale": _scale,
    "grid": _grid,
    "number": _number,
    "slider": _slider,
    "preference": _preference,
    "several": _several,
    "ranking": _compared,
    "best_worst": _compared,
    "spans": _spans,
}
