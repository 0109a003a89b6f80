"""Replies as JSON objects, for endpoints that can enforce a JSON schema. Pure. Every form of reply has a schema and a
conversion to text: an object that fits the schema is turned into the text that the prompt asks for, so that one strict
parser reads both. Schemas use only what the strict mode of such endpoints allows: every key required, no other keys,
null for optional values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

from annotator.hit_types.base import JSON, Field, Passages, Unparsable
from annotator.hit_types.shapes import ChatMessage, Stage

#: What a material step's reply consists of.
Form = Literal[
    "reasons_answer",
    "answer",
    "answer_reason",
    "reasons",
    "explained_output",
    "output_explained",
    "output",
    "entries",
    "examples",
    "choices",
    "question",
    "answered_question",
    "guessed",
    "example",
    "units",
    "person_units",
]
ANSWERS = {
    "yes_no": ["yes", "no"],
    "preference": ["Response 1", "Response 2"],
    "multiple_choice": list("ABCDEFGH"),
}
TEXT: JSON = {"type": "string"}


def schema_object(properties: JSON) -> JSON:
    """The schema of an object with exactly these keys, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(entry: JSON) -> JSON:
    return {"type": "array", "items": entry}


def form_schema(form: Form, task: str) -> JSON:
    """The schema of a form.

    >>> list(form_schema("reasons_answer", "yes_no")["properties"])
    ['explanation', 'answer']
    """
    answer = {"type": "string", "enum": ANSWERS.get(task, ANSWERS["yes_no"])}
    texts = _list_of(TEXT)
    example = schema_object({"context": TEXT, "response_1": TEXT, "response_2": TEXT})
    choice = schema_object({"question": TEXT, "options": texts})
    properties: dict[Form, JSON] = {
        "reasons_answer": {"explanation": TEXT, "answer": answer},
        "answer": {"answer": answer},
        "answer_reason": {"answer": answer, "explanation": TEXT},
        "reasons": {"explanation": TEXT},
        "explained_output": {"explanation": TEXT, "output": TEXT},
        "output_explained": {"output": TEXT, "explanation": TEXT},
        "output": {"output": TEXT},
        "entries": {"entries": texts},
        "examples": {"entries": _list_of(example)},
        "choices": {"entries": _list_of(choice)},
        "question": {"question": TEXT},
        "answered_question": {"question": TEXT, "answer": answer},
        "guessed": {"follow_up": TEXT, "reason": TEXT, "answer": answer},
        "example": dict(example["properties"]),
        "units": {"units": texts},
        "person_units": {"person": texts, "suggestions": texts},
    }
    return schema_object(properties[form])


def form_text(form: Form, task: str, value: JSON, label: str = "") -> str:
    """Convert an object that fits a form's schema to the text that the prompt asks for; raises ``Unparsable``.

    ``label`` is the label of a generation task's output.

    >>> form_text("reasons_answer", "yes_no", {"explanation": "Owls float.", "answer": "yes"})
    'Owls float. So the answer is yes.'
    """
    try:
        return _text(form, task, value, label)
    except (KeyError, TypeError, AttributeError) as error:
        raise Unparsable(f"the JSON object does not follow its schema: {error!r}"[:200]) from None


def _text(form: Form, task: str, value: JSON, label: str) -> str:
    if form in ("reasons_answer", "answer", "answer_reason"):
        return _answer(form, task, value)
    if form in ("question", "answered_question"):
        answer = f"\nAnswer: {_line(value['answer'])}" if form == "answered_question" else ""
        return f"New question: {_line(value['question'])}{answer}"
    if form == "guessed":
        guess = f"{_line(value['reason'])} So the robot will likely answer {_line(value['answer'])}."
        return f"Follow-up question: {_line(value['follow_up'])}\nGuess: {guess}"
    if form == "example":
        return _entry("examples", value)
    if form == "reasons":
        return _line(value["explanation"])
    if form == "units":
        return _bullets(value["units"])
    if form == "person_units":
        return f"Person:\n{_bullets(value['person'])}\nSuggestions:\n{_bullets(value['suggestions'])}"
    if form in ("explained_output", "output_explained", "output"):
        explained = "" if form == "output" else f"Explanation: {_line(value['explanation'])}\n"
        return f"{explained}{label}: {_line(value['output'])}"
    return "\n".join(f"{n}. {_entry(form, entry)}" for n, entry in enumerate(value["entries"], 1))


