"""P3 Table 4: do the usual measures of a system tell whether its rationales help people?"""

from __future__ import annotations

from evaluation.metrics import theils_u, utility_classes
from evaluation.reports.columns import labelled_items
from evaluation.reports.content import Cell, Column, Row, Section, Table
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.words import estimate


@section(order=50, title="P3 Table 4: task performance and utility", hit_types=("utility",))
def p3_table4(ctx: Context) -> Section | None:
    """Theil's U of utility given whether the system's own answer was right, overall and by system."""
    rows = labelled_items(ctx, "before", "after")
    if not rows.instance:
        return None
    classes = utility_classes(rows.label["before"], rows.label["after"], rows.gold)
    right = [None if not o or not g else str(o == g) for o, g in zip(rows.output, rows.gold, strict=True)]
    cells = []
    systems = ["", *sorted(set(rows.system))]
    for name in systems:
        kept = [i for i, system in enumerate(rows.system) if name in ("", system)]
        found = theils_u(
            [classes[i] for i in kept],
            [right[i] for i in kept],
            clusters=[rows.instance[i] for i in kept],
            rng=ctx.rng(f"p3-table-4/{name}"),
            replicates=max(ctx.choices.replicates, 1),
        )
        cells.append(Cell.of(found, rule=rows.rule))
    whole = cells[0].estimate
    return Section(
        id="p3-table-4",
        number="P3 Table 4",
        title="Task performance and utility",
        prose=[f"Knowing whether the system was right tells a share of {estimate(whole)} about utility."]
        if whole and whole.defined
        else [],
        blocks=[
            Table(
                id="p3-table-4",
                number="P3 Table 4",
                title="Theil’s U of human utility given task accuracy",
                head=["Dataset", "Type"],
                columns=[Column(name if name else "Overall") for name in systems],
                rows=[Row([ctx.dataset, "Task accuracy"], cells)],
                notes=[
                    "U(utility | accuracy): the share of the entropy of utility that accuracy takes away, from 0 to 1."
                ],
            )
        ],
    )
