"""What each type's exam tests: the rules of its instructions, and the chance that somebody who breaks one of them passes.

A type's ``exam_rules.json`` lists what somebody does who breaks a rule, and which questions this answers wrongly; and for
each numbered or bulleted rule of the instructions which of these it is, or why no question can test it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

from annotator.core.allocation import pool_counts
from annotator.hit_types.base import HitType, Question
from annotator.hit_types.declaration.gallery import GALLERY
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.registry import hit_types

#: Whether somebody who breaks the rule answers a question wrongly.
Fails = Callable[[Question], bool]
#: A study may take all variants of these types; a study of the others takes one.
ALL_VARIANTS = {"question_validation"}
FOLDER = Path(__file__).parents[2] / "annotator" / "hit_types"


@dataclass(frozen=True)
class Broken:
    """A rule that somebody breaks. ``passes`` is the documented chance to pass all the same, with the reason ``why``."""

    breaks: str
    wrong: tuple[Mapping[str, Any], ...]
    passes: float = 0.0
    why: str = ""
    exams: tuple[str, ...] = ()
    #: The control arm whose pages it's about; empty for all studies.
    arm: str = ""

    def fails(self, question: Question) -> bool:
        """Whether whoever breaks the rule answers this question wrongly."""
        return any(_meets(question, one) for one in self.wrong)


def types_with_exam() -> dict[str, HitType]:
    """Built-in and declared types; external ones have no exam."""
    return {name: kind for name, kind in hit_types().items() if not kind.external}


def rules_path(kind: HitType) -> Path:
    """The file with a type's rules: in its folder, or beside the gallery's files."""
    if isinstance(kind, DeclaredHitType):
        return GALLERY / "exam_rules" / f"{kind.name}.json"
    return FOLDER / kind.name / "exam_rules.json"


@cache
def rules_of(name: str) -> tuple[list[Broken], list[dict[str, Any]]]:
    """What can be broken, and the entries of the instructions' rules."""
    content = json.loads(rules_path(hit_types()[name]).read_text(encoding="utf-8"))
    broken = [
        Broken(**{key: tuple(value) if isinstance(value, list) else value for key, value in one.items()})
        for one in content["rules"]
    ]
    return broken, content["instructions"]


def exams_of(kind: HitType) -> dict[str, HitType]:
    """Name -> the type with the exam that a study gets: one for each variant, and for each rule that a study chooses; or without
    control arms, with each, and with all."""
    if kind.control_arms:
        chosen = dict.fromkeys(((), *((arm,) for arm in kind.control_arms), tuple(kind.control_arms)))
        return {" ".join(arms): kind.with_arms(arms) for arms in chosen}
    if kind.rule_field:
        from annotator.hit_types.atomic_units.schema import RULES

        return {
            f"{variant} {rule}": kind.for_items([kind.expected(variant) | {kind.rule_field: rule}])
            for variant in kind.variants
            for rule in RULES
        }
    if kind.variants:
        every = {"": kind} if kind.name in ALL_VARIANTS else {}
        return every | {one: kind.for_items([kind.expected(one)]) for one in kind.variants}
    return {"": kind}


def cases() -> Iterator[tuple[str, str, Broken]]:
    """Type, exam and broken rule, for every rule of every type."""
    for name, kind in types_with_exam().items():
        for exam in exams_of(kind):
            for broken in rules_of(name)[0]:
                if (not broken.exams or exam in broken.exams) and (
                    not broken.arm or broken.arm in exam.split()
                ):
                    yield name, exam, broken


def chance_of_passing(questions: list[Question], fails: Fails, *, count: int, pass_mark: int) -> float:
    """The exact chance that at most ``count - pass_mark`` of the drawn questions are answered wrongly."""
    by_key = {question.key: question.pool for question in questions}
    from_pool = pool_counts(list(by_key.values()), count=count)
    wrong = {0: 1.0}
    for pool, taken in from_pool.items():
        size = sum(q.pool == pool for q in questions)
        bad = sum(fails(q) for q in questions if q.pool == pool)
        here = {
            k: comb(bad, k) * comb(size - bad, taken - k) / comb(size, taken)
            for k in range(max(0, taken - size + bad), min(bad, taken) + 1)
        }
        wrong_before, wrong = wrong, {}
        for before, chance in wrong_before.items():
            for k, more in here.items():
                wrong[before + k] = wrong.get(before + k, 0.0) + chance * more
    return sum(chance for number, chance in wrong.items() if number <= count - pass_mark)


def instruction_rules(text: str) -> list[str]:
    """Each numbered, bulleted, boxed or bold rule of instructions, as plain words; worked examples have none."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.S)
    rules: list[list[str]] = []
    inside, blank = False, True
    for line in text.splitlines():
        if re.match(r"\s*(?:[-*]|\d+\.) |> \*\*Important", line) or (blank and line.startswith("**")):
            rules.append([line])
            inside = True
        elif not line.strip() or line.startswith("#"):
            inside = False
        elif inside:
            rules[-1].append(line)
        blank = not line.strip()
    return [_plain(" ".join(lines)) for lines in rules]


def _plain(line: str) -> str:
    line = re.sub(r"^\s*(?:(?:[-*]|\d+\.) +|> +)", "", line)
    return " ".join(line.replace("*", "").replace("> ", " ").split())


def _meets(question: Question, conditions: Mapping[str, Any]) -> bool:
    """Whether a question has all of these: pool, key, gold of some field, two fields with other answers."""
    for name, wanted in conditions.items():
        if name == "pool":
            met = question.pool in wanted if isinstance(wanted, list) else question.pool == wanted
        elif name == "keys":
            met = question.key in wanted
        elif name == "gold":
            met = all(_has_gold(question, pattern, value) for pattern, value in wanted.items())
        elif name == "differ":
            first, second = (
                question.payload.get(one.removeprefix("payload."))
                if one.startswith("payload.")
                else question.gold.get(one)
                for one in wanted
            )
            met = second is not None and first != second
        else:
            raise ValueError(f"{name}: unknown condition")
        if not met:
            return False
    return True


def _has_gold(question: Question, pattern: str, value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return any(
        fnmatchcase(name, pattern) and any(fnmatchcase(str(gold), one) for one in values)
        for name, gold in question.gold.items()
    )
