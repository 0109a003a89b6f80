"""Which options of questions, and which questions of stages, each rater has in an order of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from annotator.hit_types.shapes import JSON, FieldErrors

#: Where the orders are in what is drawn for a rater: by question, and by stage.
OPTIONS, QUESTIONS = "options", "questions"
#: Options that stay last, in the order of the file.
LAST = ("other", "none")


class Shuffling:
    """What a file shuffles beside its columns; the same for all items.

    >>> stages = {"s": {"questions": {"a": {"options": {"x": "X", "other": "O", "y": "Y"}, "shuffled": True}}}}
    >>> sorted(Shuffling(stages).draw(Random(1))["options"]["a"])
    ['x', 'y']
    """

    def __init__(self, stages: Mapping[str, Mapping[str, Any]]):
        asked = {name: one for stage in stages.values() for name, one in stage["questions"].items()}
        #: Question -> the options, or the rows of a grid, that are shuffled.
        self.options = {
            name: [key for key in one.get("options") or one["rows"] if key not in LAST]
            for name, one in asked.items()
            if one.get("shuffled")
        }
        #: Stage -> its questions: those that depend on each other stay together, in the order of the file.
        self.questions = {
            name: question_groups(stage["questions"])
            for name, stage in stages.items()
            if stage.get("shuffled")
        }

    def draw(self, rng: Random) -> JSON:
        """The orders for one rater; ``{}`` if nothing is shuffled."""
        options = {name: rng.sample(keys, len(keys)) for name, keys in self.options.items()}
        groups = {stage: rng.sample(held, len(held)) for stage, held in self.questions.items()}
        questions = {stage: [name for group in held for name in group] for stage, held in groups.items()}
        found = {OPTIONS: options, QUESTIONS: questions}
        return {name: orders for name, orders in found.items() if orders}

    def check(self, drawn: Mapping[str, Any]) -> None:
        """Raise ``FieldErrors`` if what was drawn isn't an order of these."""
        for name, order in drawn.get(OPTIONS, {}).items():
            if sorted(order) != sorted(self.options.get(name, ())):
                raise FieldErrors({OPTIONS: f"does not list the options of {name} once each"})
        for stage, order in drawn.get(QUESTIONS, {}).items():
            known = [name for group in self.questions.get(stage, ()) for name in group]
            if sorted(order) != sorted(known):
                raise FieldErrors({QUESTIONS: f"does not list the questions of {stage} once each"})


def in_order(keys: Sequence[str], drawn: Sequence[str]) -> list[str]:
    """Keys as they were drawn; those that weren't shuffled come last, as they are.

    >>> in_order(["x", "other", "y", "none"], ["y", "x"]), in_order(["x", "y"], [])
    (['y', 'x', 'other', 'none'], ['x', 'y'])
    """
    return [*drawn, *(key for key in keys if key not in drawn)]


def question_groups(questions: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """The questions of a stage, each together with those on which its ``when`` depends.

    >>> question_groups({"a": {}, "b": {}, "c": {"when": {"a": "yes"}}})
    [['a', 'c'], ['b']]
    """
    groups: list[list[str]] = []
    for name, one in questions.items():
        depends = [group for group in groups if set(one.get("when", {})) & set(group)]
        together = {name, *(other for group in depends for other in group)}
        place = groups.index(depends[0]) if depends else len(groups)
        groups = [group for group in groups if group not in depends]
        groups.insert(place, [other for other in questions if other in together])
    return groups
