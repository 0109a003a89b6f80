"""The example replies of prompts as JSON objects, for endpoints that enforce a schema. Pure. The inverse of
``structured.form_text``: the readers of replies read the object's values from the text.
"""

from __future__ import annotations

import re
from typing import Any

from annotator.hit_types.base import JSON, MARKER, Unparsable
from evaluation.prompts.replies import (
    bullets,
    guessed_question,
    labelled,
    marked_answer,
    numbered,
    reasoning_then_answer,
)
from evaluation.runs.structured import ANSWERS, Form

_EXAMPLE = ("Context", "Response 1", "Response 2")
_OPTION = re.compile(r"^[A-H][.:)] +", re.MULTILINE)


def form_object(form: Form, task: str, text: str, label: str = "") -> JSON | None:
    """A demonstrated reply as an object of the form; None if the reply doesn't have that form.

    >>> form_object("reasons_answer", "yes_no", "Owls float. So the answer is yes.")
    {'explanation': 'Owls float.', 'answer': 'yes'}
    """
    try:
        return _object(form, task, text, label)
    except Unparsable:
        return None


def _object(form: Form, task: str, text: str, label: str) -> JSON:
    if form == "reasons_answer":
        explanation, answer = reasoning_then_answer(text, task)
        return {"explanation": explanation, "answer": _shown(task, answer)}
    if form == "answer":
        return {"answer": _shown(task, marked_answer(text, task))}
    if form == "answer_reason":
        pieces = labelled(text, ["Answer", "Reason"])
        return {
            "answer": _shown(task, marked_answer(pieces["Answer"], task)),
            "explanation": pieces["Reason"],
        }
    if form == "reasons":
        return {"explanation": text}
    if form in ("explained_output", "output_explained", "output"):
        names = {label: "output"} if form == "output" else {"Explanation": "explanation", label: "output"}
        pieces = labelled(text, list(names))
        keys = ("output", "explanation") if form == "output_explained" else ("explanation", "output")
        found = {names[name]: piece for name, piece in pieces.items()}
        return {key: found[key] for key in keys if key in found}
    if form in ("question", "answered_question"):
        pieces = labelled(text, ["New question", *(["Answer"] if form == "answered_question" else [])])
        return {"question": pieces["New question"]} | (
            {"answer": pieces["Answer"].lower()} if "Answer" in pieces else {}
        )
    if form == "guessed":
        question, answer = guessed_question(text)
        guess = labelled(text, ["Follow-up question", "Guess"])["Guess"]
        reason = re.sub(r"\s*So the robot will likely answer \w+\.?\s*$", "", guess)
        return {"follow_up": question, "reason": reason, "answer": answer}
    if form == "units":
        return {"units": bullets(text)}
    if form == "person_units":
        pieces = labelled(text, ["Person", "Suggestions"])
        return {"person": bullets(pieces["Person"]), "suggestions": bullets(pieces["Suggestions"])}
    if form == "example":
        return _example(text)
    return {"entries": [_entry(form, entry) for entry in numbered(text, 100)]}


def _entry(form: Form, text: str) -> Any:
    if form == "examples":
        return _example(text)
    if form == "choices":
        question, *options = [line.strip() for line in text.splitlines() if line.strip()]
        return {"question": question, "options": [_OPTION.sub("", option) for option in options]}
    return text


def _example(text: str) -> JSON:
    pieces = labelled(text, _EXAMPLE)
    return {name.lower().replace(" ", "_"): pieces[name] for name in _EXAMPLE}


def _shown(task: str, answer: str) -> str:
    """An answer as the schema names it."""
    wanted = answer.replace("_", " ").lower()
    return next(value for value in ANSWERS.get(task, ANSWERS["yes_no"]) if value.lower() == wanted)


def thoughts_of(text: str) -> str:
    """The reasoning of a demonstrated judgment, before its answer."""
    return re.split(rf"^(?:MISSING|{MARKER}):", text, maxsplit=1, flags=re.MULTILINE)[0].strip()
