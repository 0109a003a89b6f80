"""Two stored reports, cell against cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.models import Report
from evaluation.reports import words
from evaluation.reports.pages import ShownCell, shown_cell


@dataclass(frozen=True)
class Line:
    """One cell of both reports; ``change`` is the second minus the first, where both are numbers."""

    head: str
    column: str
    a: ShownCell | None
    b: ShownCell | None
    change: str

    @property
    def same(self) -> bool:
        return self.a == self.b


@dataclass(frozen=True)
class ComparedTable:
    number: str
    title: str
    lines: Sequence[Line]

    @property
    def changed(self) -> int:
        return sum(not line.same for line in self.lines)


@dataclass(frozen=True)
class ComparedReports:
    """``choices`` are those that differ, (name, first's, second's)."""

    choices: Sequence[tuple[str, Any, Any]]
    same_inputs: bool
    tables: Sequence[ComparedTable]


def compare(a: Report, b: Report) -> ComparedReports:
    """Match the tables of two reports by their ids, rows by their heads and columns by their labels."""
    names = sorted({*a.choices, *b.choices})
    choices = [(n, a.choices.get(n), b.choices.get(n)) for n in names if a.choices.get(n) != b.choices.get(n)]
    one, two = _tables(a.content or {}), _tables(b.content or {})
    tables = []
    for name in [*one, *(name for name in two if name not in one)]:
        first, second = _cells(one.get(name)), _cells(two.get(name))
        keys = [*first, *(key for key in second if key not in first)]
        lines = [_line(key, first.get(key), second.get(key)) for key in keys]
        table = one.get(name) or two[name]
        tables.append(ComparedTable(table["number"], table["title"], lines))
    return ComparedReports(choices, a.inputs_hash == b.inputs_hash, tables)


def _tables(content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    blocks = [block for section in content.get("sections", []) for block in section["blocks"]]
    return {block["id"]: block for block in blocks if block["kind"] == "table"}


def _cells(table: Mapping[str, Any] | None) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Cells by (row, column); a name that comes twice is numbered, so that no cell hides another."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in table["rows"] if table else []:
        head = " · ".join(filter(None, [row["group"], *row["head"]]))
        for column, cell in zip(table["columns"] if table else [], row["cells"], strict=True):
            label = " ".join(filter(None, [column["group"], column["label"]]))
            key, number = (head, label), 1
            while key in found:
                number += 1
                key = (f"{head} ({number})", label)
            found[key] = cell
    return found


def _line(key: tuple[str, str], a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> Line:
    change = ""
    if a and b and a.get("value") is not None and b.get("value") is not None:
        difference = b["value"] - a["value"]
        change = ("+" if difference > 0 else "") + words.number(difference, a["shape"]) if difference else "0"
    return Line(key[0], key[1], shown_cell(a) if a else None, shown_cell(b) if b else None, change)
