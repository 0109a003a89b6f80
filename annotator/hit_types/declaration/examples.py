"""Examples for the contract tests, made from a file: what the folder ``examples`` has for a type in Python.

They come from the file's own items and answers, so that a type needs no more than its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.making import CaseError, case_of
from annotator.hit_types.declaration.passages import NONE, MarkedPassage
from annotator.hit_types.shapes import JSON, FieldErrors

#: Replies without an answer, as models give them, and the reason.
_NO_ANSWERS = {
    "refusal": "I'm sorry, I cannot help with that.",
    "cut_off": "The text is short, and one who reads it for the first time would probably",
    "no_answer": "It is plain.",
}


def examples_made(kind: DeclaredHitType) -> dict[str, Any]:
    """``valid``, ``invalid``, ``gold`` and ``replies`` in the form of the files of that name (docs/add-a-hit-type.md)."""
    whole = list(_whole(kind))
    if not whole:
        raise ValueError(f"{kind.name}: no item of the file has all answers")
    (row, payload, response), *_ = whole
    fields = [asked for stage in kind.stages(payload) for asked in stage.fields]
    required = [one.name for one in fields if one.required and not one.when]
    wrong = next((one for one in fields if one.options and not one.when), fields[0])
    missing = [column.name for column in kind.columns if column.required]
    other = next((one.value for one in wrong.options if one.value != response[wrong.name]), NONE)
    if (asked := wrong.passages) and response[wrong.name] == NONE:
        severity = asked.severities[0].value if asked.severities else ""
        other = MarkedPassage(0, 1, asked.categories[0].value, severity).line(payload[asked.block])
    return {
        "valid": [{"row": one, "responses": [_sent(kind, item, said)]} for one, item, said in whole],
        "invalid": {
            "rows": [
                {"row": {}, "errors": missing},
                {"row": {**row, "gold": {wrong.name: 1}}, "errors": ["gold"]},
            ],
            "responses": [
                {"raw": {}, "errors": required},
                {"raw": {**response, wrong.name: "§"}, "errors": [wrong.name]},
            ],
        },
        "gold": [
            {"response": response, "gold": response, "score": 1.0},
            {"response": response, "gold": {wrong.name: other}, "score": 0.0},
        ],
        "replies": [*_replies(kind, payload, response), _ambiguous(kind, payload)],
    }


def _whole(kind: DeclaredHitType) -> Iterator[tuple[JSON, JSON, JSON]]:
    """The row, the payload and the complete response of each item of the file whose answers are complete."""
    for which in ("material", "examples", "practice", "exam"):
        for case in kind.declaration.get(which, ()):
            try:
                payload, gold = case_of(kind, case)
                yield dict(case["item"]), payload, kind.parse_whole(payload, gold)
            except (CaseError, FieldErrors):
                continue


def _sent(kind: DeclaredHitType, payload: JSON, response: JSON) -> Mapping[str, Any]:
    ratings = [[one.variable, one.unit, one.value] for one in kind.to_ratings(payload, response)]
    return {"raw": {**response, "rater": "x"}, "response": response, "ratings": ratings}


def _replies(kind: DeclaredHitType, payload: JSON, response: JSON) -> Iterator[JSON]:
    for number, stage in enumerate(kind.stages(payload)):
        mine = {asked.name: response[asked.name] for asked in stage.fields if asked.name in response}
        yield {"reply": kind.write_reply(payload, mine, number), "stage": number, "response": mine}
    yield from ({"reply": reply, "error": reason} for reason, reply in _NO_ANSWERS.items())


def _ambiguous(kind: DeclaredHitType, payload: JSON) -> JSON:
    """A reply that gives two answers to each question of the first stage."""
    form = kind.reply_form(payload)
    if not form.slots:
        asked = next(one for one in form.written if one.passages)
        return {
            "reply": "\n".join(f"{form.marker(asked)}: {said}" for said in ("a", "b")),
            "error": "ambiguous",
        }
    slots = form.slots
    both = [" or ".join(spelled[0].upper() for spelled in list(one.labels.values())[:2]) for one in slots]
    if len(both) == 1:
        return {"reply": f"ANSWER: {both[0]}", "error": "ambiguous"}
    return {
        "reply": "ANSWER: " + "; ".join(f"{n}={one}" for n, one in enumerate(both, 1)),
        "error": "ambiguous",
    }
