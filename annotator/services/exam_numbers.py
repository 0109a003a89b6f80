"""How many questions a study's exam asks, and how many have to be correct, until a researcher sets other numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.hit_types.base import HitType
from annotator.models import Study
from annotator.selectors.study import declared_hit_type

NUMBERS = ("exam_questions", "pass_mark")
#: The settings that give a study its control arms.
ARMS = ("answer_only_raters", "nothing_raters")


def exam_numbers(kind: HitType, fields: Mapping[str, Any]) -> tuple[int, int]:
    """``exam_questions`` and ``pass_mark`` of a new study with these fields: those of the type with the study's arms.

    They're those without arms if the fields have an exam of the study's own, or one of the two numbers.
    """
    if not any(fields.get(name) for name in ("exam_own", *NUMBERS)):
        arms = Study(**{name: fields[name] for name in ARMS if name in fields}).control_arms
        kind = kind.with_arms(arms)
    return kind.defaults.exam_questions, kind.defaults.pass_mark


def exam_numbers_changed(study: Study, changes: Mapping[str, Any]) -> dict[str, int]:
    """The numbers that a draft gets when its control arms change: none if either is changed too, or was not the default.

    >>> draft = Study(hit_type="simulation", exam_questions=11, pass_mark=9)
    >>> exam_numbers_changed(draft, {"nothing_raters": 2})
    {'exam_questions': 14, 'pass_mark': 12}
    >>> exam_numbers_changed(draft, {"nothing_raters": 2, "pass_mark": 10})
    {}
    """
    if study.state != Study.State.DRAFT or not set(changes) & set(ARMS) or set(changes) & set(NUMBERS):
        return {}
    kind, before = declared_hit_type(study), {name: getattr(study, name) for name in ARMS}
    own = changes.get("exam_own", study.exam_own)
    if own or tuple(getattr(study, name) for name in NUMBERS) != exam_numbers(kind, before):
        return {}
    return dict(zip(NUMBERS, exam_numbers(kind, before | dict(changes)), strict=True))
