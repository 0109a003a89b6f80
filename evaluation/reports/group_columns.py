"""Columns for each group in every table of a report: the sections are built again from each group's judgments alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from evaluation.agreement.by_group import NO_GROUP, grouped_values
from evaluation.core.filter_text import RATER
from evaluation.ratings.arms import ArmRatings
from evaluation.ratings.attributes import Attribute, attribute_load
from evaluation.reports.across_studies import Across
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context

#: With more groups than this, tables would be too wide: only the section on groups has them.
MOST_GROUPS = 12
#: The name under which a context keeps its groups.
GROUPED = "attribute-grouped"
#: Where a group has no such row.
ABSENT = Cell(text="–")
#: Modules whose sections are about all work and material of the study, or have groups of their own.
WHOLE = ("groups", "people", "material", "next_study", "adjudication")


def attribute_grouped(ctx: Context) -> Attribute:
    """The attribute that the report is grouped by, with its values in order; numbers with many values are cut at their quartiles."""

    def make() -> Attribute:
        found = attribute_load(ctx.data.judgments, ctx.choices.by)
        try:
            names, codes = grouped_values(found.names, found.codes)
        except ValueError as error:
            raise ValueError(f"{found.name}: {error}") from None
        return Attribute(found.name, found.of, tuple(names), codes)

    return ctx.once(GROUPED, make)


def group_alike(contexts: Sequence[Context]) -> None:
    """Give several studies the same groups: numbers with many values are cut at the quartiles of all studies together.

    Raises ``ValueError`` naming a study that doesn't have the attribute.
    """
    found = []
    for ctx in contexts:
        try:
            found.append(attribute_load(ctx.data.judgments, ctx.choices.by))
        except ValueError as error:
            raise ValueError(f"{ctx.study.slug}: {error}") from None
    names = sorted({name for one in found for name in one.names})
    place = {name: code for code, name in enumerate(names)}
    codes = [np.array([place[name] for name in one.names] + [-1], dtype=np.int32)[one.codes] for one in found]
    try:
        titles, cut = grouped_values(names, np.concatenate(codes))
    except ValueError as error:
        raise ValueError(f"{found[0].name}: {error}") from None
    ends = np.cumsum([code.size for code in codes])[:-1]
    for ctx, one, part in zip(contexts, found, np.split(cut, ends), strict=True):
        attribute = Attribute(one.name, one.of, tuple(titles), part.astype(np.int32))
        ctx.once(GROUPED, lambda attribute=attribute: attribute)  # type: ignore[misc]


def across_by_group(across: Across) -> Iterator[tuple[str, Across]]:
    """Each group's name, and the report across studies for its judgments only."""
    groups: dict[str, list[Context]] = {}
    for ctx in across.contexts:
        for name, part in contexts_by_group(ctx):
            groups.setdefault(name, []).append(part)
    for name in [*attribute_grouped(across.contexts[0]).names, NO_GROUP]:
        if name in groups:
            yield name, Across(groups[name], across.choices, whole=across)


def contexts_by_group(ctx: Context) -> Iterator[tuple[str, Context]]:
    """Each group's name, and the report's context for its judgments only; groups without a judgment are left out.

    Groups of raters keep the simulators, so that people of a group can be compared with them.
    """
    attribute = attribute_grouped(ctx)
    for code, name in [*enumerate(attribute.names), (-1, NO_GROUP)]:
        data = ctx.data.of_group(attribute, code)
        arms = _arms_of_group(ctx, attribute, code)
        raters = data.judgments.raters
        if len(data.judgments) and not (attribute.of == "raters" and raters.is_simulator.all()):
            yield (
                name,
                Context(
                    study=ctx.study,
                    choices=ctx.choices,
                    data=data,
                    progress=_about(ctx.progress, name),
                    whole=ctx,
                    arms=arms,
                ),
            )


def _arms_of_group(ctx: Context, attribute: Attribute, code: int) -> ArmRatings | None:
    """The ratings of one group in all arms. Raters who have judged in control arms only are in the group of their value."""
    if ctx.arms is None:
        return None
    if attribute.of == "raters":
        here, there = ctx.data.judgments.raters, ctx.arms.data.judgments.raters
        known = dict(zip(here.ids.tolist(), attribute.codes.tolist(), strict=True))
        values = attribute_load(ctx.arms.data.judgments, ctx.choices.by)
        of_value = {
            values.names[value]: known[pk]
            for pk, value in zip(there.ids.tolist(), values.codes.tolist(), strict=True)
            if pk in known and value >= 0
        }
        texts = [values.names[value] if value >= 0 else "" for value in values.codes.tolist()]
        codes = [
            known.get(pk, of_value.get(text, -1)) for pk, text in zip(there.ids.tolist(), texts, strict=True)
        ]
        attribute = replace(attribute, codes=np.array(codes, dtype=np.int32))
    return replace(ctx.arms, data=ctx.arms.data.of_group(attribute, code))


def _about(progress: Callable[[str], None], group: str) -> Callable[[str], None]:
    """Progress that names the group."""

    def told(text: str) -> None:
        progress(f"{text}, {group}")

    return told


def with_group_columns(
    whole: Mapping[str, Section], parts: Sequence[tuple[str, Mapping[str, Section]]], *, by: str
) -> dict[str, Section]:
    """The sections with columns for each group in every table, after those of the whole study.

    ``parts`` are the same sections of each group, by name. A row that only a group has comes last.
    """
    title = by.removeprefix(RATER)
    found = {}
    for name, section in whole.items():
        if name in WHOLE:
            found[name] = section
            continue
        tables = [
            (group, {block.id: block for block in sections[name].blocks if isinstance(block, Table)})
            for group, sections in parts
            if name in sections
        ]
        blocks = [
            _joined(block, [(f"{title} {group}", own[block.id]) for group, own in tables if block.id in own])
            if isinstance(block, Table)
            else block
            for block in section.blocks
        ]
        found[name] = replace(section, blocks=blocks)
    return found


def _joined(whole: Table, groups: Sequence[tuple[str, Table]]) -> Table:
    """A table followed by the columns of each group's table; rows are joined by their heads."""
    groups = [(name, table) for name, table in groups if list(table.head) == list(whole.head)]
    columns = list(whole.columns)
    for name, table in groups:
        columns += [
            TableColumn(column.label, " · ".join(filter(None, [name, column.group])))
            for column in table.columns
        ]
    tables = [whole, *(table for _, table in groups)]
    cells = [_rows(table) for table in tables]
    rows: dict[tuple[str, tuple[str, ...], int], TableRow] = {}
    for part in cells:
        rows = part | rows
    ordered = [*cells[0], *(key for key in rows if key not in cells[0])]
    joined = []
    for key in ordered:
        line: list[Cell] = []
        for part, table in zip(cells, tables, strict=True):
            line += part[key].cells if key in part else [ABSENT] * len(table.columns)
        joined.append(replace(rows[key], cells=line))
    return replace(whole, columns=columns, rows=joined)


def _rows(table: Table) -> dict[tuple[str, tuple[str, ...], int], TableRow]:
    """Rows by their group and head, and by how often that occurred before."""
    found: dict[tuple[str, tuple[str, ...], int], TableRow] = {}
    for row in table.rows:
        number = 0
        while (row.group, tuple(row.head), number) in found:
            number += 1
        found[row.group, tuple(row.head), number] = row
    return found
