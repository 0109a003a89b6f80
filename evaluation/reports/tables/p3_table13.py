"""P3 Table 13 and Figure 7: properties of rationales, how often they are seen and how far annotators agree."""

from __future__ import annotations

from evaluation.metrics import PropertyRow, property_table
from evaluation.ratings import Ratings
from evaluation.reports.by_system import alpha_of, of_system
from evaluation.reports.content import Cell, Column, Figure, Row, Section, Table
from evaluation.reports.context import Context
from evaluation.reports.helping import mean_of
from evaluation.reports.registry import section


@section(order=40, title="P3 Table 13: properties of rationales", hit_types=("rationale_properties",))
def p3_table13(ctx: Context) -> Section | None:
    """Alpha by property and system (Table 13), and the share of annotators who see each property (Figure 7)."""
    tables: dict[str, Ratings] = {}
    systems: dict[str, str] = {}
    instances: dict[str, str] = {}
    for variable in ctx.hit_type.variables:
        found = ctx.data.table(variable.name)
        if not len(found.ratings):
            continue
        names = found.ratings.units
        tables[variable.name] = found.ratings.people()
        systems |= dict(zip(names, found.units.system.values("not known"), strict=True))
        instances |= dict(zip(names, found.units.instance.values(""), strict=True))
    if not tables:
        return None
    rows = property_table(
        tables, systems, instances, rng=ctx.rng("p3-figure-7"), replicates=max(ctx.choices.replicates, 1)
    )
    order = [*sorted({row.system for row in rows} - {"all"}), "all"]
    return Section(
        id="p3-table-13",
        number="P3 Table 13, Figure 7",
        title="Properties of rationales",
        prose=[
            f"{len(tables)} properties were judged. A property’s prevalence is the mean over rationales of the share of "
            "annotators who see it."
        ],
        blocks=[_agreement(ctx, tables, order), _prevalence(ctx, rows, order), _figure(rows, order)],
    )


def _title(name: str) -> str:
    return "All" if name == "all" else name


def _cells(rows: list[PropertyRow], order: list[str], property: str) -> list[PropertyRow | None]:
    found = {row.system: row for row in rows if row.property == property}
    return [found.get(system) for system in order]


def _agreement(ctx: Context, tables: dict[str, Ratings], order: list[str]) -> Table:
    lines = []
    for system in order:
        only = "" if system == "all" else system
        found = [alpha_of(ctx, of_system(ctx, name, only), f"p3-13/{name}/{system}") for name in tables]
        cells = [Cell.of(one, rule="each annotator") for one in [*found, mean_of(found, "property’s α")]]
        lines.append(Row([_title(system)], cells))
    return Table(
        id="p3-table-13",
        number="P3 Table 13",
        title="Krippendorff’s α of each property",
        head=["Rationales of"],
        columns=[*(Column(name.capitalize()) for name in tables), Column("Average")],
        rows=lines,
        notes=["Average: the unweighted mean over the properties whose α is defined."],
    )


def _prevalence(ctx: Context, rows: list[PropertyRow], order: list[str]) -> Table:
    properties = list(dict.fromkeys(row.property for row in rows))
    return Table(
        id="p3-figure-7",
        title="Prevalence of each property, % of annotators who see it",
        head=["Property"],
        columns=[Column(_title(system)) for system in order],
        rows=[
            Row(
                [name.capitalize()],
                [
                    Cell.of(row.prevalence, shape="percent") if row else Cell(text="not judged")
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
