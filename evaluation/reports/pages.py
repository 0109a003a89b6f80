"""A stored report for a page: cells in words, notes in place, figures with their addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from evaluation.reports import words
from evaluation.reports.terms import TERMS, explained, term_in

#: Tables with more rows than this are collapsed at first.
OPEN = 20
#: Tables with more cells than this show n in a separate column instead of at each value.
DETAILED = 120


@dataclass(frozen=True)
class ShownCell:
    """One cell in words. ``detail`` is its context, for a title and for screen readers."""

    text: str
    interval: str = ""
    #: Why there is no interval, if one was to be expected.
    no_interval: str = ""
    reason: str = ""
    detail: str = ""
    numeric: bool = True
    strong: bool = False
    #: Whether a sealed plan names the value.
    planned: bool = False

    @property
    def undefined(self) -> bool:
        return bool(self.reason)


@dataclass(frozen=True)
class Heading:
    """A head of a row or column, with an explanation if it names a statistic."""

    text: str
    explanation: str = ""

    @classmethod
    def of(cls, text: str) -> Heading:
        return cls(text, explained(text))


@dataclass(frozen=True)
class ShownRow:
    head: Sequence[Heading]
    cells: Sequence[ShownCell]
    #: Set if the row starts a new group.
    group: str = ""
    #: The page of the row's subject.
    link: str = ""
    #: The items that the raters of the row disagree on.
    contested: str = ""


@dataclass(frozen=True)
class ShownTable:
    id: str
    number: str
    title: str
    head: Sequence[str]
    columns: Sequence[Mapping[str, Any]]
    #: The line above the columns as (name, number of columns), or empty.
    groups: Sequence[tuple[str, int]]
    rows: Sequence[ShownRow]
    notes: Sequence[str]
    denominators: Sequence[str]
    #: The context of each value: (row and column; denominator, rule and what was left out).
    details: Sequence[tuple[str, str]] = ()
    folded: bool = False
    kind: str = "table"

    @property
    def long(self) -> bool:
        """Whether the table is too long to be expanded at first."""
        return self.folded or len(self.rows) > OPEN

    @property
    def width(self) -> int:
        return len(self.head) + len(self.columns)


@dataclass(frozen=True)
class ShownFigure:
    id: str
    number: str
    title: str
    alt: str
    light: str
    dark: str
    png: str
    notes: Sequence[str]
    denominators: Sequence[str]
    kind: str = "figure"


@dataclass(frozen=True)
class ShownSection:
    id: str
    number: str
    title: str
    prose: Sequence[str]
    blocks: Sequence[ShownTable | ShownFigure]
    notes: Sequence[str]

    @property
    def first(self) -> bool:
        """Whether it is the summary, which is never collapsed."""
        return self.id == "summary"


@dataclass(frozen=True)
class Page:
    title: str
    facts: Sequence[Sequence[str]]
    warnings: Sequence[str]
    sections: Sequence[ShownSection]

    @property
    def terms(self) -> list[tuple[str, str]]:
        """Each statistic that a heading names, with its explanation, in alphabetical order."""
        tables = [b for s in self.sections for b in s.blocks if isinstance(b, ShownTable)]
        heads = [head.text for table in tables for row in table.rows for head in row.head]
        heads += [column["label"].text for table in tables for column in table.columns]
        return [(term, TERMS[term]) for term in sorted({term_in(text) for text in heads} - {""})]


def no_link(study: int, item: int) -> str:
    """No address, since a page outside the product can't link to items."""
    return ""


def no_pages(study: int, raters: Sequence[int]) -> str:
    """No address of the items that raters disagree on."""
    return ""


def page_of(
    content: Mapping[str, Any],
    source: Callable[[str], str],
    item: Callable[[int, int], str] = no_link,
    contested: Callable[[int, Sequence[int]], str] = no_pages,
) -> Page:
    """A stored report as a page; ``source`` returns the address of a figure's file, empty if there is none. ``item``
    returns the address of an item from its study's id and its own, empty for no link; ``contested`` that of the items that one or two
    raters disagree on, from the study's id and theirs.
    """
    return Page(
        title=content["title"],
        facts=content["facts"],
        warnings=content["warnings"],
        sections=[_section(section, source, item, contested) for section in content["sections"]],
    )


