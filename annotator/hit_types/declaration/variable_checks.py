"""What can be wrong with a variable that a file names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotator.hit_types.declaration.kind_checks import Problems, kind_problems, labels_of
from annotator.hit_types.declaration.kinds import question_of
from annotator.hit_types.declaration.problems import shown_value


def variable_checked(
    name: str, one: Mapping[str, Any], question: Mapping[str, Any], asked: str
) -> tuple[list[str], Problems]:
    """The variables with labels that the entry ``name`` of ``variables`` makes of the question ``asked``, and what is wrong with
    the entry, by the place below it."""
    if question["kind"] == "text":
        return [], iter([((), "is a text; texts are read, not measured")])
    if any(kind_problems(question)):
        return [], iter(())
    whole = question_of(asked, question)
    made = whole.variables()
    further = [variable.name for variable in made if not variable.structured and variable.name != asked]
    if not whole.compound:
        return [name, *further], _plain(one, question, asked)
    if one["level"] == made[0].level:
        return further, iter(())
    message = f"is {shown_value(one['level'])}; {asked} is measured in parts, which are {made[0].level}"
    return further, iter([(("level",), message)])


def _plain(one: Mapping[str, Any], question: Mapping[str, Any], asked: str) -> Iterator[tuple[Any, str]]:
    kind = question["kind"]
    labels = [str(label) for label in one.get("labels", labels_of(question))]
    if one["level"] == "ordinal" and question.get("shuffled"):
        yield (
            ("level",),
            f'is "ordinal", and {asked} is shuffled; a scale keeps its order, so remove one of the two',
        )
    if one["level"] == "ordinal" and not labels:
        yield ("labels",), "is missing; an ordinal variable lists its labels in order"
    if one["level"] not in ("nominal", "ordinal") and (
        kind not in ("number", "scale", "slider") or one["level"] == "span"
    ):
        yield ("level",), f"is {shown_value(one['level'])}; expected nominal or ordinal for kind {kind}"
    for missing in [label for label in labels_of(question) if labels and label not in labels]:
        yield ("labels",), f"lack {shown_value(missing)}, an answer of {asked}"
    unasked = [str(one["unasked"])] if "unasked" in one else []
    for label in (*map(str, one.get("abstain", ())), *unasked):
        if labels and label not in labels:
            yield (), f"names {shown_value(label)}, which isn't among its labels: {', '.join(labels)}"
    for label in one.get("scores", {}):
        if label not in labels:
            yield ("scores", label), f"isn't among the labels: {', '.join(labels)}"
