"""Reads a file that declares a HIT type: all or nothing, and every problem at once.

What a file says is checked in three steps, each on all of it: that it can be read, that its form is right and its names refer
to something, and that its worked examples, practice, exam, material and prompt work with the type which it declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.hit_types.contract import HitType
from annotator.hit_types.declaration.arms import KEY, DeclaredArm, arms_check
from annotator.hit_types.declaration.document import document_read
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.making import (
    CaseError,
    arm_prompts,
    case_of,
    hit_type_made,
    instructions_made,
    prompt_made,
    question_made,
)
from annotator.hit_types.declaration.problems import Faults, Path
from annotator.hit_types.declaration.references import References
from annotator.hit_types.declaration.shape import shape_check
from annotator.hit_types.declaration.texts import translations_check
from annotator.hit_types.prompting import prompt_part, render_prompt
from annotator.hit_types.shapes import JSON, FieldErrors, Question


def hit_type_read(source: str | bytes) -> DeclaredHitType:
    """The HIT type of a file in YAML or JSON. Raises ``DeclarationRefused`` with all problems that were found.

    >>> hit_type_read("foretell_hit_type: 2")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    annotator.hit_types.declaration.problems.DeclarationRefused: line 1: foretell_hit_type is 2; expected 1
    ...
    """
    document = document_read(source)
    faults = Faults(document.lines)
    shape_check(document.value, faults)
    if isinstance(document.value, Mapping):
        References(document.value, faults).check()
    faults.check()
    translations_check(document.value, faults)
    arms_check(document.value, faults)
    faults.check()
    kind = hit_type_made(document.value)
    _contents(kind, faults)
    faults.check()
    return kind


def _contents(kind: DeclaredHitType, faults: Faults) -> None:
    """Give the type its texts and questions, and add what is wrong with them."""
    spec = kind.declaration
    examples = _cases(kind, "examples", faults)
    material = _cases(kind, "material", faults)
    for which in ("practice", "exam"):
        setattr(type(kind), which, _questions(kind, spec, which, faults))
    type(kind).arm_texts = {arm: _arm(kind, arm, faults) for arm in kind.control_arms}
    if faults.problems:
        return
    type(kind).instructions = instructions_made(kind, examples)  # type: ignore[assignment]
    try:
        kind.read_instructions()
    except ValueError as error:
        faults.add(("instructions",), f"can't be shown: {error}")
        return
    type(kind).prompt_text = spec.get("prompt") or prompt_made(kind, examples)  # type: ignore[assignment]
    _prompt(kind, faults)
    type(kind).samples = _samples(kind, material)


def _samples(kind: DeclaredHitType, material: list[tuple[JSON, JSON]]) -> tuple[JSON, ...]:
    """The rows of the file's material with their correct answers; without any, the first of its other items."""
    rows = [
        dict(case["item"]) | ({"gold": gold} if gold else {})
        for case, (_, gold) in zip(kind.declaration.get("material", ()), material, strict=True)
    ]
    others = (
        case["item"] for which in ("practice", "examples", "exam") for case in kind.declaration.get(which, ())
    )
    shown = {column.name: column.example for column in kind.columns if column.required}
    return tuple(rows or [dict(next(others, shown))])


def _cases(kind: DeclaredHitType, which: str, faults: Faults) -> list[tuple[JSON, JSON]]:
    found = []
    for number, case in enumerate(kind.declaration.get(which, ())):
        try:
            found.append(case_of(kind, case))
        except CaseError as error:
            for place, message in error.errors.items():
                faults.add((which, number, *place), message)
    return found


def _questions(
    kind: DeclaredHitType, spec: Mapping[str, Any], which: str, faults: Faults, arm: str = ""
) -> tuple[Question, ...]:
    """The practice or exam questions of the file, or of one of its arms, whose part of the file is ``spec``."""
    found = []
    for number, case in enumerate(spec.get(which, ())):
        try:
            found.append(question_made(kind, case, arm))
        except CaseError as error:
            for place, message in error.errors.items():
                faults.add((*((KEY, arm) if arm else ()), which, number, *place), message)
    return tuple(found)


def _arm(kind: DeclaredHitType, arm: str, faults: Faults) -> DeclaredArm:
    """The texts of a control arm, with what is wrong with them."""
    own, prompts = kind.declaration[KEY][arm], dict[str, str]()
    asked = {variable.name: question for variable, question, _ in kind.measured}
    if asked.get(kind.headline) in own.get("drops", ()):
        faults.add(
            (KEY, arm, "drops"),
            f"has {asked[kind.headline]}, which the headline is about; the arms couldn't be compared",
        )
    try:
        prompts = arm_prompts(kind, arm)
    except ValueError as error:
        faults.add((KEY, arm, "prompt"), f"can't be used: {error}")
    practice, exam = (_questions(kind, own, which, faults, arm) for which in ("practice", "exam"))
    return DeclaredArm(own.get("instructions", "").strip(), practice, exam, prompts)


def sample_payload(kind: HitType) -> JSON | None:
    """An item of the type: the first of its exam, practice or examples, else one of its columns' examples; None if these are no
    item."""
    for question in (*kind.exam, *kind.practice):
        return question.payload
    rows: list[Mapping[str, Any]] = []
    if isinstance(kind, DeclaredHitType):
        rows += [
            case["item"] for which in ("examples", "material") for case in kind.declaration.get(which, ())
        ]
    rows.append({column.name: column.example for column in kind.columns if column.required})
    for row in rows:
        try:
            return kind.parse_item(row).payload
        except FieldErrors:
            continue
    return None


def _prompt(kind: DeclaredHitType, faults: Faults) -> None:
    payload = sample_payload(kind)
    if payload is None:
        where = next(name for name, one in kind.declaration["columns"].items() if one.get("required", True))
        faults.add(
            ("columns", where, "example"),
            "and the examples of the other required columns make no item; give each a value that a row could have",
        )
        return
    _prompt_check(kind, payload, kind.prompt_text, ("prompt",), faults)
    if faults.problems:
        return
    text = kind.with_arms(kind.control_arms).prompt_text
    for arm in kind.control_arms:
        _prompt_check(kind, kind.control(payload, arm), text, (KEY, arm, "prompt"), faults)


def _prompt_check(kind: DeclaredHitType, payload: JSON, text: str, where: Path, faults: Faults) -> None:
    """Fill in a prompt with an item, and add what is wrong."""
    for number, stage in enumerate(kind.stages(payload)):
        try:
            values = kind.prompt_values(payload, number, {})
            messages = render_prompt(prompt_part(text, stage.name), values)
        except KeyError as error:
            known = ", ".join(sorted(kind.prompt_values(payload, number, {})))
            faults.add(where, f"uses ${error.args[0]}, which has no value; expected one of: {known}")
        except ValueError as error:
            faults.add(where, f"can't be used: {error}")
        else:
            if messages[-1].role != "user":
                faults.add(where, "doesn't end with a part below ## user, where the item is")
