"""Control arms of a type from a file: the same items for other people, without what the arm hides.

An arm is checked and shown as the file that it would be by itself: without the columns that it hides and the questions that
it drops, and with its own wording of the questions that it words anew. Answers stay the same, so that they can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotator.hit_types.declaration.problems import Faults, Path, shown_value
from annotator.hit_types.declaration.references import References
from annotator.hit_types.shapes import Question

#: The file's key for its arms.
KEY = "arms"


@dataclass(frozen=True)
class DeclaredArm:
    """What a study with the arm has besides the texts of the type: instructions, practice, exam, and the prompt by stage."""

    instructions: str
    practice: tuple[Question, ...]
    exam: tuple[Question, ...]
    prompts: Mapping[str, str]


def arm_stage(spec: Mapping[str, Any], arm: str, stage: str) -> str:
    """The name of an arm's stage: prompts, which stages have by name, say something else in an arm.

    >>> arm_stage({"stages": {"judge": {}}}, "nothing", "judge"), arm_stage({"stages": {"a": {}, "b": {}}}, "nothing", "b")
    ('nothing', 'nothing_b')
    """
    return arm if len(spec["stages"]) == 1 else f"{arm}_{stage}"


def arm_spec(spec: Mapping[str, Any], arm: str) -> dict[str, Any]:
    """A file's value as an arm has it.

    >>> show, asked = {"a": "A", "b": "B"}, {"q": {"ask": "Why?", "about": ["a", "b"]}}
    >>> spec = {"columns": {"a": {}, "b": {}}, "stages": {"s": {"show": show, "questions": asked}}, "arms": {"nothing": {"hides": ["b"]}}}
    >>> arm_spec(spec, "nothing")["stages"]
    {'nothing': {'show': {'a': 'A'}, 'questions': {'q': {'ask': 'Why?', 'about': ['a']}}}}
    """
    own = spec[KEY][arm]
    hides, drops = set(own["hides"]), set(own.get("drops", ()))
    worded, labelled = own.get("questions", {}), own.get("show", {})
    stages: dict[str, Any] = {}
    for stage, one in spec["stages"].items():
        changed = {
            **one,
            "show": {
                column: _labelled(shown, labelled.get(column))
                for column, shown in one["show"].items()
                if column not in hides
            },
            "questions": {
                name: worded[name] if name in worded else _about(asked, hides)
                for name, asked in one["questions"].items()
                if name not in drops
            },
        }
        if "lead" in own and not stages:
            changed["lead"] = own["lead"]
        stages[arm_stage(spec, arm, stage)] = changed
    columns = {
        name: {**one, "hidden": True} if name in hides else one for name, one in spec["columns"].items()
    }
    return {**spec, "columns": columns, "stages": stages}


def _labelled(shown: Any, own: Any) -> Any:
    """How an arm shows a column that it may label otherwise: its voice, and whether it can be folded, are the file's."""
    if own is None:
        return shown
    kept = {
        key: shown[key] for key in ("voice", "collapsible") if isinstance(shown, Mapping) and key in shown
    }
    return {**kept, **(own if isinstance(own, Mapping) else {"label": own})} if kept else own


def _about(asked: Mapping[str, Any], hides: set[str]) -> Mapping[str, Any]:
    if not hides & set(asked.get("about", ())):
        return asked
    return {**asked, "about": [column for column in asked["about"] if column not in hides]}


def arms_check(spec: Mapping[str, Any], faults: Faults) -> None:
    """Add a problem for each name in the arms of a file that refers to nothing, and for what an arm can't hide or drop.

    The rest of the file has been checked.
    """
    for arm in spec.get(KEY, {}):
        found = list(_names(spec, arm))
        for path, message in found:
            faults.add((KEY, arm, *path), message)
        if not found:
            for path, message in _rest(spec, arm):
                faults.add((KEY, arm, *path), message)
    _keys(spec, faults)


