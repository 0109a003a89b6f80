"""P2 Tables 4, 5 and 6: parsing, units present in follow-ups, growth with the number of follow-ups."""

from __future__ import annotations

from collections.abc import Callable

from evaluation.metrics import (
    Cosine,
    FollowUps,
    Growth,
    UnitSimulatability,
    growth,
    parsing_quality,
    unit_simulatability,
)
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.encoders import cosine_title, report_encoder
from evaluation.reports.registry import section
from evaluation.reports.unit_labels import annotators, asked_of, is_sanity, labels_of, of_systems, unit_table


@section(order=50, title="P2 Tables 4, 5 and 6: atomic units", measure="unit_presence")
def p2_tables(ctx: Context) -> Section | None:
    """Parsing quality, the share of units present, and growth with the number of follow-ups."""
    who = annotators(ctx)
    if not who:
        return None
    rule = who[0].rule
    units = unit_table(ctx, rule)
    kept = {system for system in set(units.system) if not is_sanity(ctx, system)}
    if not kept:
        return None
    whole = unit_simulatability(of_systems(units, kept))
    return Section(
        id="p2-tables",
        number="P2 Tables 4–6",
        title="Atomic units and follow-ups",
        prose=[f"Annotated by {who[0].name.lower()}."],
        blocks=[_parsing(ctx, rule), _buckets(ctx, whole), _growth(ctx, whole.follow_ups())],
    )


def _parsing(ctx: Context, rule: str) -> Table:
    """An explanation is parsed wrongly if one of its units is, and incompletely if one of its lists is; judged once per
    explanation."""
    items = ctx.data.judgments.items
    faults: dict[str, list[str | None]] = {}
    for number, name in enumerate(("complete", "parsed")):
        labels, asked = labels_of(ctx, name, rule), asked_of(ctx, name)
        for item, suffix in sorted(asked):
            key = str(items.explanation[item]) if items.explanation[item] >= 0 else f"item {item}"
            found = faults.setdefault(key, ["", "", str(items.instance[item])])
            label = labels.get((item, suffix))
            if label is None and found[number] != "no":
                found[number] = None
            elif label == "no":
                found[number] = "no"
    quality = parsing_quality(
        [None if f[0] is None else f[0] == "no" for f in faults.values()],
        [None if f[1] is None else f[1] == "no" for f in faults.values()],
        [str(f[2]) for f in faults.values()],
        **ctx.resampling,
    )
    rows = [TableRow(["Accuracy"], [Cell.of(quality.accuracy, rule=rule)])]
    for title, number in (
        ("Missing extraction", quality.missing),
        ("Incorrect extraction", quality.incorrect),
        ("Missing and incorrect extraction", quality.both),
    ):
        rows.append(TableRow([title], [Cell.count(number)]))
    return Table(
        id="p2-table-4",
        number="P2 Table 4",
        title="Parsing of explanations into units",
        head=["Parsed explanations"],
        columns=[TableColumn(f"n = {quality.accuracy.n}", ctx.dataset)],
        rows=rows,
        notes=["The three lines below accuracy divide the explanations that were not parsed correctly."],
        beside=True,
    )


def _buckets(ctx: Context, found: UnitSimulatability) -> Table:
    rows = [TableRow([name], [Cell.count(number)]) for name, number in found.buckets.counts.items()]
    return Table(
        id="p2-table-5",
        number="P2 Table 5",
        title="Follow-ups by the share of the explanation’s units present in them",
        head=["Share of units present"],
        columns=[TableColumn("Follow-ups", ctx.dataset)],
        rows=[*rows, TableRow(["Total"], [Cell.count(found.buckets.total)])],
        notes=["1.00 marks the simulatable ones. The total is the sum of the lines above."],
        beside=True,
    )


_GROWING: dict[str, Callable[[Growth], Cell]] = {
    "Generality": lambda step: Cell.of(step.generality.generality),
    "Simulatable follow-ups": lambda step: Cell.count(step.simulatable),
    "All follow-ups": lambda step: Cell.count(step.total),
}


def _growth(ctx: Context, follow_ups: FollowUps) -> Table:
    cosine = Cosine(report_encoder(ctx))
    steps = growth(
        follow_ups,
        cosine,
        **ctx.resampling,
    )
    return Table(
        id="p2-table-6",
        number="P2 Table 6",
        title="Generality and simulatable follow-ups as their number grows"
        + cosine_title(report_encoder(ctx)),
        head=["Task", "Metric"],
        columns=[TableColumn(str(step.size), "Follow-ups for each explanation, at most") for step in steps],
        rows=[
            TableRow(
                [ctx.dataset, title],
                [cell(step) if step.reached else Cell(text="–") for step in steps],
            )
            for title, cell in _GROWING.items()
        ],
        notes=[
            f"Generality: one minus mean cosine; {cosine.name}, {cosine.version}.",
            *(
                ["–: no explanation has more follow-ups than in the column before."]
                if not all(step.reached for step in steps)
                else []
            ),
        ],
    )
