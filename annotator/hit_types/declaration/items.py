"""How the columns of a file are read from a row of an import file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from annotator.hit_types.columns import ITEM_COLUMNS, SYSTEM_COLUMNS
from annotator.hit_types.declaration.asking import unit_key
from annotator.hit_types.reading import MAX_TEXT, YES_NO, Row, is_blank
from annotator.hit_types.shapes import Column, Material

#: A column's ``is`` -> the attribute of ``Material`` that it fills.
MATERIAL = {"instance": "instance_input"}
#: Columns that are formats of text, which a row would otherwise declare itself.
WRITTEN = ("markdown", "code", "table", "image")
#: Kinds whose value in a payload is a list.
LISTS = ("units", "turns")
MOST_ENTRIES = 50
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")


def columns_of(spec: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns of an import file: the declared ones, those of systems, and those that every item has."""
    own = [_column(name, one) for name, one in spec["columns"].items()]
    return (*own, *(SYSTEM_COLUMNS if spec.get("systems") else ()), *ITEM_COLUMNS)


def formats_of(spec: Mapping[str, Any]) -> dict[str, str]:
    """Column -> its format, of those that aren't plain text."""
    return {name: one["kind"] for name, one in spec["columns"].items() if one["kind"] in WRITTEN}


def _column(name: str, spec: Mapping[str, Any]) -> Column:
    kind, required = spec["kind"], spec.get("required", True)
    hidden, role = spec.get("hidden", False), spec.get("is", "")
    read: Callable[[Row], Any] | None = None
    if kind in LISTS:
        read = _entries(name, spec)
    elif kind == "number":
        read = _number(name, required)
    return Column(
        name,
        spec["help"],
        required=required,
        kind={"label": "label", "options": "list", "units": "json", "turns": "json"}.get(kind, "text"),  # type: ignore[arg-type]
        example=spec.get("example", ""),
        labels=_labels(spec),
        options=spec.get("options", ""),
        hidden=hidden,
        material=MATERIAL.get(role, role) if not (hidden and role == name) else "",
        limit=spec.get("longest", MAX_TEXT),
        read=read,
    )


def _labels(spec: Mapping[str, Any]) -> dict[str, str]:
    """Spelling in lower case -> label."""
    found: dict[str, str] = {}
    labels = spec.get("labels", {})
    if {"yes", "no"} <= set(labels):
        found |= YES_NO
    for label, one in labels.items():
        shown = one if isinstance(one, str) else one["label"]
        given = [] if isinstance(one, str) else one.get("spellings", [])
        found |= {text.strip().lower(): label for text in (label, shown, *given)}
    return found


def _number(name: str, required: bool) -> Callable[[Row], str]:
    def read(row: Row) -> str:
        value = row.raw.get(name)
        if is_blank(value):
            if required:
                row.errors[name] = "is missing; expected a number"
            return ""
        text = str(value).strip()
        if isinstance(value, bool) or not _NUMBER.fullmatch(text):
            row.errors[name] = f"{value!r} is not a number"
            return ""
        return text

    return read


def _entries(name: str, spec: Mapping[str, Any]) -> Callable[[Row], list[dict[str, str]]]:
    turns = spec["kind"] == "turns"
    expected = "a list of {role, text}" if turns else "a list of texts"
    least, most = spec.get("least", 1), spec.get("most", MOST_ENTRIES)

    def read(row: Row) -> list[dict[str, str]]:
        given = row.json(name)
        if is_blank(given) or given == []:
            if spec.get("required", True):
                row.errors.setdefault(name, f"is missing; expected {expected}")
            return []
        if not isinstance(given, list):
            row.errors.setdefault(name, f"expected {expected}")
            return []
        if not least <= len(given) <= most:
            row.errors[name] = f"expected {least} to {most} entries, got {len(given)}"
            return []
        found: list[dict[str, str]] = []
        for number, entry in enumerate(given, 1):
            raw = entry if isinstance(entry, Mapping) else {"text": entry}
            inner = Row(raw)
            text = inner.text("text", limit=spec.get("longest", MAX_TEXT))
            one = {"role": inner.text("role", limit=60), "text": text} if turns else {"text": text}
            if not turns:
                one = {"key": unit_key(name, inner.text("system", required=False, limit=200), text), **one}
                if any(one["key"] == other["key"] for other in found):
                    row.errors.setdefault(name, f"entry {number}: the same text is given twice")
            for part, message in inner.errors.items():
                row.errors.setdefault(name, f"entry {number}: {part} {message}")
            found.append(one)
        return found

    return read


def parts_of(spec: Mapping[str, Any], row: Row) -> tuple[tuple[str, str, str], ...]:
    """(key, system, text) of the units that name the system that wrote them; see ``Material.parts``."""
    found = []
    for name, one in spec["columns"].items():
        given = row.json(name) if one["kind"] == "units" else None
        for entry in given if isinstance(given, list) else ():
            if isinstance(entry, Mapping) and not is_blank(entry.get("system")):
                inner = Row(entry)
                system, text = inner.text("system", limit=200), inner.text("text")
                found.append((unit_key(name, system, text), system, text))
    return tuple(found)


#: Attributes of ``Material`` that a column of the same name fills if it is hidden.
ATTRIBUTES = frozenset(Material.__dataclass_fields__)
