"""Columns of import files: those that HIT types have in common, and how a declared one is read."""

from __future__ import annotations

from typing import Any

from annotator.hit_types.answers import Answers
from annotator.hit_types.reading import Row, stable_key
from annotator.hit_types.shapes import JSON, Column, Material

#: Where an explanation comes from: columns of every type that shows explanations.
SYSTEM_COLUMNS: tuple[Column, ...] = (
    Column("system", "The system: a model with an explanation method", False, "text", "robot-a"),
    Column("model", "The system's model", False, "text", "robot-a"),
    Column("method", "How the explanation was made", False, "text", "chain of thought"),
)

#: Columns about the item itself, available in every import file.
ITEM_COLUMNS: tuple[Column, ...] = (
    Column("key", "Your own name for the item; if left out, made from its content", False, "text", "q17-a-3"),
    Column(
        "instance", "Your own name for the instance; if left out, made from its content", False, "text", "q17"
    ),
    Column("gold", "The correct response, as JSON: for gold items and rehearsals", False, "json"),
    Column("role", "ordinary, gold or attention", False, "label", "ordinary"),
    Column("condition", "The experimental condition", False, "text", "normal"),
    Column(
        "formats",
        "How texts are written, as JSON: a column's name with markdown, code, table or image; others are plain text",
        False,
        "json",
        {},
    ),
    Column("alt", "What the image of the row shows, for people who can't see it", False, "text"),
)
_COMMON = frozenset(column.name for column in (*SYSTEM_COLUMNS, *ITEM_COLUMNS))
#: What a row may write as its role, and what is stored.
ROLES = {"ordinary": "ordinary", "gold": "gold", "attention": "attention"}


def system_name(row: Row) -> tuple[str, str, str]:
    """(system, model, method) of an import row; a system without a name is named after its model and method.

    >>> system_name(Row({"model": "robot-a", "method": "post-hoc"}))
    ('robot-a · post-hoc', 'robot-a', 'post-hoc')
    """
    model = row.text("model", required=False, limit=200)
    method = row.text("method", required=False, limit=60)
    system = row.text("system", required=False, limit=200)
    return system or " · ".join(part for part in (model, method) if part), model, method


class ItemReader:
    """Reads import rows as a type's columns declare them.

    JSON columns without ``read`` are left to the type. Without a column ``instance``, the instance is named after the text
    that is its input.
    """

    def __init__(self, columns: tuple[Column, ...]):
        own = [column for column in columns if column.name not in _COMMON]
        self.names_systems = any(column.name == "system" for column in columns)
        #: The columns whose texts can have a format.
        self.texts = {column.name for column in columns if column.kind != "label"}
        self.lists = [column.name for column in own if column.kind == "list"]
        self.shown = [c for c in own if not c.hidden and (c.read or c.kind != "json")]
        self.hidden = [column for column in own if column.hidden]
        self.filling = [column for column in self.shown if column.material]

    def read(self, row: Row) -> tuple[JSON, Material]:
        """The payload and the material of a row; errors are in the row."""
        material: dict[str, Any] = {"instance_key": "", "instance_input": ""}
        if self.names_systems:
            material["system"], material["model"], material["method"] = system_name(row)
        payload: JSON = {}
        for column in self.shown:
            payload[column.name] = _value(column, row, payload)
        readable = not (row.errors and any(name in row.errors for name in self.lists))
        for column in self.hidden:
            if readable or not column.options:
                material[column.material or column.name] = _value(column, row, payload)
        for column in self.filling:
            text, options = payload[column.name], tuple[str, ...]()
            if column.options and column.kind == "text":
                answers = Answers.of(payload[column.options])
                text, options = answers.after(text), answers.options
            material[column.material] = text
            if column.material == "instance_input":
                name = row.text("instance", required=False, limit=200)
                material["instance_key"] = name or stable_key(payload[column.name], *options)
        return payload, Material(**material)


def _value(column: Column, row: Row, payload: JSON) -> Any:
    if column.read:
        return column.read(row)
    if column.kind == "list":
        return list(Answers.read_options(row, column.name).options)
    if column.kind == "label" and not (column.options and column.options in row.errors):
        if column.options:
            answers = Answers.of(payload[column.options])
            return answers.read(row, column.name, required=column.required, also=column.labels)
        return row.label(column.name, column.labels, required=column.required)
    return row.text(column.name, required=column.required, limit=column.limit)
