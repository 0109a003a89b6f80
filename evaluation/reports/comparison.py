"""Compare two stored reports cell by cell: the largest changes in words, then every table that differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    one. A value that exists or is defined in only one report comes before all of them, one that neither defines after them.
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

    @property
    def defined(self) -> bool:
        """Whether either report defines the value."""
        return any(cell is not None and not cell.undefined for cell in (self.a, self.b))


@dataclass(frozen=True)
class ComparedTable:
    """A table of either report, its lines that differ first, the largest change first. ``headline``: it has the figures that
    the summary's figure shows."""

    number: str
    title: str
    lines: Sequence[Line]
    headline: bool = False

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
        """How many values differ, and the largest changes, each in a sentence; not of values that neither report defines."""
        total = sum(len(table.lines) for table in self.tables)
        lines = self._differing()
        if not lines:
            return [f"All {words.count(total, 'value')} are the same."]
        differing = len(lines)
        said = [f"{differing:,} of {words.count(total, 'value')} differ{'s' if differing == 1 else ''}."]
        lines = [(line, table) for line, table in lines if line.defined]
        lines.sort(key=lambda pair: -pair[0].size)
        if undefined := differing - len(lines):
            said.append(f"{words.count(undefined, 'of them is', 'of them are')} defined in neither report.")
        return said + [_said(line, table) for line, table in lines[:LARGEST]]

    @property
    def every_change(self) -> list[str]:
        """Each value that differs in a sentence: those of the headline table first, then all by how much they changed."""
        lines = sorted(self._differing(), key=lambda pair: (not pair[1].headline, -pair[0].size))
        return [_said(line, table) for line, table in lines]

    def _differing(self) -> list[tuple[Line, ComparedTable]]:
        return [(line, table) for table in self.tables for line in table.differing]


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
    headlines = {_headline(content or {}) for content in (a.content, b.content)}
    tables = []
    for name in [*one, *(name for name in two if name not in one)]:
        first, second = _cells(one.get(name)), _cells(two.get(name))
        keys = [*first, *(key for key in second if key not in first)]
        lines = [_line(key, first.get(key), second.get(key)) for key in keys]
        table = one.get(name) or two[name]
        lines.sort(key=lambda line: -line.size)
        tables.append(ComparedTable(table["number"], table["title"], lines, name in headlines))
    tables.sort(key=lambda table: -table.size)
    return ComparedReports(choices, a.inputs_hash == b.inputs_hash, tables)


def _chosen(spec: ChoiceSpec | None, report: Report, name: str) -> str:
    """A choice, in the words of the form."""
    value = report.choices.get(name)
    return spec.words(value) if spec else str(value)


def _tables(content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    blocks = [block for section in content.get("sections", []) for block in section["blocks"]]
    return {block["id"]: block for block in blocks if block["kind"] == "table"}


def _headline(content: Mapping[str, Any]) -> str:
    """The id of the first table of the section that the summary's figure is from; empty without a summary."""
    sections = content.get("sections", [])
    of_summary = [block for section in sections if section["id"] == "summary" for block in section["blocks"]]
    titles = {block["title"] for block in of_summary}
    for section in sections:
        if section["id"] != "summary" and any(
            block["kind"] == "figure" and block["title"] in titles for block in section["blocks"]
        ):
            return next((block["id"] for block in section["blocks"] if block["kind"] == "table"), "")
    return ""


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
    line = Line(key[0], key[1], shown[0], shown[1], change, size)
    return line if line.defined or line.same else replace(line, size=0.0)


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
