"""P1 Table 3: does a simulator agree with people as people agree with each other?"""

from __future__ import annotations

from evaluation.reports.choices import LABEL_SETS
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.words import CountedSentence, listed, stated


@section(order=30, title="P1 Table 3: simulators as proxies of people", measure="simulatability")
def p1_table3(ctx: Context) -> Section | None:
    """Mean Cohen's kappa of people with people and of people with each simulator, by label set."""
    if not ctx.simulators or ctx.only_simulators:
        return None
    variable = ctx.headline
    sets = ["all", "statements"] if variable.abstain else ["all"]
    rows = []
    for name in sets:
        found = ctx.agreement(variable.name, name)
        values = [found.human_human, *(found.human_simulator[s] for s in ctx.simulators)]
        rows.append(TableRow([ctx.dataset, LABEL_SETS[name]], [Cell.of(value) for value in values]))
    chosen = ctx.agreement(variable.name, ctx.choices.labels if ctx.choices.labels in sets else "all")
    closest = [
        f"{name} {stated(value, 'pair')}" for name, value in chosen.human_simulator.items() if value.defined
    ]
    text = f"{ctx.people.capitalize()} agree with each other at κ {stated(chosen.human_human, 'pair')}"
    prose = [CountedSentence(text + (f", and with {listed(closest)}." if closest else "."), chosen.percent.n)]
    return Section(
        id="p1-table-3",
        number="P1 Table 3",
        title="Simulators as proxies of people",
        prose=prose,
        blocks=[
            Table(
                id="p1-table-3",
                number="P1 Table 3",
                title="Agreement between people, and between people and each simulator",
                head=["Dataset", "Labels"],
                columns=[TableColumn("H–H"), *(TableColumn(f"H–{name}") for name in ctx.simulators)],
                rows=rows,
                notes=[
                    f"H: {ctx.people}. Mean Cohen’s κ over pairs of raters that share at least "
                    f"{ctx.choices.min_overlap} items. The values are plain κ, not divided by that of people."
                ],
            )
        ],
    )
