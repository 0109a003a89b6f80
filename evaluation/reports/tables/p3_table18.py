"""P3 Table 18: do annotators agree on their answers, before and after they have read each system's rationale?"""

from __future__ import annotations

from evaluation.reports.by_system import alpha_of, of_system, systems_of
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section


@section(order=45, title="P3 Table 18: agreement by system", measure="utility")
def p3_table18(ctx: Context) -> Section | None:
    """Krippendorff's alpha of the answers before and after, by system and of all together."""
    systems = systems_of(ctx, "after")
    if not systems:
        return None
    rows = [
        TableRow(
            [title],
            [Cell.of(alpha_of(ctx, of_system(ctx, variable, s))) for s in [*systems, ""]],
        )
        for variable, title in (("before", "Before the rationale"), ("after", "After the rationale"))
    ]
    return Section(
        id="p3-table-18",
        number="P3 Table 18",
        title="Agreement by system",
        blocks=[
            Table(
                id="p3-table-18",
                number="P3 Table 18",
                title="Krippendorff’s α of the answers",
                head=["Answer"],
                columns=[*(TableColumn(system) for system in systems), TableColumn("All")],
                rows=rows,
                notes=[f"Nominal α over {ctx.people}; intervals draw instances."],
            )
        ],
    )
