"""P1 Table 6: are explanations of systems that are right more often also easier to simulate?"""

from __future__ import annotations

import numpy as np

from evaluation.metrics import mean_over_systems, per_explanation, task_accuracy
from evaluation.reports.choices import RESTRICTIONS
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.simulating import Judge, in_layout, of_instances, shared_instances
from evaluation.reports.words import CountedSentence, left_out, stated


@section(order=70, title="P1 Table 6: task accuracy and precision", measure="simulatability")
def p1_table6(ctx: Context) -> Section | None:
    """Each system's own accuracy on the starter questions beside its simulation precision, and both means."""
    rule = rule_of(ctx)
    tables = ctx.follow_ups(ctx.headline.name, rule)
    if not tables or not len(tables[0]):
        return None
    judge = Judge("", rule, tables)
    kept = judge
    if ctx.choices.restriction == "common":
        kept = judge.only(of_instances(shared_instances(judge)))
    counts = per_explanation(kept.tables[0])
    output, gold, instance, system = _starters(ctx, kept.tables[0].distinct("instance"))
    options = ctx.resampling
    accuracy = task_accuracy(output, gold, instance, system, **options)
    precision = mean_over_systems(
        counts.precision,
        counts.instance.tolist(),
        counts.system.tolist(),
        **options,
    )
    names = in_layout(ctx, sorted({*accuracy.systems, *precision.systems}))
    rows = [
        TableRow(
            [ctx.dataset, name],
            [
                Cell.of(found.systems[name], shape="percent", rule=used)
                if name in found.systems
                else Cell("–")
                for found, used in ((accuracy, ""), (precision, rule))
            ],
        )
        for name in names
    ]
    means = [
        Cell.of(accuracy.mean, shape="percent"),
        Cell.of(precision.mean, shape="percent", rule=rule),
    ]
    aside = left_out(accuracy.mean.left_out)
    return Section(
        id="p1-table-6",
        number="P1 Table 6",
        title="Task accuracy and precision",
        prose=[
            CountedSentence(
                f"Over the systems, the mean task accuracy is {stated(accuracy.mean, 'explanation', 'percent')} and the mean "
                f"simulation precision {stated(precision.mean, 'explanation', 'percent')}.",
                min(accuracy.mean.n, precision.mean.n),
            )
        ],
        blocks=[
            Table(
                id="p1-table-6",
                number="P1 Table 6",
                title="Task accuracy and simulation precision, % "
                f"({RESTRICTIONS[ctx.choices.restriction].lower()})",
                head=["Dataset", "System"],
                columns=[TableColumn("Task accuracy"), TableColumn("Simulation precision")],
                rows=[*rows, TableRow([ctx.dataset, "Mean over systems"], means)],
                notes=[
                    *([f"Of task accuracy, left out: {aside}."] if aside else []),
                    *ctx.compared_notes(ctx.headline.name),
                ],
            )
        ],
    )


def _starters(
    ctx: Context, instances: set[str]
) -> tuple[list[str | None], list[str | None], list[str], list[str]]:
    """Each explanation of these instances once: the system's own answer, the right one, instance and system."""
    items, in_play = ctx.data.judgments.items, ctx.data.judgments.in_play
    forced = items.system.among(ctx.forced_systems)
    among = items.instance_names.among(instances)
    explained = np.flatnonzero(in_play & (items.explanation >= 0) & ~forced & among)
    _, first = np.unique(items.explanation[explained], return_index=True)
    rows = explained[first]
    return (
        [value or None for value in items.output.take(rows).values()],
        [value or None for value in items.gold.take(rows).values()],
        items.instance_names.take(rows).values("").tolist(),
        items.system.take(rows).values("").tolist(),
    )
