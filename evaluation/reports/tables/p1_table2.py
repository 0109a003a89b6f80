"""P1 Table 2, and every two systems compared: paired differences of precision, with intervals and p values."""

from __future__ import annotations

import numpy as np

from evaluation.metrics.paired import (
    PairedDifference,
    all_pairs,
    normal_against_forced,
    precision_by_instance,
)
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.simulating import in_layout
from evaluation.reports.words import estimate, number

#: With more systems than this there would be too many pairs for a table.
MOST = 12


@section(order=50, title="P1 Table 2: systems compared", measure="simulatability")
def p1_table2(ctx: Context) -> Section | None:
    """Normal compared with forced explanations of one model, and precision of every two systems, instance by instance."""
    rule = rule_of(ctx)
    tables = ctx.follow_ups(ctx.headline.name, rule, forced=True)
    everyone = in_layout(ctx, sorted(set(tables[0].system) - {""})) if tables else []
    if len(everyone) < 2 or len(everyone) > MOST:
        return None
    table = tables[0]
    systems = [name for name in everyone if name not in ctx.forced_systems]
    # Without intervals the permutation test still needs a generator.
    rng, replicates = np.random.default_rng(ctx.choices.seed), ctx.choices.replicates
    values = {name: precision_by_instance(table.where("system", name)) for name in systems}
    if ctx.choices.restriction == "common":
        shared = set.intersection(*(set(found) for found in values.values()))
        values = {name: {k: v for k, v in found.items() if k in shared} for name, found in values.items()}
    pairs = all_pairs(values, rng=rng, replicates=replicates)
    forced = [
        normal_against_forced(table, a, b, _right(ctx, a), rng=rng, replicates=replicates)
        for a, b in _forced(ctx, everyone)
    ]
    blocks: list[Table | Figure] = [_forced_table(ctx, forced, rule)] if forced else []
    blocks += [_pairs_table(pairs, rule), _figure(pairs)] if pairs else []
    return Section(
        id="p1-table-2",
        number="P1 Table 2" if forced else "",
        title="Systems compared",
        prose=[_sentence(one) for one in (forced or pairs[:1])],
        blocks=blocks,
        notes=[
            "Differences are means over instances of the first system’s precision minus the second’s. p: permutation of "
            "the two within instances, after Holm’s correction over all pairs; p of the paired t-test, which the paper "
            "used, is shown beside it uncorrected.",
            *ctx.compared_notes(ctx.headline.name),
        ],
    )


def _forced(ctx: Context, systems: list[str]) -> list[tuple[str, str]]:
    """(normal, forced) systems of one model: methods named post-hoc and forced."""
    known = ctx.data.judgments.items.systems
    found = {known.get(name, ("", "")): name for name in systems}
    return [
        (found[(model, normal)], name)
        for (model, method), name in found.items()
        if method.lower().startswith("forced")
        for normal in {m for o, m in found if o == model and m.lower().startswith("post")}
    ]


def _right(ctx: Context, system: str) -> set[str]:
    """Instances that the system answers correctly."""
    items = ctx.data.judgments.items
    rows = zip(
        items.instance_names.values(""),
        items.system.values(""),
        items.output.values(),
        items.gold.values(),
        strict=True,
    )
    return {instance for instance, name, output, gold in rows if name == system and output and output == gold}


def _sentence(one: PairedDifference) -> str:
    return (
        f"{one.first} has a precision of {estimate(one.first_mean, 'percent')}, {one.second} of "
        f"{estimate(one.second_mean, 'percent')}: a difference of {estimate(one.difference, 'percent')}."
    )


def _cells(one: PairedDifference, rule: str) -> list[Cell]:
    return [
        Cell.of(value, shape="percent", rule=rule)
        for value in (one.first_mean, one.second_mean, one.difference)
    ]


def _p(value: float, n: int) -> Cell:
    return Cell.number(value, shape="p", n=n, reason="no difference that could be tested")


def _forced_table(ctx: Context, forced: list[PairedDifference], rule: str) -> Table:
    return Table(
        id="p1-table-2",
        number="P1 Table 2",
        title="Normal against forced explanations: simulation precision, %",
        head=["Dataset", "System"],
        columns=[TableColumn("Normal"), TableColumn("Forced"), TableColumn("Δ"), TableColumn("p")],
        rows=[
            TableRow([ctx.dataset, one.first], [*_cells(one, rule), _p(one.p_permutation, one.difference.n)])
            for one in forced
        ],
        notes=["Only instances that the system answers correctly under normal prompting."],
    )


def _pairs_table(pairs: tuple[PairedDifference, ...], rule: str) -> Table:
    return Table(
        id="systems-compared",
        title="Simulation precision of every two systems, %, on the instances where both are defined",
        head=["First", "Second"],
        columns=[
            TableColumn("First"),
            TableColumn("Second"),
            TableColumn("Difference"),
            TableColumn("p (Holm)"),
            TableColumn("p (t-test)"),
            TableColumn("Instances"),
        ],
        rows=[
            TableRow(
                [one.first, one.second],
                [
                    *_cells(one, rule),
                    _p(one.p_holm, one.difference.n),
                    _p(one.p_t, one.difference.n),
                    Cell.count(one.difference.n),
                ],
            )
            for one in pairs
        ],
    )


def _figure(pairs: tuple[PairedDifference, ...]) -> Figure:
    return Figure(
        id="systems-compared-differences",
        title="Paired differences of precision",
        alt="; ".join(
            f"{one.first} minus {one.second}: {number(one.difference.value, 'percent')}" for one in pairs
        ),
        form="intervals",
        data={
            "x": "Difference of precision, percentage points",
            "shape": "percent",
            "reference": {"value": 0.0, "label": "no difference"},
            "points": [{"label": f"{one.first} – {one.second}", **one.difference.to_dict()} for one in pairs],
        },
    )
