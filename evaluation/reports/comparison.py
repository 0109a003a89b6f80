"""Compare two stored reports cell by cell: the largest changes in words, then every table that differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.models import Report
from evaluation.reports import words
from evaluation.reports.choices import ChoiceSpec, specs
from evaluation.reports.pages import ShownCell, shown_cell

#: At most this many changes are described in words.
LARGEST = 8


@dataclass(frozen=True)
class Line:
    """One cell of both reports; ``change`` is the second minus the first, if both are numbers. ``size`` orders lines by
    how much changed: for figures on a scale of about 1 the change itself, for counts the change divided by the larger
    one. A value that exists or is defined in only one report comes before all of them.
    """

    head: str
    column: str
    a: ShownCell | None
    b: ShownCell | None
    change: str
    size: float

    @property
    def same(self) -> bool:
        return self.a == self.b


@dataclass(frozen=True)
class ComparedTable:
    """A table of either report, its lines that differ first, the largest change first."""

    number: str
    title: str
    lines: Sequence[Line]

    @property
    def differing(self) -> list[Line]:
        return [line for line in self.lines if not line.same]

    @property
    def size(self) -> float:
        return max((line.size for line in self.differing), default=-1.0)


@dataclass(frozen=True)
class ComparedReports:
    """``choices`` are the different ones as (label, first, second); ``tables`` start with the largest change."""

    choices: Sequence[tuple[str, str, str]]
    same_inputs: bool
    tables: Sequence[ComparedTable]

    @property
    def changed(self) -> list[ComparedTable]:
        return [table for table in self.tables if table.differing]

    @property
    def unchanged(self) -> list[ComparedTable]:
        return [table for table in self.tables if not table.differing]

    @property
    def sentences(self) -> list[str]:
        """How many values differ, and the largest changes, each in a sentence."""
        total = sum(len(table.lines) for table in self.tables)
        lines = [(line, table) for table in self.tables for line in table.differing]
        if not lines:
            return [f"All {words.count(total, 'value')} are the same."]
        said = [f"{len(lines):,} of {words.count(total, 'value')} differ{'s' if len(lines) == 1 else ''}."]
        lines.sort(key=lambda pair: -pair[0].size)
        return said + [_said(line, table) for line, table in lines[:LARGEST]]


def compare(a: Report, b: Report) -> ComparedReports:
    """Match the tables of two reports by their ids, rows by their heads and columns by their labels."""
    known = {spec.name: spec for spec in specs()}
    names = sorted({*a.choices, *b.choices})
    choices = [
        (known[n].label if n in known else n, _chosen(known.get(n), a, n), _chosen(known.get(n), b, n))
        for n in names
        if a.choices.get(n) != b.choices.get(n)
    ]
    one, two = _tables(a.content or {}), _tables(b.content or {})
    tables = []
    for name in [*one, *(name for name in two if name not in one)]:
        first, second = _cells(one.get(name)), _cells(two.get(name))
        keys = [*first, *(key for key in second if key not in first)]
        lines = [_line(key, first.get(key), second.get(key)) for key in keys]
        table = one.get(name) or two[name]
        lines.sort(key=lambda line: -line.size)
        tables.append(ComparedTable(table["number"], table["title"], lines))
    tables.sort(key=lambda table: -table.size)
    return ComparedReports(choices, a.inputs_hash == b.inputs_hash, tables)


def _chosen(spec: ChoiceSpec | None, report: Report, name: str) -> str:
    """A choice, in the words of the form."""
    value = report.choices.get(name)
    return spec.words(value) if spec else str(value)


def _tables(content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    blocks = [block for section in content.get("sections", []) for block in section["blocks"]]
    return {block["id"]: block for block in blocks if block["kind"] == "table"}


def _cells(table: Mapping[str, Any] | None) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Cells by (row, column); repeated names are numbered, so that no cell replaces another."""
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
    shown = shown_cell(a) if a else None, shown_cell(b) if b else None
    change, size = "", -1.0 if shown[0] == shown[1] else 2.0
    if a and b and a.get("value") is not None and b.get("value") is not None:
        difference = b["value"] - a["value"]
        change = ("+" if difference > 0 else "") + words.number(difference, a["shape"]) if difference else "0"
        largest = max(abs(a["value"]), abs(b["value"]), 1e-12)
        moved = abs(difference) / largest if a["shape"] == "count" else min(abs(difference), 1.0)
        size = moved if shown[0] != shown[1] else -1.0
    elif a and b and a["kind"] == b["kind"] == "text" and shown[0] != shown[1]:
        size = 0.0
    return Line(key[0], key[1], shown[0], shown[1], change, size)


def _said(line: Line, table: ComparedTable) -> str:
    """One change in a sentence."""
    where = f"{table.number or table.title}, {line.head}, {line.column}"
    if line.a is None or line.b is None:
        here, cell = ("second", line.b) if line.a is None else ("first", line.a)
        return f"{where}: only in the {here} report ({cell.text if cell else ''})."
    if line.a.undefined or line.b.undefined:
        first, second = (_spoken(cell) for cell in (line.a, line.b))
        return f"{where}: {first} became {second}."
    if line.a.text == line.b.text and line.a.interval == line.b.interval:
        return (
            f"{where}: {line.a.text} in both, but on another basis ({line.a.detail}; then {line.b.detail})."
        )
    if not line.change or line.change == "0":
        return (
            f"{where}: the interval changed from {line.a.interval or 'none'} to {line.b.interval or 'none'}."
        )
    return f"{where}: {line.a.text} became {line.b.text} ({line.change})."


def _spoken(cell: ShownCell) -> str:
    return f"not defined ({cell.reason})" if cell.undefined else cell.text
