"""How a pipeline made the study's material: the recipe's choices, and steps with losses."""

from __future__ import annotations

from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.selectors.pipeline import pipeline_behind


@section(order=12, title="How the material was made")
def material(ctx: Context) -> Section | None:
    """The recipe with its choices, and every step with failed calls, duplicates or nothing to do."""
    found = pipeline_behind(study=ctx.study)
    if found is None:
        return None
    pipeline, steps = found
    lost = [step for step in steps if step.failed or step.unparsable or step.duplicates or step.left_out]
    calls = sum(step.calls for step in steps)
    failed = sum(step.failed + step.unparsable for step in steps)
    return Section(
        id="material",
        title="How the material was made",
        prose=[
            f"By the recipe {pipeline.recipe}, in {len(steps)} steps with {calls:,} model calls, of which {failed:,} gave "
            "nothing that could be used."
        ],
        blocks=[
            Table(
                id="material-steps",
                title="Steps that lost something or were left out",
                head=["Step"],
                columns=[
                    TableColumn("Calls"),
                    TableColumn("Failed"),
                    TableColumn("Not parsable"),
                    TableColumn("Duplicates dropped"),
                    TableColumn("Note"),
                ],
                rows=[
                    TableRow(
                        [step.name],
                        [
                            *(
                                Cell.count(n)
                                for n in (step.calls, step.failed, step.unparsable, step.duplicates)
                            ),
                            Cell(f"left out: {step.left_out}" if step.left_out else ""),
                        ],
                    )
                    for step in lost
                ],
            )
        ]
        if lost
        else [],
        notes=[str(choice) for choice in pipeline.recipe.content.get("choices", [])],
    )
