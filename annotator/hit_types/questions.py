"""Reads a study's own exam or practice questions and names every error: which question, which field.

Pure. A question is a JSON object: ``key``, ``payload`` (as in the type's own ``exam.json``) or ``row`` (the columns of
an import file), ``gold``, ``reason`` and, if questions are drawn evenly from several pools, ``pool``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from annotator.hit_types.base import MAX_TEXT, FieldErrors, HitType, Question, clean_text

NAMES = ("key", "payload", "row", "gold", "reason", "pool")
MOST = 500


def questions_of_text(kind: HitType, text: str) -> tuple[Question, ...]:
    """Questions from the text of a JSON array, or of JSON lines. Raises ``FieldErrors``; see ``read_questions``."""
    text = text.strip()
    try:
        if text.startswith("["):
            raw = json.loads(text)
        else:
            raw = [json.loads(line) for line in text.split("\n") if line.strip()]
    except RecursionError:
        raise FieldErrors({"": "is nested too deeply; expected a JSON array of questions"}) from None
    except ValueError as error:
        at = f"line {getattr(error, 'lineno', 1)}, column {getattr(error, 'colno', 1)}"
        reason = getattr(error, "msg", "not readable")
        raise FieldErrors(
            {
                "": f"is not valid JSON ({at}: {reason.lower()}); expected an array of questions, or one question per line"
            }
        ) from None
    return read_questions(kind, raw)


def read_questions(kind: HitType, raw: Any) -> tuple[Question, ...]:
    """Check a list of questions for a HIT type; each is parsed, shown and graded as it would be for an annotator.

    Raises ``FieldErrors`` with all errors, keyed ``question 3 (its key), gold.answer``.

    >>> from annotator.hit_types.registry import hit_type_get
    >>> try:
    ...     read_questions(hit_type_get("simulation"), [{"key": "a", "reason": "So."}])
    ... except FieldErrors as error:
    ...     print(*error.errors)
    question 1 (a), payload
    """
    if not isinstance(raw, Sequence) or isinstance(raw, str) or not raw:
        raise FieldErrors({"": "expected a list of at least one question"})
    if len(raw) > MOST:
        raise FieldErrors({"": f"at most {MOST} questions, got {len(raw)}"})
    errors: dict[str, str] = {}
    questions: list[Question] = []
    numbers: dict[str, int] = {}
    for number, one in enumerate(raw, 1):
        faults: dict[str, str] = {}
        question = _question(kind, one, number, faults)
        key = str(one.get("key", "")) if isinstance(one, Mapping) else ""
        first = numbers.setdefault(key, number)
        if key and first != number:
            faults.setdefault("key", f"question {first} has the same key")
        name = f"question {number} ({key[:60]})" if key else f"question {number}"
        errors |= {f"{name}, {field}" if field else name: fault for field, fault in faults.items()}
        if question is not None:
            questions.append(question)
    if errors:
        raise FieldErrors(errors)
    return tuple(questions)


def _question(kind: HitType, raw: Any, number: int, faults: dict[str, str]) -> Question | None:
    if not isinstance(raw, Mapping):
        faults[""] = f"expected an object with {', '.join(NAMES)}"
        return None
    for name in raw:
        if name not in NAMES:
            faults[str(name)] = f"is not a known name; expected {', '.join(NAMES)}"
    texts = {}
    for name, most in (("key", 100), ("reason", 5_000), ("pool", 60)):
        texts[name] = checked_text(raw.get(name, ""), name, most, faults)
        if not texts[name] and name != "pool":
            hint = "; annotators read it after the exam" if name == "reason" else ""
            faults.setdefault(name, f"is missing{hint}")
    payload = _payload(kind, raw, faults)
    if payload is None:
        return None
    gold: dict[str, Any] = {}
    if raw.get("gold") in (None, "", {}):
        faults["gold"] = "is missing; expected an object {field: correct value}"
    else:
        try:
            gold = kind.parse_gold(payload, raw["gold"])
            kind.question_stage(payload, gold)
        except FieldErrors as error:
            faults |= {
                "gold" if field == "gold" else f"gold.{field}": text for field, text in error.errors.items()
            }
    return Question(texts["key"], payload, gold, texts["reason"], texts["pool"]) if not faults else None


def checked_text(value: Any, where: str, most: int, errors: dict[str, str]) -> str:
    """A text without white space around it; what is wrong with it goes to ``errors``."""
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


def _payload(kind: HitType, raw: Mapping[str, Any], faults: dict[str, str]) -> dict[str, Any] | None:
    """The item that the question is about: given as stored, or as a row of an import file."""
    if isinstance(raw.get("row"), Mapping) and not raw.get("payload"):
        try:
            return kind.parse_item(raw["row"]).payload
        except FieldErrors as error:
            faults |= {f"row.{field}": text for field, text in error.errors.items()}
        return None
    given = raw.get("payload")
    if not isinstance(given, Mapping) or not given:
        what = "is missing" if given in (None, "", {}) else f"expected an object, got {type(given).__name__}"
        faults["payload"] = f"{what}; give the item here as it is stored, or its import columns in row"
        return None
    payload = dict(given)
    fault = payload_fault(kind, payload)
    if fault:
        faults["payload"] = fault
        return None
    return payload


def payload_fault(kind: HitType, payload: dict[str, Any]) -> str:
    """Why an item cannot be shown; empty if it can."""
    try:
        stages = [*kind.every_stage(payload)]
        for arm in range(kind.arms(payload)):
            stages += kind.stages(payload, {"arm": arm})
        texts = [
            text
            for stage in stages
            for block in stage.blocks
            for text in (block.label, block.text, *block.items)
        ]
    except KeyError as error:
        return f"{error.args[0]!r} is missing or has an unknown value"
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        return f"cannot be shown: {error}"
    if not any(stage.fields for stage in stages) and not kind.external:
        return "asks nothing"
    if not all(isinstance(text, str) for text in texts):
        return "contains a value that is not text where text is shown"
    if any(not option.value for stage in stages for field in stage.fields for option in field.options):
        return "contains an empty option"
    try:
        for text in texts:
            clean_text(text)
        clean_text(json.dumps(payload, ensure_ascii=False).replace("\\u0000", "\0"))
    except FieldErrors as error:
        return error.errors["text"]
    if any(len(text) > MAX_TEXT for text in texts):
        return f"contains a text of more than {MAX_TEXT} characters"
    return ""
