"""P1 Table 4: simulation precision of each system."""

from __future__ import annotations

from evaluation.core.estimate import Estimate
from evaluation.metrics import Simulatability
from evaluation.reports.choices import RESTRICTIONS
from evaluation.reports.content import Cell, Column, Figure, Row, Section, Table
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.simulating import (
    Judge,
    in_layout,
    judges,
    measure,
    of_instances,
    of_system,
    shared_instances,
    system_columns,
)
from evaluation.reports.words import count, estimate, left_out


@section(order=40, title="P1 Table 4: simulation precision", measure="simulatability")
def p1_table4(ctx: Context) -> Section | None:
    """Precision by system on common and on all instances, macro and micro, with the simulatable share."""
    found = [judge for judge in judges(ctx) if judge.systems]
    if not found:
        return None
    measured = [_Measured(ctx, judge) for judge in found]
    first = measured[0]
    return Section(
        id="p1-table-4",
        number="P1 Table 4",
        title="Simulation precision",
        prose=_prose(ctx, first),
        blocks=[_paper_table(ctx, measured), _figure(ctx, measured), _details(ctx, measured)],
        notes=_notes(first),
    )


class _Measured:
    """A judge's figures of all systems together and of each, on common instances and on all."""

    def __init__(self, ctx: Context, judge: Judge):
        self.judge = judge
        self.systems = in_layout(ctx, judge.systems)
        self.instances = shared_instances(judge)
        self.seen = len(set(judge.tables[0].instance))
        inside = judge.only(of_instances(self.instances))
        self.common = {s: self._measure(ctx, inside, s, "common") for s in self.systems}
        self.all = {s: self._measure(ctx, judge, s, "all") for s in self.systems}
        self.together = measure(ctx, judge, f"p1-table-4/{judge.name}")

    def _measure(self, ctx: Context, judge: Judge, system: str, where: str) -> Simulatability:
        name = f"p1-table-4/{self.judge.name}/{where}/{system}"
        return measure(ctx, judge.only(of_system(system)), name)

    def headline(self, ctx: Context, system: str) -> Estimate:
        chosen = self.common if ctx.choices.restriction == "common" else self.all
        return chosen[system].precision


def _prose(ctx: Context, found: _Measured) -> list[str]:
    whole = found.together
    text = (
        f"On all systems together, {found.judge.name.lower()} foretold the real output with a precision of "
        f"{estimate(whole.precision, 'percent')} (mean over {count(whole.precision.n, 'explanation')}; "
        f"pooled over follow-ups {estimate(whole.precision_micro, 'percent')}). "
        f"Of the labelled follow-ups, {estimate(whole.simulatable, 'percent')} could be simulated."
    )
    if len(found.systems) < 2:
        return [text]
    return [
        text,
        f"Precision is defined in all {len(found.systems)} systems on {count(len(found.instances), 'instance')} "
        f"of {found.seen:,}; systems are compared on {'those' if ctx.choices.restriction == 'common' else 'all'}.",
    ]


def _paper_table(ctx: Context, measured: list[_Measured]) -> Table:
    systems = measured[0].systems
    rows = [
        Row(
            [ctx.dataset, found.judge.name],
            [Cell.of(found.headline(ctx, s), shape="percent", rule=found.judge.rule) for s in systems],
        )
        for found in measured
        if found.systems == systems
    ]
    return Table(
        id="p1-table-4",
        number="P1 Table 4",
        title=f"Simulation precision, % ({RESTRICTIONS[ctx.choices.restriction].lower()})",
        head=["Dataset", "Simulated by"],
        columns=system_columns(ctx, systems),
        rows=rows,
        notes=[
            "Macro average: the mean over explanations with at least one follow-up that could be simulated.",
            *ctx.compared_notes(ctx.headline.name),
        ],
    )


def _figure(ctx: Context, measured: list[_Measured]) -> Figure:
    several = len(measured) > 1
    points = [
        {
            "label": system,
            "group": found.judge.name if several else "",
            **found.headline(ctx, system).to_dict(),
        }
        for found in measured
        for system in found.systems
    ]
    return Figure(
        id="p1-table-4-precision",
        title="Simulation precision by system",
        alt="The values of P1 Table 4 with their intervals.",
        form="intervals",
        data={"x": "Simulation precision, %", "shape": "percent", "points": points},
    )


def _details(ctx: Context, measured: list[_Measured]) -> Table:
    rows = []
    for found in measured:
        rule = found.judge.rule
        for system in found.systems:
            common, everywhere = found.common[system], found.all[system]
            shares = [
                common.precision,
                everywhere.precision,
                everywhere.precision_micro,
                everywhere.simulatable,
            ]
            cells = [Cell.of(value, shape="percent", rule=rule) for value in shares]
            cells += [Cell.of(everywhere.unanswered, shape="percent", rule=rule)]
            cells += [Cell.count(everywhere.precision.n), Cell.count(everywhere.simulatable.n)]
            rows.append(Row([system], cells, group=found.judge.name))
    return Table(
        id="p1-table-4-details",
        title="Precision and simulatable share of each system, %",
        head=["System"],
        columns=[
            Column("Common instances", "Macro precision"),
            Column("All instances", "Macro precision"),
            Column("Micro precision"),
            Column("Simulatable"),
            Column("No answer"),
            Column("Explanations"),
            Column("Follow-ups"),
        ],
        rows=rows,
        notes=[
            "Explanations and follow-ups are the denominators of macro precision and simulatable share.",
            "No answer: follow-ups behind micro precision that the system refused or answered with neither answer. "
            "No prediction of them is right, so they count as wrong.",
        ],
    )


def _notes(found: _Measured) -> list[str]:
    aside = {
        "Of macro precision": found.together.precision.left_out,
        "Of micro precision": found.together.precision_micro.left_out,
        "Of the simulatable share": found.together.simulatable.left_out,
    }
    return [f"{what}, left out: {left_out(counts)}." for what, counts in aside.items() if counts]
