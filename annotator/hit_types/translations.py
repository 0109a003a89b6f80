"""Reads the translations of a study's texts and names every error: which language, which text, which question.

Pure. A study's translations are a JSON object by language; each may have ``title``, ``summary``, ``consent_text``,
``instructions_text``, and ``exam`` and ``practice``: lists of questions with the ``key`` of the question that they
translate, its ``payload`` and its ``reason``. The correct answer is that of the original::

    {"de": {"title": "Eulen", "exam": [{"key": "owls", "payload": {...}, "reason": "..."}]}}
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from annotator.hit_types.contract import HitType
from annotator.hit_types.questions import checked_text, payload_fault
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
                kept[name] = checked_text(value, f"{code}.{name}", TEXTS[name], errors)
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
            reason = checked_text(one["reason"], f"{place}, reason", 5_000, errors)
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


def question_texts(kind: HitType, question: Question) -> dict[tuple[str | int, ...], str]:
    """The texts of a question's item that can be translated: where each is in the payload -> the text.

    These are the texts that the question's page shows and that can change without changing what is asked, so not keys,
    formats and labels: the pages show labels in the reader's language by themselves.

    >>> from annotator.hit_types.registry import hit_type_get
    >>> kind = hit_type_get("simulation_choice")
    >>> [" ".join(map(str, path)) for path in question_texts(kind, kind.exam[0])][:4]
    ['question', 'options 0', 'options 1', 'options 2']
    """
    labels = {column.name for column in kind.columns if column.kind == "label"}
    return {
        path: text
        for path, text in _leaves(question.payload)
        if text.strip() and path[0] not in labels and _is_shown(kind, question, path, f"{text} {_MARK}")
    }


#: Replaces each text in turn to see whether the page shows it.
_MARK = "⟪translated⟫"


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _leaves(one, (*path, name))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _leaves(one, (*path, number))


def _is_shown(kind: HitType, question: Question, path: tuple[str | int, ...], text: str) -> bool:
    payload = texts_replaced(question.payload, {path: text})
    if _payload_fault(kind, question, payload):
        return False
    stage = kind.question_stage(payload, question.gold)
    blocks = [shown for block in stage.blocks for shown in (block.text, *block.items)]
    options = [option.label for field in stage.fields for option in field.options]
    return any(_MARK in shown for shown in (*blocks, *options))


def texts_replaced(payload: JSON, texts: Mapping[tuple[str | int, ...], str]) -> JSON:
    """A copy of a payload with other texts in some places; places that it doesn't have are ignored.

    >>> texts_replaced({"question": "Why?", "options": ["a", "b"]}, {("options", 1): "c", ("hint",): "d"})
    {'question': 'Why?', 'options': ['a', 'c']}
    """
    made = deepcopy(payload)
    for path, text in texts.items():
        if text_at(payload, path) is not None:
            place: Any = made
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = text
    return made


def text_at(payload: Any, path: tuple[str | int, ...]) -> str | None:
    """The text in a place of a payload; None if there is none."""
    place = payload
    for step in path:
        try:
            place = place[step]
        except (KeyError, IndexError, TypeError):
            return None
    return place if isinstance(place, str) else None
