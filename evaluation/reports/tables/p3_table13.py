"""P3 Table 13 and Figure 7: properties of rationales, how often they are seen and how far annotators agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluation.metrics import PROPERTIES, PropertyRow, property_table
from evaluation.reports.by_system import alpha_of, of_system
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.helping import mean_of
from evaluation.reports.method_titles import gold_first
from evaluation.reports.registry import section


@dataclass(frozen=True, eq=False)
class _Property:
    """One property as one study judged it; ``title`` names the study if two studies judged the same property."""

    name: str
    title: str
    ctx: Context


@section(order=40, title="P3 Table 13: properties of rationales", measure="rationale_properties")
def p3_table13(ctx: Context) -> Section | None:
    """Alpha by property and system (Table 13), and the share of annotators who see each property (Figure 7)."""
    return properties_section([ctx])


def properties_section(contexts: Sequence[Context]) -> Section | None:
    """The section over one study or several: P3 judged each group of two properties in a separate study."""
    found = [
        (variable.name, ctx)
        for ctx in contexts
        for variable in ctx.data.variables
        if len(ctx.data.table(variable.name).ratings)
    ]
    if not found:
        return None
    found.sort(key=lambda one: PROPERTIES.index(one[0]) if one[0] in PROPERTIES else len(PROPERTIES))
    uses = Counter(name for name, _ in found)
    judged = [
        _Property(name, f"{name} ({ctx.study.title})" if uses[name] > 1 else name, ctx) for name, ctx in found
    ]
    rows = [row for one in judged for row in _rows(one)]
    known = {name: pair for ctx in contexts for name, pair in ctx.data.judgments.items.systems.items()}
    order = [*gold_first({row.system for row in rows} - {"all"}, known), "all"]
    return Section(
        id="p3-table-13",
        number="P3 Table 13, Figure 7",
        title="Properties of rationales",
        prose=[
            f"{len(judged)} properties were judged. A property’s prevalence is the mean over rationales of the share of "
            "annotators who see it."
        ],
        blocks=[_agreement(judged, order), _prevalence(rows, order), _figure(rows, order)],
    )


def _rows(one: _Property) -> list[PropertyRow]:
    found = one.ctx.data.table(one.name)
    names = found.ratings.units
    rows = property_table(
        {one.name: one.ctx.of_raters(found.ratings)},
        dict(zip(names, found.units.system.values("not known"), strict=True)),
        dict(zip(names, found.units.instance.values(""), strict=True)),
        **one.ctx.resampling,
    )
    return [replace(row, property=one.title) for row in rows]


def _title(name: str) -> str:
    return "All" if name == "all" else name


def _cells(rows: list[PropertyRow], order: list[str], property: str) -> list[PropertyRow | None]:
    found = {row.system: row for row in rows if row.property == property}
    return [found.get(system) for system in order]


def _agreement(judged: list[_Property], order: list[str]) -> Table:
    lines = []
    for system in order:
        only = "" if system == "all" else system
        found = [alpha_of(one.ctx, of_system(one.ctx, one.name, only)) for one in judged]
        cells = [Cell.of(value) for value in [*found, mean_of(found, "property’s α")]]
        lines.append(TableRow([_title(system)], cells))
    return Table(
        id="p3-table-13",
        number="P3 Table 13",
        title="Krippendorff’s α of each property",
        head=["Rationales of"],
        columns=[*(TableColumn(one.title.capitalize()) for one in judged), TableColumn("Average")],
        rows=lines,
        notes=["Average: the unweighted mean over the properties whose α is defined."],
    )


def _prevalence(rows: list[PropertyRow], order: list[str]) -> Table:
    properties = list(dict.fromkeys(row.property for row in rows))
    return Table(
        id="p3-figure-7",
        title="Prevalence of each property, % of annotators who see it",
        head=["Property"],
        columns=[TableColumn(_title(system)) for system in order],
        rows=[
            TableRow(
                [name.capitalize()],
                [
                    Cell.of(row.prevalence, shape="percent", rule="per_rater")
                    if row
                    else Cell(text="not judged")
                    for row in _cells(rows, order, name)
                ],
            )
            for name in properties
        ],
    )


def _figure(rows: list[PropertyRow], order: list[str]) -> Figure:
    return Figure(
        id="p3-figure-7-prevalence",
        number="P3 Figure 7",
        title="Properties of rationales by system",
        alt="The values of the table of prevalences.",
        form="intervals",
        data={
            "x": "% of annotators who see the property",
            "shape": "percent",
            "domain": [0.0, 1.0],
            "points": [
                {"label": _title(row.system), "group": row.property.capitalize(), **row.prevalence.to_dict()}
                for row in sorted(rows, key=lambda row: (row.property, order.index(row.system)))
            ],
        },
    )
