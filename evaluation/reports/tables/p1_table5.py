"""P1 Table 5: is generality correlated with precision?"""

from __future__ import annotations

from evaluation.metrics import (
    Cosine,
    all_similarities,
    generality,
    per_explanation,
    within_instance_correlation,
)
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.encoders import cosine_title, report_encoder
from evaluation.reports.registry import section
from evaluation.reports.tables.p1_table1 import COLUMNS, part_of
from evaluation.reports.words import left_out


@section(order=65, title="P1 Table 5: generality and precision", measure="simulatability")
def p1_table5(ctx: Context) -> Section | None:
    """Correlation of generality with precision over the systems of an instance, then the mean over instances."""
    rule = rule_of(ctx)
    tables = ctx.follow_ups(ctx.headline.name, rule)
    if not tables or len(tables[0].distinct("system")) < 2:
        return None
    table, sampled = part_of(ctx, tables[0])
    counts = per_explanation(table)
    cells: dict[str, list[Cell]] = {"Pearson": [], "Spearman": []}
    notes = []
    versions = []
    for key, similarity in all_similarities(Cosine(report_encoder(ctx))).items():
        found = generality(table, similarity)
        versions.append(f"{COLUMNS[key]}: {found.similarity}, {found.version}.")
        correlation = within_instance_correlation(
            found.values,
            counts.precision,
            counts.instance.tolist(),
            names=("generality", "precision"),
            **ctx.resampling,
        )
        cells["Pearson"].append(Cell.of(correlation.pearson, rule=rule))
        cells["Spearman"].append(Cell.of(correlation.spearman, rule=rule))
        if correlation.pearson.left_out:
            notes.append(f"{COLUMNS[key]}, instances left out: {left_out(correlation.pearson.left_out)}.")
    return Section(
        id="p1-table-5",
        number="P1 Table 5",
        title="Generality and precision",
        blocks=[
            Table(
                id="p1-table-5",
                number="P1 Table 5",
                title="Correlation of simulation generality with simulation precision"
                + cosine_title(report_encoder(ctx)),
                head=["Dataset", "Correlation"],
                columns=[TableColumn(title) for title in COLUMNS.values()],
                rows=[TableRow([ctx.dataset, name], values) for name, values in cells.items()],
                notes=[
                    "Over the systems of one instance, then the mean over instances.",
                    *ctx.compared_notes(ctx.headline.name),
                    *sampled,
                    *versions,
                ],
            )
        ],
        notes=notes,
    )
