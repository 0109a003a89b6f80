"""Merge sections of several studies into one: the papers' tables with a row (or a column) for each dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.words import CountedSentence

Named = tuple[str, Section]
ABSENT = Cell(text="–")


def merged(found: Sequence[Named]) -> Section:
    """Merge the sections of several studies with the same name; ``found`` are pairs (study's title, section), one or
    more. Tables with the same id, title and head become one; other blocks stay separate, named after their study.
    Sentences and notes name their study, unless they are the same in all studies.
    """
    title, first = found[0]
    if len(found) == 1:
        return replace(
            first, prose=_paragraphs([(title, first.prose)]) if first.prose else [f"From “{title}”."]
        )
    numbers = list(dict.fromkeys(section.number for _, section in found if section.number))
    blocks: list[Table | Figure] = []
    for name in dict.fromkeys(block.id for _, section in found for block in section.blocks):
        same = [(n, title, b) for n, (title, s) in enumerate(found, 1) for b in s.blocks if b.id == name]
        blocks += _blocks(same)
    return replace(
        first,
        number=max(numbers, key=len, default=""),
        prose=_paragraphs([(title, section.prose) for title, section in found if section.prose]),
        blocks=blocks,
        notes=said_once([(title, text) for title, section in found for text in section.notes], len(found)),
    )


def _paragraphs(found: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """The sentences of each study's section, one paragraph per study, which starts with its title."""
    paragraphs = []
    for title, prose in found:
        text = f"“{title}”: {' '.join(prose)}"
        cases = [sentence.cases for sentence in prose if isinstance(sentence, CountedSentence)]
        paragraphs.append(CountedSentence(text, min(cases)) if cases else text)
    return paragraphs


def said_once(texts: Sequence[tuple[str, str]], studies: int) -> list[str]:
    """Each text once, preceded by the studies that it is about unless it is about all of them.

    >>> said_once([("A", "x"), ("B", "x"), ("B", "y")], 2)
    ['x', '“B”: y']
    """
    by: dict[str, list[str]] = {}
    for title, text in texts:
        by.setdefault(text, []).append(title)
    return [
        text
        if len(set(titles)) == studies > 1
        else f"{', '.join(f'“{title}”' for title in dict.fromkeys(titles))}: {text}"
        for text, titles in by.items()
    ]


def _blocks(same: Sequence[tuple[int, str, Table | Figure]]) -> list[Table | Figure]:
    tables = [(n, title, block) for n, title, block in same if isinstance(block, Table)]
    if len(tables) == len(same) and len(same) > 1:
        shapes = {(tuple(block.head), block.title) for _, _, block in tables}
        if len(shapes) == 1:
            join = _beside if tables[0][2].beside else _stacked
            return [join([(title, block) for _, title, block in tables])]
    return [
        replace(
            block, id=f"{block.id}-s{n}" if len(same) > 1 else block.id, title=f"{block.title}, “{title}”"
        )
        for n, title, block in same
    ]


def _stacked(tables: Sequence[tuple[str, Table]]) -> Table:
    """Rows below each other, columns joined; rows are grouped by study unless their first head is its name."""
    columns = list(dict.fromkeys(column for _, table in tables for column in table.columns))
    firsts = [{row.head[0] for row in table.rows if row.head} for _, table in tables]
    named = tables[0][1].head[:1] in (["Dataset"], ["Task"]) and len(set.union(*firsts)) == sum(
        map(len, firsts)
    )
    rows = []
    for title, table in tables:
        places = [_place(table.columns, column) for column in columns]
        for row in table.rows:
            cells = [ABSENT if at is None else row.cells[at] for at in places]
            group = row.group if named else " · ".join(filter(None, [title, row.group]))
            rows.append(replace(row, cells=cells, group=group))
    return _with(tables, columns, rows)


def _place(columns: Sequence[TableColumn], wanted: TableColumn) -> int | None:
    return next((n for n, column in enumerate(columns) if column == wanted), None)


def _beside(tables: Sequence[tuple[str, Table]]) -> Table:
    """Columns side by side under their dataset; rows joined by their heads."""
    heads = list(dict.fromkeys((row.group, tuple(row.head)) for _, table in tables for row in table.rows))
    columns: list[TableColumn] = []
    parts: list[dict[tuple[str, tuple[str, ...]], Sequence[Cell]]] = []
    for title, table in tables:
        taken = {column.group for column in columns}
        columns += [
            TableColumn(c.label, f"{c.group} ({title})" if c.group in taken else c.group)
            for c in table.columns
        ]
        parts.append({(row.group, tuple(row.head)): row.cells for row in table.rows})
    rows = []
    for group, head in heads:
        cells: list[Cell] = []
        for part, (_, table) in zip(parts, tables, strict=True):
            cells += part.get((group, head), [ABSENT] * len(table.columns))
        rows.append(TableRow(list(head), cells, group))
    return _with(tables, columns, rows)


def _with(tables: Sequence[tuple[str, Table]], columns: list[TableColumn], rows: list[TableRow]) -> Table:
    notes = said_once([(title, note) for title, table in tables for note in table.notes], len(tables))
    return replace(tables[0][1], columns=columns, rows=rows, notes=notes)