def _answer(form: Form, task: str, value: JSON) -> str:
    answer = _line(value["answer"])
    if form == "answer":
        return f"ANSWER: {answer}"
    explanation = _line(value["explanation"])
    if form == "answer_reason":
        return f"Answer: {answer}\nReason: {explanation}"
    closing = f"So {answer} is more helpful." if task == "preference" else f"So the answer is {answer}."
    return f"{explanation} {closing}"


def _entry(form: Form, entry: Any) -> str:
    if form == "examples":
        context, first, second = (_line(entry[key]) for key in ("context", "response_1", "response_2"))
        return f"Context: {context}\nResponse 1: {first}\nResponse 2: {second}"
    if form == "choices":
        options = zip(ANSWERS["multiple_choice"], entry["options"], strict=False)
        return "\n".join([_line(entry["question"]), *(f"{letter}: {_line(o)}" for letter, o in options)])
    return _line(entry)


def _bullets(entries: Sequence[Any]) -> str:
    return "\n".join(f"- {_line(entry)}" for entry in entries)


def _line(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"expected a text, got {type(text).__name__}")
    return " ".join(text.split())


def stage_schema(stage: Stage) -> JSON:
    """The schema of the answers to one stage of a HIT: thoughts first, then a key for each field.

    Optional fields, and fields that depend on another's value, can be null.
    """
    labels = {block.name: block.label for block in stage.blocks}
    properties: JSON = {"thoughts": TEXT | {"description": "A sentence or two."}}
    for asked in stage.fields:
        about = f"{labels[asked.target]}: " if asked.target in labels else ""
        properties[asked.name] = _field_schema(asked) | {"description": about + _described(asked)}
    return schema_object(properties)


def _field_schema(asked: Field) -> JSON:
    values: list[str | None] = [option.value for option in asked.options]
    if asked.kind == "multi":
        return {"type": "array", "items": {"type": "string", "enum": values}}
    may_lack = asked.conditional or not asked.required
    kind: JSON = {"type": ["string", "null"] if may_lack else "string"}
    if asked.passages:
        return _passages_schema(asked.passages)
    if asked.kind == "text":
        return kind
    return kind | {"enum": [*values, None] if may_lack else values}


def _passages_schema(asked: Passages) -> JSON:
    """A list of passages, empty for none; ``nth`` says which occurrence of the words is meant, null if they occur once."""
    entry: JSON = {
        "words": TEXT | {"description": "The exact words of the passage."},
        "nth": {"type": ["integer", "null"]},
        "category": {"type": "string", "enum": [option.value for option in asked.categories]},
    }
    if asked.severities:
        entry["severity"] = {"type": "string", "enum": [option.value for option in asked.severities]}
    return _list_of(schema_object(entry))


def _described(asked: Field) -> str:
    named = "; ".join(f"{option.value}: {option.label}" for option in asked.options)
    return f"{asked.label} ({named})" if named else asked.label


def stage_response(value: JSON) -> JSON:
    """The raw response in an object that fits a stage's schema; null means not answered."""
    return {name: held for name, held in value.items() if held is not None and name != "thoughts"}


def keeps_to(value: Any, schema: JSON) -> bool:
    """Whether an object has exactly the keys of a schema; the readers check the values."""
    return isinstance(value, dict) and set(value) == set(schema["required"])


def with_form(
    messages: Sequence[ChatMessage], schema: JSON, object_of: Callable[[str], JSON | None]
) -> list[ChatMessage]:
    """The chat with the form of the reply described at the end of its first message, and its demonstrations in that
    form.

    ``object_of`` converts a demonstrated reply to an object; None leaves the reply unchanged.
    """
    messages = [_demonstrated(message, object_of) for message in messages]
    asked = json.dumps(schema["properties"], ensure_ascii=False)
    order = (
        "Whatever form of reply is described above or shown in examples: reply with one JSON object and nothing "
        f"else, with these keys: {asked}"
    )
    first, *rest = messages
    if first.role != "system":
        return [ChatMessage("system", order), first, *rest]
    return [ChatMessage("system", f"{first.content}\n\n{order}"), *rest]


def _demonstrated(message: ChatMessage, object_of: Callable[[str], JSON | None]) -> ChatMessage:
    value = object_of(message.content) if message.role == "assistant" else None
    return message if value is None else ChatMessage("assistant", json.dumps(value, ensure_ascii=False))