def _names(spec: Mapping[str, Any], arm: str) -> Iterator[tuple[Path, str]]:
    own = spec[KEY][arm]
    asked = {name: one for stage in spec["stages"].values() for name, one in stage["questions"].items()}
    shown = [name for stage in spec["stages"].values() for name in stage["show"]]
    for number, column in enumerate(own["hides"]):
        if column not in shown:
            expected = ", ".join(shown)
            yield (
                ("hides", number),
                f"is {shown_value(column)}, no column that is shown; expected one of: {expected}",
            )
    for column in own.get("show", {}):
        if column not in shown or column in own["hides"]:
            expected = ", ".join(name for name in shown if name not in own["hides"])
            yield ("show", column), f"is no column that this arm shows; expected one of: {expected}"
    for number, name in enumerate(own.get("drops", ())):
        if name not in asked:
            yield (
                ("drops", number),
                f"is {shown_value(name)}, no question; expected one of: {', '.join(asked)}",
            )
    for name, one in own.get("questions", {}).items():
        if name not in asked:
            yield ("questions", name), f"is no question of the file; expected one of: {', '.join(asked)}"
        elif name in own.get("drops", ()):
            yield ("questions", name), "is dropped in this arm; leave it out here, or of drops"
        else:
            yield from ((("questions", name, *path), text) for path, text in _same_answers(asked[name], one))
    for stage, one in spec["stages"].items():
        if set(one["questions"]) <= set(own.get("drops", ())):
            yield ("drops",), f"leaves no question of stage {stage}; keep one"
    first = next(iter(spec["stages"].values()))
    if set(first["show"]) <= set(own["hides"]):
        yield ("hides",), "leaves nothing to see at the first stage; keep a column"


def _same_answers(asked: Mapping[str, Any], worded: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    if worded["kind"] != asked["kind"]:
        yield (
            ("kind",),
            f'is "{worded["kind"]}"; the answers are the same in each arm, so expected {asked["kind"]}',
        )
        return
    names = {"options", "rows", "categories", "severities", "when"}
    for key in sorted(
        names
        | {
            "from",
            "to",
            "least",
            "most",
            "step",
            "between",
            "in",
            "for_each",
            "roles",
            "options_of",
            "shuffled",
        }
    ):
        before, after = (one.get(key) for one in (asked, worded))
        if key in names:
            before, after = (
                list(one) if isinstance(one, Mapping) and key != "when" else one for one in (before, after)
            )
        if before != after:
            yield (
                (key,) if key in worded else (),
                f"has another {key} than the question of the file; only wording can differ",
            )


def _rest(spec: Mapping[str, Any], arm: str) -> Iterator[tuple[Path, str]]:
    """What is wrong with the rest of the file in the arm: what refers to something that it hides or drops."""
    whole = arm_spec(spec, arm)
    faults = Faults({})
    References(whole, faults).check_arm()
    worded = spec[KEY][arm].get("questions", {})
    for problem in faults.problems:
        place = problem.path
        if place[0] == "stages" and len(place) > 3 and place[3] in worded:
            yield ("questions", *place[3:]), problem.message
        elif place[0] == "stages" and len(place) > 3:
            yield (
                (),
                f"can't be shown: question {place[3]}: {'.'.join(map(str, place[4:]))} {problem.message}",
            )
        else:
            yield ("hides",), f"can't be so: {'.'.join(map(str, place))} {problem.message}"


def _keys(spec: Mapping[str, Any], faults: Faults) -> None:
    """Keys of questions are the file's own: a study with the arm has those of the type and of the arm together."""
    for which in ("practice", "exam"):
        first = {one["key"]: f"{which}[{n}]" for n, one in enumerate(spec.get(which, ()), 1)}
        for arm, own in spec.get(KEY, {}).items():
            for number, one in enumerate(own.get(which, ())):
                if one["key"] in first:
                    message = f"is {shown_value(one['key'])}, as in {first[one['key']]}; give each its own"
                    faults.add((KEY, arm, which, number, "key"), message)
                first.setdefault(one["key"], f"{KEY}.{arm}.{which}[{number + 1}]")
