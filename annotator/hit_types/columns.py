"""Columns of import files that HIT types have in common, and the system that a row names."""

from __future__ import annotations

from annotator.hit_types.reading import Row
from annotator.hit_types.shapes import Column

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
