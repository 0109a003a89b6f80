"""Reads the translations of a study's texts and names every error: which language, which text, which question.

Pure. A study's translations are a JSON object by language; each may have ``title``, ``summary``, ``consent_text``,
``instructions_text``, and ``exam`` and ``practice``: lists of questions with the ``key`` of the question that they
translate, its ``payload`` and its ``reason``. The correct answer is that of the original::

    {"de": {"title": "Eulen", "exam": [{"key": "owls", "payload": {...}, "reason": "..."}]}}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from annotator.hit_types.contract import HitType
from annotator.hit_types.questions import payload_fault
from annotator.hit_types.reading import clean_text
from annotator.hit_types.shapes import JSON, FieldErrors, Question, Stage

TEXTS: Mapping[str, int] = {
    "title": 200,
    "summary": 20_000,
    "consent_text": 100_000,
    "instructions_text": 500_000,
}
QUESTIONS = ("exam", "practice")
_QUESTION = ("key", "payload", "reason")


def read_translations(
    kind: HitType,
    raw: Any,
    *,
    languages: Collection[str],
    exam: Sequence[Question],
    practice: Sequence[Question],
) -> JSON:
    """Check the translations of a study with these questions; texts and languages that are empty are left out.

    ``languages`` are the codes that may be used. Raises ``FieldErrors`` keyed ``de.exam, question 2 (owls)``.
    """
    if not isinstance(raw, Mapping):
        raise FieldErrors({"": "expected an object {language: {text: translation}}"})
    errors: dict[str, str] = {}
    found: JSON = {}
    originals = {"exam": exam, "practice": practice}
    for code, texts in raw.items():
        if code not in languages:
            errors[str(code)] = f"is not a language for translations; expected one of: {', '.join(languages)}"
            continue
        if not isinstance(texts, Mapping):
            errors[code] = f"expected an object with {', '.join((*TEXTS, *QUESTIONS))}"
            continue
        kept: JSON = {}
        for name, value in texts.items():
            if name in TEXTS:
                kept[name] = _text(value, f"{code}.{name}", TEXTS[name], errors)
            elif name in QUESTIONS:
                kept[name] = _questions(kind, value, originals[name], f"{code}.{name}", errors)
            else:
                errors[f"{code}.{name}"] = (
                    f"is not a text of a study; expected one of: {', '.join((*TEXTS, *QUESTIONS))}"
                )
        if kept.get("instructions_text") and not kind.external:
            try:
                kind.read_instructions(kept["instructions_text"])
            except ValueError as error:
                errors[f"{code}.instructions_text"] = str(error)
        if kept := {name: value for name, value in kept.items() if value}:
            found[code] = kept
    if errors:
        raise FieldErrors(errors)
    return found


def _text(value: Any, where: str, most: int, errors: dict[str, str]) -> str:
    if not isinstance(value, str):
        errors[where] = f"expected text, got {type(value).__name__}"
        return ""
    try:
        text = clean_text(value)
    except FieldErrors as error:
        errors[where] = error.errors["text"]
        return ""
    if len(text) > most:
        errors[where] = f"at most {most} characters, got {len(text)}"
    return text


def _questions(
    kind: HitType, value: Any, originals: Sequence[Question], where: str, errors: dict[str, str]
) -> list[JSON]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        errors[where] = "expected a list of questions"
        return []
    by_key = {question.key: question for question in originals}
    found: dict[str, JSON] = {}
    for number, one in enumerate(value, 1):
        key = str(one.get("key", "")) if isinstance(one, Mapping) else ""
        place = f"{where}, question {number} ({key[:60]})" if key else f"{where}, question {number}"
        if not isinstance(one, Mapping) or not set(_QUESTION) <= set(one):
            errors[place] = f"expected an object with {', '.join(_QUESTION)}"
        elif key not in by_key:
            errors[place] = (
                "there is no question with this key; use the key of the question that it translates"
            )
        elif key in found:
            errors[place] = "this question is translated twice"
        else:
            reason = _text(one["reason"], f"{place}, reason", 5_000, errors)
            fault = _payload_fault(kind, by_key[key], one["payload"])
            if fault:
                errors[f"{place}, payload"] = fault
            found[key] = {"key": key, "payload": one["payload"], "reason": reason or by_key[key].reason}
    return list(found.values())


def _payload_fault(kind: HitType, original: Question, payload: Any) -> str:
    """Why a translated item can't take the place of the original: it must ask the same, with the same answers."""
    if not isinstance(payload, Mapping):
        return f"expected an object, got {type(payload).__name__}"
    if fault := payload_fault(kind, dict(payload)):
        return fault
    asked, wanted = (
        _asked(kind.question_stage(one, original.gold)) for one in (dict(payload), original.payload)
    )
    if asked != wanted:
        return "does not ask the same as the original; translate its texts, and keep its keys, numbers and options"
    return ""


def _asked(stage: Stage) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (field.name, field.kind, tuple(option.value for option in field.options)) for field in stage.fields
    ]


def each_text(texts: Mapping[str, Any]) -> dict[str, Any]:
    """A study's texts in one language, each under a name of its own: questions as ``exam owls``. Empty ones are left out.

    >>> each_text({"title": "Owls", "summary": "", "exam": [{"key": "owls", "payload": {}, "reason": ""}]})
    {'title': 'Owls', 'exam owls': {'key': 'owls', 'payload': {}, 'reason': ''}}
    """
    found = {name: texts[name] for name in TEXTS if texts.get(name)}
    return found | {f"{name} {one['key']}": one for name in QUESTIONS for one in texts.get(name) or ()}


def question_translated(question: Question, translations: Sequence[Mapping[str, Any]]) -> Question:
    """A question with the texts of its translation, if there is one among these."""
    for one in translations:
        if one["key"] == question.key:
            return Question(question.key, one["payload"], question.gold, one["reason"], question.pool)
    return question
