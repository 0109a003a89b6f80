"""Checks a file against the published JSON Schema (``schema.json`` beside this file), and says what is wrong in plain words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from annotator.hit_types.declaration.problems import Faults, shown_value

#: The JSON Schema of the format: for editors, the documentation, and the check here.
SCHEMA_FILE = Path(__file__).with_name("schema.json")
_KINDS = {
    "string": "text",
    "object": "an object of names and values",
    "array": "a list",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
#: Patterns in words.
_PATTERNS = {
    "^[a-z][a-z0-9_]{0,39}$": "a name of at most 40 lower-case letters, digits and _, beginning with a letter",
    "^[a-z][a-z0-9_]{1,39}$": "a name of 2 to 40 lower-case letters, digits and _, beginning with a letter",
    "^[a-z][a-z0-9_]{0,79}$": "the name of a variable",
    "^[A-Za-z0-9][A-Za-z0-9_ .+-]{0,59}$": "at most 60 letters (without accents), digits, spaces, _, ., + and -",
    "^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$": "at most 60 letters, digits, _ and -",
    "^[1-9]$": "a number from 1 to 9",
    "^[a-z]{2,3}(-[a-z0-9]{2,8})?$": "the code of a language, such as de",
    "^-?[0-9]{1,2}$": "a whole number of the scale",
    "^[0-9]{1,4}([.][0-9]{1,2})?$": "an amount such as 0.60",
}


@cache
def schema() -> Mapping[str, Any]:
    """The JSON Schema of a declared HIT type."""
    found: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return found


#: The kinds of question that need no item.
QUESTIONNAIRE_KINDS = ("choice", "yes_no", "several", "scale", "number", "slider", "grid", "text")
#: What their questions can say in a HIT type only.
_ABOUT_ITEMS = ("about", "required", "for_each", "roles", "options_of", "shuffled")


@cache
def questionnaire_schema() -> Mapping[str, Any]:
    """The JSON Schema of a questionnaire: the questions of a HIT type that need no item, none of which must be answered."""
    whole = schema()
    defs = {name: dict(one) for name, one in whole["$defs"].items()}
    for kind in QUESTIONNAIRE_KINDS:
        named = defs[kind]["properties"]
        defs[kind]["properties"] = {name: one for name, one in named.items() if name not in _ABOUT_ITEMS}
    defs["choice"]["required"] = ["kind", "ask", "options"]
    defs["question"] = {
        **defs["question"],
        "required": ["kind"],
        "properties": {"kind": {"enum": list(QUESTIONNAIRE_KINDS)}},
        "allOf": [
            one
            for one in defs["question"]["allOf"]
            if one["if"]["properties"]["kind"]["const"] in QUESTIONNAIRE_KINDS
        ],
    }
    name: Mapping[str, Any] = {"pattern": "^[a-z][a-z0-9_]{0,39}$"}
    variable: Mapping[str, Any] = {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,79}$"}
    score = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": 200, "description": "What it is called"},
            "mean_of": {
                "type": "array", "items": variable, "minItems": 1, "maxItems": 80,
                "description": "The questions, or QUESTION_ROW of a grid, whose mean it is",
            },
            "reversed": {"type": "array", "items": variable, "maxItems": 80, "description": "Those that count from the other end"},
            "onto": {
                "type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2,
                "description": "The lowest and the highest score",
            },
        },
        "required": ["title", "mean_of", "onto"],
        "additionalProperties": False,
    }  # fmt: skip
    properties = {
        "foretell_questionnaire": {"const": 1, "description": "1, the version of the format"},
        "name": whole["properties"]["name"],
        "title": {**whole["properties"]["title"], "description": "What people read above the questions"},
        "lead": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "A paragraph below the title"},
        "source": {**whole["properties"]["source"], "description": "Where the questions come from"},
        "licence": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "The terms on which they may be used"},
        "questions": {
            "type": "object", "propertyNames": name, "additionalProperties": {"$ref": "#/$defs/question"},
            "minProperties": 1, "maxProperties": 80, "description": "Name: question, in order",
        },
        "scores": {
            "type": "object", "propertyNames": name, "additionalProperties": score, "maxProperties": 20,
            "description": "Name: mean of several answers",
        },
        "translations": whole["properties"]["translations"],
    }  # fmt: skip
    return {
        "$schema": whole["$schema"],
        "title": "Foretell questionnaire",
        "type": "object",
        "properties": properties,
        "required": ["foretell_questionnaire", "name", "title", "source", "licence", "questions"],
        "additionalProperties": False,
        "$defs": defs,
    }


@cache
def _validator() -> Any:
    faster = extend(Draft202012Validator, {"byKind": _by_kind})
    return faster(_faster(dict(schema()), schema()["$defs"]))


@cache
def _questionnaire_validator() -> Any:
    whole = questionnaire_schema()
    return extend(Draft202012Validator, {"byKind": _by_kind})(_faster(dict(whole), whole["$defs"]))


def _by_kind(validator: Any, kinds: Mapping[str, Any], instance: Any, _: Any) -> Iterator[ValidationError]:
    kind = instance.get("kind") if isinstance(instance, dict) else None
    if isinstance(kind, str) and kind in kinds:
        yield from validator.descend(instance, kinds[kind])


def _faster(part: Any, defs: Mapping[str, Any]) -> Any:
    """The same schema in a form that is checked several times faster: without ``$ref``, and with one look at an object's
    ``kind`` in place of an ``if`` for each kind. None of its parts refers to itself."""
    if isinstance(part, list):
        return [_faster(one, defs) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _faster(defs[part["$ref"].removeprefix("#/$defs/")], defs)
    found = {name: _faster(one, defs) for name, one in part.items() if name not in ("$defs", "allOf")}
    if "allOf" in part:
        kinds = {one["if"]["properties"]["kind"]["const"]: one["then"] for one in part["allOf"]}
        found["byKind"] = {kind: _faster(then, defs) for kind, then in kinds.items()}
    return found


def shape_check(value: Any, faults: Faults) -> None:
    """Add a problem for each place where a file's value doesn't have the form of the format."""
    _errors_add(_validator(), value, faults)


def questionnaire_shape_check(value: Any, faults: Faults) -> None:
    """Add a problem for each place where a questionnaire's value doesn't have the form of the format."""
    _errors_add(_questionnaire_validator(), value, faults)


def _errors_add(validator: Any, value: Any, faults: Faults) -> None:
    for error in validator.iter_errors(value):
        path = tuple(error.absolute_path)
        for place, message in _words(error):
            faults.add((*path, *place), message)


def _words(error: ValidationError) -> Iterable[tuple[tuple[str | int, ...], str]]:
    told = _TELLERS.get(str(error.validator))
    if told is None:
        return [((), f"isn't as expected: {error.message}"[:300])]
    return told(error)


Told = Iterable[tuple[tuple[str | int, ...], str]]


def _type(error: ValidationError) -> Told:
    wanted = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    expected = " or ".join(dict.fromkeys(_KINDS[one] for one in wanted))
    if error.instance is None:
        return [((), f"is empty; expected {expected}")]
    hint = ""
    if "string" in wanted and not isinstance(error.instance, dict | list):
        hint = f'; put it in quotes if it is meant as text: "{shown_value(error.instance)}"'
    return [((), f"is {shown_value(error.instance)}; expected {expected}{hint}")]


def _required(error: ValidationError) -> Told:
    missing = next(
        name
        for name in error.validator_value
        if name not in error.instance and error.message.startswith(f"{name!r} ")
    )
    described = error.schema.get("properties", {}).get(missing, {})
    text = described.get("description", "") if isinstance(described, dict) else ""
    if "enum" in (described if isinstance(described, dict) else {}):
        text = f"one of: {', '.join(described['enum'])}"
    return [((missing,), "is missing" + (f"; expected {_lowered(text)}" if text else ""))]


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _additional(error: ValidationError) -> Told:
    known = list(error.schema.get("properties", {}))
    for name in error.instance:
        if name not in known:
            close = get_close_matches(name, known, 1)
            guess = f" Did you mean {close[0]}?" if close else ""
            yield (name,), f"is not a key of this part; expected one of: {', '.join(known)}.{guess}"


def _pattern(error: ValidationError) -> Told:
    expected = _PATTERNS.get(error.validator_value, f"text like {error.validator_value}")
    if list(error.schema_path)[-2:-1] == ["propertyNames"]:
        return [((error.instance,), f"is not a name that can be used here; expected {expected}")]
    return [((), f"is {shown_value(error.instance)}; expected {expected}")]


def _enum(error: ValidationError) -> Told:
    values = [str(one) for one in error.validator_value]
    close = get_close_matches(str(error.instance), values, 1)
    guess = f" Did you mean {close[0]}?" if close else ""
    return [((), f"is {shown_value(error.instance)}; expected one of: {', '.join(values)}.{guess}")]


def _limit(form: str) -> Callable[[ValidationError], Told]:
    def told(error: ValidationError) -> Told:
        value = error.instance
        got = shown_value(value) if isinstance(value, int | float) else f"{len(value):,}"
        return [((), form.format(most=error.validator_value, got=got))]

    return told


def _least_length(error: ValidationError) -> Told:
    return [((), "is empty; expected text")]


_TELLERS: Mapping[str, Callable[[ValidationError], Told]] = {
    "type": _type,
    "required": _required,
    "additionalProperties": _additional,
    "pattern": _pattern,
    "enum": _enum,
    "const": lambda error: [((), f"is {shown_value(error.instance)}; expected {error.validator_value}")],
    "minLength": _least_length,
    "maxLength": _limit("has {got} characters; expected at most {most:,}"),
    "minItems": _limit("has {got} entries; expected at least {most}"),
    "maxItems": _limit("has {got} entries; expected at most {most}"),
    "minProperties": _limit("has {got} entries; expected at least {most}"),
    "maxProperties": _limit("has {got} entries; expected at most {most}"),
    "minimum": _limit("is {got}; expected at least {most}"),
    "maximum": _limit("is {got}; expected at most {most}"),
    "exclusiveMinimum": _limit("is {got}; expected more than {most}"),
}
