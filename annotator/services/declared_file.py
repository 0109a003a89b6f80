"""Check a file that a workspace wants to save: a HIT type, or a questionnaire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from annotator.core.words import plural
from annotator.hit_types.base import JSON, FieldErrors
from annotator.hit_types.declaration.document import MOST_BYTES
from annotator.hit_types.declaration.problems import DeclarationRefused, Problem
from annotator.hit_types.declaration.questionnaire import (
    Questionnaire,
    declares_questionnaire,
    questionnaires_read,
    questionnaires_version,
)
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.models import DeclaredType
from annotator.services.declared_checks import NO_ANSWER, TypeCheck, declared_checks
from annotator.services.rehearsal.answers import rehearsal_answer

Kind = DeclaredType.Kind


@dataclass(frozen=True)
class CheckedFile:
    """What a file declares: its kind, name, title and version, and the results of its checks, of which some may have failed."""

    kind: str
    name: str
    title: str
    version: str
    checks: tuple[TypeCheck, ...]


def source_text(source: str | bytes) -> str:
    """A file's text as it is stored: UTF-8 without a byte order mark, with one kind of line end and one at the end.

    Raises ``DeclarationRefused`` for too many bytes, or bytes that are no text.

    >>> source_text(b"a: 1\\r\\nb: 2")
    'a: 1\\nb: 2\\n'
    """
    size = len(source if isinstance(source, bytes) else source.encode(errors="replace"))
    if size > MOST_BYTES:
        raise refused(f"has {size:,} bytes; expected at most {MOST_BYTES:,}")
    text = _decoded(source) if isinstance(source, bytes) else source
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return text.rstrip("\n") + "\n"


def _decoded(source: bytes) -> str:
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source[: error.start].count(b"\n") + 1
        raise refused("isn't UTF-8 text; save it as UTF-8", line) from None


def refused(message: str, line: int = 1, *path: str) -> DeclarationRefused:
    """One problem of a file."""
    return DeclarationRefused([Problem(path, message, line)])


def declared_file_check(source: str | bytes) -> CheckedFile:
    """What a file declares, with the results of its checks. Raises ``DeclarationRefused`` with all problems of the file."""
    text = source_text(source)
    if not declares_questionnaire(text):
        kind = hit_type_read(text)
        return CheckedFile(
            Kind.HIT_TYPE, kind.name, kind.title, str(kind.version), tuple(declared_checks(kind))
        )
    parts = questionnaires_read(text)
    if len(parts) > 1:
        raise refused(f"has {len(parts)} questionnaires; save each in a file of its own")
    (one,) = parts
    return CheckedFile(
        Kind.QUESTIONNAIRE,
        one.name,
        one.title,
        questionnaires_version(text),
        tuple(questionnaire_checks(one)),
    )


def questionnaire_checks(one: Questionnaire) -> list[TypeCheck]:
    """What a questionnaire must show before it is saved, in memory."""
    checks: tuple[tuple[str, Callable[[Questionnaire], str]], ...] = (
        ("Every question can be left blank", _left_blank),
        ("A person can answer everything, and wrong input is refused", _answered),
        ("Scores are computed when everything is answered", _scored),
    )
    return [_run(name, check, one) for name, check in checks]


def _run(name: str, check: Callable[[Questionnaire], str], one: Questionnaire) -> TypeCheck:
    try:
        return TypeCheck(name, check(one))
    except FieldErrors as error:
        said = "; ".join(f"{field}: {text}" for field, text in error.errors.items())
        return TypeCheck(name, said[:500], passed=False)
    except ValueError as error:
        return TypeCheck(name, str(error)[:500], passed=False)


def _left_blank(one: Questionnaire) -> str:
    if one.values(one.read({})):
        raise ValueError("a blank page gives values")
    return plural(len(one.stage.fields), "question")


def _full(one: Questionnaire, seed: int) -> JSON:
    return rehearsal_answer(one.stage, gold=None, item_key=str(seed), accuracy=1.0, rng=Random(seed))


def _answered(one: Questionnaire) -> str:
    refusals = 0
    for seed in range(3):
        raw = _full(one, seed)
        one.read(raw)
        for asked in one.stage.fields:
            if not asked.options or asked.name not in raw:
                continue
            wrong: Any = [NO_ANSWER] if isinstance(raw[asked.name], list) else NO_ANSWER
            try:
                one.read({**raw, asked.name: wrong})
            except FieldErrors:
                refusals += 1
            else:
                raise ValueError(f"wrong input in {asked.name} is accepted")
    return f"3 people, {plural(refusals, 'wrong answer')} refused"


def _scored(one: Questionnaire) -> str:
    scores = one.spec.get("scores", {})
    for seed in range(3):
        values = one.values(one.read(_full(one, seed)))
        for name, score in scores.items():
            low, high = score["onto"]
            if name in values and not low <= float(values[name]) <= high:
                raise ValueError(f"{name} is {values[name]}, not from {low} to {high}")
    return plural(len(scores), "score")
