"""The content of a stored report: sections with sentences, tables and figures, as plain JSON.

Every number is a cell with its interval, denominator, what was left out, the aggregation rule and, if it is not
defined, the reason. The page, the exports and the API show this content and don't compute anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from evaluation.core.estimate import Estimate, none_if_nan
from evaluation.reports.denominators import Basis, denominator_notes, estimand_in
from evaluation.reports.words import no_interval

SCHEMA = 1

#: How a number is shown: 0.504; 77.3 (per cent, of a share); 12; < .001; 1.50.
Shape = Literal["number", "percent", "count", "p", "money"]
JSON = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One cell: a text, or a number with its context.

    >>> Cell.of(Estimate(0.5, n=4), rule="majority").to_json()["rule"]
    'majority'
    """

    text: str = ""
    estimate: Estimate | None = None
    shape: Shape = "number"
    rule: str = ""
    strong: bool = False

    @classmethod
    def of(cls, estimate: Estimate, *, shape: Shape = "number", rule: str = "", strong: bool = False) -> Cell:
        return cls(estimate=estimate, shape=shape, rule=rule, strong=strong)

    @classmethod
    def count(cls, value: int) -> Cell:
        return cls(estimate=Estimate(float(value), n=int(value)), shape="count")

    @classmethod
    def number(cls, value: float, *, reason: str = "", shape: Shape = "number", n: int = 0) -> Cell:
        """A bare number; ``reason`` is needed where it is nan."""
        return cls(estimate=Estimate(value, n=n, reason=reason if math.isnan(value) else ""), shape=shape)

    def to_json(self) -> JSON:
        if self.estimate is None:
            return {"kind": "text", "text": self.text, "strong": self.strong}
        return {
            "kind": "number",
            "shape": self.shape,
            "rule": self.rule,
            "strong": self.strong,
            **self.estimate.to_dict(),
        }


@dataclass(frozen=True)
class TableColumn:
    """A column with its ``label``; neighbouring columns of the same ``group`` have a common heading."""

    label: str
    group: str = ""


@dataclass(frozen=True)
class TableRow:
    """A row: its head cells, then one cell for each column. Rows of one ``group`` are listed under its name.

    ``item`` is the database ids of the row's study and item, if it is about one, and ``raters`` those of the study and of the one
    or two raters that it is about; pages link to them.
    """

    head: Sequence[str]
    cells: Sequence[Cell]
    group: str = ""
    item: tuple[int, int] | None = None
    raters: tuple[int, ...] | None = None

    def to_json(self) -> JSON:
        found: JSON = {
            "head": list(self.head),
            "group": self.group,
            "cells": [cell.to_json() for cell in self.cells],
        }
        about = {"item": self.item, "raters": self.raters}
        return found | {name: list(pks) for name, pks in about.items() if pks}