def _section(
    section: Mapping[str, Any],
    source: Callable[[str], str],
    item: Callable[[int, int], str],
    contested: Callable[[int, Sequence[int]], str],
) -> ShownSection:
    blocks: list[ShownTable | ShownFigure] = [
        shown_table(block, item, contested) if block["kind"] == "table" else _figure(block, source)
        for block in section["blocks"]
    ]
    return ShownSection(
        id=section["id"],
        number=section["number"],
        title=section["title"],
        prose=section["prose"],
        blocks=blocks,
        notes=section["notes"],
    )


def shown_table(
    table: Mapping[str, Any],
    item: Callable[[int, int], str] = no_link,
    contested: Callable[[int, Sequence[int]], str] = no_pages,
) -> ShownTable:
    """A stored table with its cells in words."""
    columns = table["columns"]
    groups = [(name, len(list(run))) for name, run in groupby(columns, key=lambda column: column["group"])]
    numeric = [any(row["cells"][n]["kind"] == "number" for row in table["rows"]) for n in range(len(columns))]
    rows, group = [], ""
    for row in table["rows"]:
        rows.append(
            ShownRow(
                [Heading.of(name) for name in row["head"]],
                [
                    _aligned(shown_cell(cell), numbers)
                    for cell, numbers in zip(row["cells"], numeric, strict=True)
                ],
                row["group"] if row["group"] != group else "",
                item(*row["item"]) if row.get("item") else "",
                contested(row["raters"][0], row["raters"][1:]) if row.get("raters") else "",
            )
        )
        group = row["group"]
    return ShownTable(
        id=table["id"],
        number=table["number"],
        title=table["title"],
        head=table["head"],
        columns=[
            {
                **column,
                "label": Heading.of(column["label"]),
                "text": bool(rows) and not any(row.cells[n].numeric for row in rows),
            }
            for n, column in enumerate(columns)
        ],
        folded=table.get("folded", False),
        groups=groups if any(name for name, _ in groups) else [],
        rows=rows,
        notes=table["notes"],
        denominators=table.get("denominators", ()),
        details=_details(table, rows) if len(columns) * len(rows) <= DETAILED else (),
    )


def _details(table: Mapping[str, Any], rows: Sequence[ShownRow]) -> list[tuple[str, str]]:
    found = []
    for row, shown in zip(table["rows"], rows, strict=True):
        for column, cell in zip(table["columns"], shown.cells, strict=True):
            if cell.detail:
                names = [row["group"], *row["head"], column["group"], column["label"]]
                found.append((", ".join(filter(None, names)), cell.detail))
    return found


def _aligned(cell: ShownCell, numbers: bool) -> ShownCell:
    """A dash in a column of numbers is aligned as they are."""
    return replace(cell, numeric=True) if numbers and cell.text == "–" else cell


def shown_cell(cell: Mapping[str, Any]) -> ShownCell:
    """A stored cell in words."""
    if cell["kind"] == "text":
        return ShownCell(cell["text"], numeric=False, strong=cell["strong"])
    parts = [
        f"n = {cell['n']:,}" if cell["shape"] != "count" else "",
        f"rule: {cell['rule']}" if cell["rule"] else "",
        f"left out: {words.left_out(cell['left_out'])}" if cell["left_out"] else "",
        f"interval: {cell['interval']}" if cell["interval"] else "",
        str(cell.get("analysis", "")),
    ]
    detail = "; ".join(part for part in parts if part)
    planned = cell.get("analysis") == "planned"
    if cell["value"] is None:
        return ShownCell("not defined", reason=cell["reason"], detail=detail, planned=planned)
    return ShownCell(
        words.number(cell["value"], cell["shape"]),
        interval=words.interval(cell["low"], cell["high"], cell["shape"]),
        no_interval=words.no_interval(cell),
        detail=detail,
        strong=cell["strong"],
        planned=planned,
    )


def _figure(figure: Mapping[str, Any], source: Callable[[str], str]) -> ShownFigure:
    name = figure["id"]
    return ShownFigure(
        id=name,
        number=figure["number"],
        title=figure["title"],
        alt=figure["alt"],
        light=source(f"{name}.light.svg"),
        dark=source(f"{name}.dark.svg"),
        png=source(f"{name}.png"),
        notes=figure["notes"],
        denominators=figure.get("denominators", ()),
    )
