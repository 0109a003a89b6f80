"""What an item of `external_labels` contains: a text, and the variables that its labels belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
    Block,
    Column,
    Field,
    FieldErrors,
    Level,
    Option,
    Row,
    Stage,
    Variable,
)

NAME = re.compile(r"\w[\w -]{0,59}")
LEVELS: tuple[str, ...] = get_args(Level)
_SEPARATOR = "."


def field_name(variable: str, unit: str) -> str:
    """The response field of a label: the variable, followed by a dot and the unit if there is one."""
    return f"{variable}{_SEPARATOR}{unit}" if unit else variable


def split_name(name: str) -> tuple[str, str]:
    """The inverse of ``field_name``.

    >>> split_name("acceptable.2"), split_name("grammar")
    (('acceptable', '2'), ('grammar', ''))
    """
    variable, _, unit = name.partition(_SEPARATOR)
    return variable, unit


def parse_variables(declared: Any) -> list[JSON]:
    """Check the declared variables and fill in the defaults; raises ``ValueError``."""
    if not isinstance(declared, list) or not declared:
        raise ValueError(
            'is missing; expected a list such as [{"name": "acceptable", "labels": ["no", "yes"]}]'
        )
    variables: list[JSON] = []
    for entry in declared:
        if not isinstance(entry, Mapping) or not set(entry) <= {"name", "title", "level", "labels", "units"}:
            raise ValueError(f"{entry!r}: expected an object with name, title, level, labels, units")
        name, level = entry.get("name"), entry.get("level") or "nominal"
        labels, units = _texts(entry, "labels"), _texts(entry, "units")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} is not a valid name; expected letters, digits, _, - or spaces, at most 60"
            )
        if name in [v["name"] for v in variables]:
            raise ValueError(f"{name!r} is declared twice")
        if level not in LEVELS:
            raise ValueError(f"{name}: {level!r} is not one of: {', '.join(LEVELS)}")
        if level == "ordinal" and len(labels) < 2:
            raise ValueError(f"{name}: an ordinal variable needs at least two labels, in their order")
        title = str(entry.get("title") or name.replace("_", " ").capitalize())
        variables.append({"name": name, "title": title, "level": level, "labels": labels, "units": units})
    return variables


def _texts(entry: Mapping[str, Any], name: str) -> list[str]:
    value = entry.get(name) or []
    if not isinstance(value, list) or not all(isinstance(v, str) and v.strip() for v in value):
        raise ValueError(f"{name}: expected a list of texts")
    if len(set(value)) != len(value):
        raise ValueError(f"{name}: an entry is listed twice")
    return value


def _variables(row: Row) -> list[JSON]:
    declared = row.json("variables")
    try:
        return parse_variables(declared) if "variables" not in row.errors else []
    except ValueError as error:
        row.errors["variables"] = str(error)
        return []


COLUMNS = (
    Column("text", "What was judged, as text", example="question: Can owls swim?", material="instance_input"),
    Column(
        "variables",
        'What it was judged for: [{"name", "title", "level", "labels", "units"}, ...]; only the name is'
        " required. Without labels, any text is accepted; units are parts of the item that are judged one by one.",
        kind="json",
        example='[{"name": "acceptable", "labels": ["no", "yes"], "units": ["1", "2"]}]',
        read=_variables,
    ),
    *ITEM_COLUMNS,
)


def variables_of(payload: JSON) -> tuple[Variable, ...]:
    """The variables that an item declares."""
    return tuple(
        Variable(v["name"], v["title"], level=v["level"], labels=tuple(v["labels"]))
        for v in payload["variables"]
    )


def stages_of(payload: JSON) -> tuple[Stage, ...]:
    """One stage: the text, and an optional field for each unit of each variable."""
    fields = [
        Field(
            field_name(v["name"], unit),
            f"{v['title']} ({unit})" if unit else v["title"],
            kind="choice" if len(v["labels"]) > 1 else "text",
            options=tuple(Option(label, label) for label in v["labels"]) if len(v["labels"]) > 1 else (),
            required=False,
            max_length=200,
        )
        for v in payload["variables"]
        for unit in v["units"] or [""]
    ]
    return (Stage("labels", "Labels", (Block("text", "Item", payload["text"]),), tuple(fields)),)


def check_answered(response: JSON) -> JSON:
    """A response without its empty labels; raises ``FieldErrors`` if all are empty."""
    kept = {name: value for name, value in response.items() if value != ""}
    if not kept:
        raise FieldErrors({"label": "expected at least one label"})
    return kept
