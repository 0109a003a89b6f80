"""P2 Tables 1, 3, 4, 5 and 6: simulatability on generation, through atomic units."""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.metrics import (
    Cosine,
    FollowUps,
    UnitSimulatability,
    UnitTable,
    generality,
    growth,
    parsing_quality,
    unit_simulatability,
    unit_simulatability_by_system,
)
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Column, Figure, Row, Section, Table
from evaluation.reports.context import Context
from evaluation.reports.encoders import encoder_of
from evaluation.reports.registry import section
from evaluation.reports.simulating import in_layout
from evaluation.reports.words import count, estimate, left_out

Labels = dict[tuple[int, str], str]


@section(order=40, title="P2 Tables 1 to 6: atomic units", hit_types=("atomic_units",))
def p2_tables(ctx: Context) -> Section | None:
    """Generality and precision by system, parsing quality, units present, growth with the number of follow-ups."""
    rule = rule_of(ctx)
    units = unit_table(ctx, rule)
    if not len(units):
        return None
    options: dict[str, Any] = {"rng": ctx.rng("p2"), "replicates": max(ctx.choices.replicates, 1)}
    whole = unit_simulatability(units, **options)
    by_system = unit_simulatability_by_system(units, **options)
    return Section(
        id="p2-tables",
        number="P2 Tables 1, 3–6",
        title="Simulatability through atomic units",
        prose=[
            f"Of {count(len(whole.per_counterfactual.status), 'follow-up')}, {estimate(whole.simulatable, 'percent')} hold all "
            "units of the explanation’s input side. In those, the system’s output holds "
            f"{estimate(whole.precision, 'percent')} of the units that the explanation promises."
        ],
        blocks=[
            _systems(ctx, whole, by_system, rule),
            _figure(by_system),
            _parsing(ctx, rule),
            _buckets(whole),
            _growth(ctx, whole.follow_ups()),
        ],
        notes=[
            f"{what}, left out: {left_out(found.left_out)}."
            for what, found in (("Precision", whole.precision), ("Simulatable", whole.simulatable))
            if found.left_out
        ],
    )


def unit_table(ctx: Context, rule: str) -> UnitTable:
    """One row a unit and follow-up; a unit asked about on one side only has that side's role."""
    sides = {name: _labels(ctx, name, rule) for name in ("in_input", "in_output")}
    asked = {name: _asked(ctx, name) for name in sides}
    keys = sorted(asked["in_input"] | asked["in_output"])
    items = ctx.data.judgments.items
    item = np.array([number for number, _ in keys], dtype=np.int64)
    texts = items.follow_up_texts() if keys else np.zeros(0, dtype=object)
    columns: dict[str, Any] = {
        "unit": [unit for _, unit in keys],
        "counterfactual": items.key.take(item).values("").tolist(),
        "explanation": items.explanation_names.take(item).values("not known").tolist(),
        "instance": items.instance_names.take(item).values("not known").tolist(),
        "system": items.system.take(item).values("not known").tolist(),
        "role": [_role(key in asked["in_input"], key in asked["in_output"]) for key in keys],
        **{name: [_truth(found.get(key)) for key in keys] for name, found in sides.items()},
        "text": [str(texts[number]) for number in item],
    }
    return UnitTable(**columns)


def _role(in_input: bool, in_output: bool) -> str:
    return "both" if in_input and in_output else "input" if in_input else "output"


def _truth(label: str | None) -> bool | None:
    return None if label is None else label == "yes"


def _labels(ctx: Context, variable: str, rule: str) -> Labels:
    """(item, unit) -> aggregated label, where there is one."""
    (found,) = ctx.labels(variable, rule)
    units = ctx.data.table(variable).units
    rows = zip(units.item.tolist(), units.suffix.values(""), found.value.tolist(), strict=True)
    return {(item, str(suffix)): found.labels[code] for item, suffix, code in rows if code >= 0}


def _asked(ctx: Context, variable: str) -> set[tuple[int, str]]:
    units = ctx.data.table(variable).units
    return {(item, str(s)) for item, s in zip(units.item.tolist(), units.suffix.values(""), strict=True)}


