"""What can be wrong within one question of a file, given its kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotator.hit_types.declaration.asking import EQUAL, ScaleQuestion
from annotator.hit_types.declaration.asking_more import NONE, OTHER, question_of
from annotator.hit_types.declaration.problems import Path, shown_value


def labels_of(question: Mapping[str, Any]) -> list[str]:
    """The labels of a well-formed question; none if items have their own, or if it is written."""
    if question["kind"] == "scale" and question["from"] >= question["to"]:
        return []
    return list(question_of("q", question).labels)


def kind_problems(one: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """What is wrong within one question, given its kind."""
    if one["kind"] == "scale":
        if not 1 <= one["to"] - one["from"] <= 10:
            yield ("to",), f"is {one['to']}; expected 1 to 10 more than from, {one['from']}"
        steps = [str(step) for step in ScaleQuestion("q", one).steps]
        for number in one["anchors"]:
            if number not in steps:
                yield ("anchors", number), f"isn't on the scale; expected one of: {', '.join(steps)}"
        for number in (steps[:1] + steps[-1:]) if steps else []:
            if number not in one["anchors"]:
                yield ("anchors", number), "is missing; say what the lowest and the highest number mean"
    if one["kind"] == "number" and one.get("least", 0) > one.get("most", one.get("least", 0)):
        yield ("least",), f"is {one['least']}, more than most, {one['most']}"
    if one["kind"] == "preference":
        for number, column in enumerate(one["between"]):
            if column == EQUAL or one["between"].index(column) < number:
                yield (
                    ("between", number),
                    f"is {shown_value(column)}; name each column once, and none {EQUAL}",
                )
    if one["kind"] == "several":
        for value in (NONE, OTHER):
            if value in one["options"]:
                yield ("options", value), f"is given as an option; write `{value}: its label` beside options"
    if one["kind"] == "ranking" and len(one["options"]) > 9:
        yield ("options",), f"has {len(one['options'])} entries; expected at most 9"
    if one["kind"] in ("ranking", "several"):
        for value in one["options"]:
            if not value.replace("_", "").isalnum():
                yield ("options", value), "is a value with other characters than letters, digits and _"