@dataclass(frozen=True)
class Table:
    """A table. ``id`` is unique in a report and the same in every report, so that two can be compared.

    In a report across studies, tables with the same id become one: ``beside`` joins their columns (the papers' layout
    if a dataset or task is a column), else their rows follow each other. ``folded``: closed until it is opened.
    """

    id: str
    title: str
    head: Sequence[str]
    columns: Sequence[TableColumn]
    rows: Sequence[TableRow]
    notes: Sequence[str] = ()
    number: str = ""
    beside: bool = False
    folded: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns) or len(row.head) != len(self.head):
                raise ValueError(f"{self.id}: row {list(row.head)} does not fit its columns")

    def to_json(self) -> JSON:
        return {
            "kind": "table",
            "id": self.id,
            "number": self.number,
            "title": self.title,
            "head": list(self.head),
            "columns": [asdict(column) for column in self.columns],
            "rows": [row.to_json() for row in self.rows],
            "notes": list(self.notes),
            "denominators": denominator_notes(self._bases()),
            "folded": self.folded,
        }

    def _bases(self) -> list[Basis]:
        found = []
        shown = [self._has_sizes(place) for place in range(len(self.columns))]
        for row in self.rows:
            for column, cell, own in zip(self.columns, row.cells, shown, strict=True):
                if cell.estimate is not None and cell.shape not in ("count", "p"):
                    where = " · ".join(filter(None, [row.group, *row.head]))
                    over = " ".join(filter(None, [column.group, column.label]))
                    held = cell.estimate.to_dict()
                    n, left = cell.estimate.n, dict(cell.estimate.left_out)
                    found.append(Basis(where, over, n, left, own, no_interval(held), estimand_in(held)))
        return found

    def _has_sizes(self, place: int) -> bool:
        """Whether a column of counts in the same group of columns has the denominators of this column, in all of several
        rows."""
        sizes = [(row, row.cells[place].estimate) for row in self.rows]
        rows = [(row, found.n) for row, found in sizes if found is not None and found.n]
        return len(rows) > 1 and any(
            all(_is_count(row.cells[other], n) for row, n in rows)
            for other, column in enumerate(self.columns)
            if column.group == self.columns[place].group
        )


@dataclass(frozen=True)
class Figure:
    """A figure: its data and the form in which they are drawn (see ``plots``); ``alt`` describes it in words."""

    id: str
    title: str
    alt: str
    form: Literal["intervals", "matrix", "bars", "reliability", "slopes"]
    data: Mapping[str, Any]
    notes: Sequence[str] = ()
    number: str = ""

    def to_json(self) -> JSON:
        return {
            "kind": "figure",
            "id": self.id,
            "number": self.number,
            "title": self.title,
            "alt": self.alt,
            "form": self.form,
            "data": _plain(self.data),
            "notes": list(self.notes),
            "denominators": denominator_notes(self._bases()),
        }

    def _bases(self) -> list[Basis]:
        """Of points (estimates with a label), and of bars, whose data may give ``n`` by row."""
        points = [
            Basis(
                " · ".join(filter(None, [point.get("group", ""), point["label"]])),
                "",
                point["n"],
                point["left_out"],
                no_interval=no_interval(point),
                estimand=estimand_in(point),
            )
            for point in self.data.get("points", ())
        ]
        sizes = self.data.get("n") or ()
        return points + [Basis(row, "", n) for row, n in zip(self.data.get("rows", ()), sizes, strict=False)]


@dataclass(frozen=True)
class Section:
    """A part of the report: sentences, then tables and figures."""

    id: str
    title: str
    prose: Sequence[str] = ()
    blocks: Sequence[Table | Figure] = ()
    notes: Sequence[str] = ()
    number: str = ""

    def to_json(self) -> JSON:
        return {
            "id": self.id,
            "number": self.number,
            "title": self.title,
            "prose": [str(text) for text in self.prose],
            "blocks": [block.to_json() for block in self.blocks],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Document:
    """A whole report. ``facts`` are pairs (name, value) about it; ``warnings`` are shown before everything else."""

    title: str
    sections: Sequence[Section]
    facts: Sequence[tuple[str, str]] = ()
    warnings: Sequence[str] = ()
    choices: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> JSON:
        ids = [block.id for section in self.sections for block in section.blocks]
        if len(set(ids)) < len(ids):
            raise ValueError("two tables or figures share an id")
        return {
            "schema": SCHEMA,
            "title": self.title,
            "facts": [list(fact) for fact in self.facts],
            "warnings": list(self.warnings),
            "choices": dict(self.choices),
            "sections": [section.to_json() for section in self.sections],
        }


def _is_count(cell: Cell, number: int) -> bool:
    return cell.shape == "count" and cell.estimate is not None and cell.estimate.value == number


def _plain(value: Any) -> Any:
    """Data as JSON: nan becomes null, arrays and tuples become lists."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, Estimate):
        return value.to_dict()
    if isinstance(value, float):
        return none_if_nan(value)
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value