def _systems(
    ctx: Context, whole: UnitSimulatability, by_system: dict[str, UnitSimulatability], rule: str
) -> Table:
    cosine = Cosine(encoder_of(ctx.choices.encoder))
    rows = []
    for name in [*in_layout(ctx, list(by_system)), ""]:
        found = by_system[name] if name else whole
        spread = generality(
            found.follow_ups(),
            cosine,
            rng=ctx.rng(f"p2-table-1/{name}"),
            replicates=max(ctx.choices.replicates, 1),
        )
        cells = [Cell.of(spread.generality, rule=rule), Cell.of(found.precision, rule=rule)]
        cells += [Cell.of(found.precision_micro, rule=rule), Cell.of(found.simulatable, rule=rule)]
        cells += [Cell.count(found.precision.n), Cell.count(found.precision_micro.n)]
        rows.append(Row([ctx.dataset, name or "All"], cells))
    return Table(
        id="p2-table-1",
        number="P2 Tables 1 and 3",
        title="Generality and precision",
        head=["Task", "System"],
        columns=[
            Column("Generality"),
            Column("Precision"),
            Column("Precision, pooled"),
            Column("Simulatable"),
            Column("# Expl"),
            Column("# Samples"),
        ],
        rows=rows,
        notes=[
            f"Generality: one minus mean cosine of simulatable follow-ups; {cosine.name}, {cosine.version}."
        ],
    )


def _figure(by_system: dict[str, UnitSimulatability]) -> Figure:
    return Figure(
        id="p2-table-1-precision",
        title="Precision by system",
        alt="The precisions of P2 Table 1.",
        form="intervals",
        data={
            "x": "Precision",
            "domain": [0.0, 1.0],
            "points": [{"label": name, **found.precision.to_dict()} for name, found in by_system.items()],
        },
    )


def _parsing(ctx: Context, rule: str) -> Table:
    """An explanation is parsed wrongly where a unit is, and incompletely where a list is; judged once an explanation."""
    items = ctx.data.judgments.items
    faults: dict[str, list[str | None]] = {}
    for number, name in enumerate(("complete", "parsed")):
        labels, asked = _labels(ctx, name, rule), _asked(ctx, name)
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
        rng=ctx.rng("p2-table-4"),
        replicates=max(ctx.choices.replicates, 1),
    )
    rows = [Row(["Accuracy"], [Cell.of(quality.accuracy, rule=rule)])]
    for title, number in (
        ("Missing extraction", quality.missing),
        ("Incorrect extraction", quality.incorrect),
        ("Missing and incorrect extraction", quality.both),
    ):
        rows.append(Row([title], [Cell.count(number)]))
    return Table(
        id="p2-table-4",
        number="P2 Table 4",
        title="Parsing of explanations into units",
        head=["Parsed explanations"],
        columns=[Column(f"n = {quality.accuracy.n}")],
        rows=rows,
    )


def _buckets(found: UnitSimulatability) -> Table:
    rows = [Row([name], [Cell.count(number)]) for name, number in found.buckets.counts.items()]
    return Table(
        id="p2-table-5",
        number="P2 Table 5",
        title="Follow-ups by the share of the explanation’s units present in them",
        head=["Share of units present"],
        columns=[Column("Follow-ups")],
        rows=[*rows, Row(["Total"], [Cell.count(found.buckets.total)])],
        notes=["1.00 marks the simulatable ones."],
    )


def _growth(ctx: Context, follow_ups: FollowUps) -> Table:
    steps = growth(
        follow_ups,
        Cosine(encoder_of(ctx.choices.encoder)),
        rng=ctx.rng("p2-table-6"),
        replicates=max(ctx.choices.replicates, 1),
    )
    return Table(
        id="p2-table-6",
        number="P2 Table 6",
        title="Generality and simulatable follow-ups as their number grows",
        head=["Metric"],
        columns=[Column(str(step.size), "Follow-ups for each explanation, at most") for step in steps],
        rows=[
            Row(["Generality"], [Cell.of(step.generality.generality) for step in steps]),
            Row(["Simulatable follow-ups"], [Cell.count(step.simulatable) for step in steps]),
            Row(["All follow-ups"], [Cell.count(step.total) for step in steps]),
        ],
    )
