"""P3 Table 20 and Figure 4: do rationales help on generalization questions?"""

from __future__ import annotations

from evaluation.core.estimate import undefined
from evaluation.metrics import GeneralizationCell, generalization_accuracy, utility_classes
from evaluation.reports.columns import labelled_items
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.method_titles import GOLD, gold_first
from evaluation.reports.registry import section

CLASSES = {"useful": "Useful", "not useful": "Not useful", "unsure": "Unsure"}
#: Kinds of question, in the paper's order.
KINDS = ("rephrase", "counterfactual", "similar_reasoning")
COMBINED = "combined"
NAMES = ("before", "after", "follow_up_before", "follow_up_after")


@section(order=50, title="P3 Table 20: generalization questions", measure="generalization")
def p3_table20(ctx: Context) -> Section | None:
    """Accuracy on follow-ups by kind, system and the rationale's utility class, before and after, and the change."""
    rows = labelled_items(ctx, *NAMES)
    cells = generalization_accuracy(
        rows.label["follow_up_before"],
        rows.label["follow_up_after"],
        rows.follow_up_gold,
        rows.instance,
        rows.kind,
        rows.system,
        utility_classes(rows.label["before"], rows.label["after"], rows.gold),
        combine=_models(ctx, rows.system),
        combined_name=COMBINED,
        **ctx.resampling,
    )
    if not cells:
        return None
    cells = _in_paper_order(ctx, cells)
    return Section(
        id="p3-table-20",
        number="P3 Table 20, Figure 4",
        title="Generalization questions",
        blocks=[_table(cells, rows.rule), _figure(cells), _details(cells, rows.rule)],
        notes=[
            "The class is that of the original question’s rationale. The difference is paired, after minus before. "
            f"Labels are those of the rule {rows.rule}."
        ],
    )


def _in_paper_order(ctx: Context, cells: list[GeneralizationCell]) -> list[GeneralizationCell]:
    """By kind, then gold rationales, models and all models together, then the class."""
    combined = {cell.system for cell in cells} & {COMBINED}
    systems = gold_first({cell.system for cell in cells} - combined, ctx.data.judgments.items.systems)
    place = {name: number for number, name in enumerate([*KINDS, *systems, *combined, *CLASSES])}
    last = len(place)
    return sorted(
        cells, key=lambda cell: [place.get(one, last) for one in (cell.kind, cell.system, cell.utility_class)]
    )


def _models(ctx: Context, systems: list[str]) -> list[str]:
    """The systems that are models (not gold rationales), if there are several to pool."""
    methods = ctx.data.judgments.items.systems
    found = sorted({name for name in systems if methods.get(name, ("", ""))[1] != GOLD})
    return found if len(found) > 1 else []


def _title(kind: str) -> str:
    return kind.replace("_", " ").capitalize() or "Kind not known"


def _name(system: str) -> str:
    return "Combined (models)" if system == COMBINED else system


def _table(cells: list[GeneralizationCell], rule: str) -> Table:
    """The paper's layout: accuracy after the rationale, a column per utility class."""
    found = {(cell.kind, cell.system, cell.utility_class): cell.after for cell in cells}
    lines = dict.fromkeys((cell.kind, cell.system) for cell in cells)
    nothing = undefined("no question of this kind and class")
    return Table(
        id="p3-table-20",
        number="P3 Table 20",
        title="Accuracy on generalization questions after the rationale, %",
        head=["Type of question", "Model"],
        columns=[TableColumn(title, "Generalization accuracy") for title in CLASSES.values()],
        rows=[
            TableRow(
                [_title(kind), _name(system)],
                [
                    Cell.of(found.get((kind, system, name), nothing), shape="percent", rule=rule)
                    for name in CLASSES
                ],
            )
            for kind, system in lines
        ],
    )


def _details(cells: list[GeneralizationCell], rule: str) -> Table:
    return Table(
        id="p3-table-20-details",
        title="Accuracy on generalization questions before and after the rationale, %",
        head=["Rationales of", "Utility"],
        columns=[TableColumn("Before"), TableColumn("After"), TableColumn("Difference"), TableColumn("n")],
        rows=[
            TableRow(
                [_name(cell.system), cell.utility_class],
                [
                    *(
                        Cell.of(value, shape="percent", rule=rule)
                        for value in (cell.before, cell.after, cell.difference)
                    ),
                    Cell.count(cell.difference.n),
                ],
                group=_title(cell.kind),
            )
            for cell in cells
        ],
    )


def _figure(cells: list[GeneralizationCell]) -> Figure:
    return Figure(
        id="p3-figure-4",
        number="P3 Figure 4",
        title="Change of accuracy on generalization questions through the rationale",
        alt="The differences of P3 Table 20.",
        form="intervals",
        data={
            "x": "Accuracy after minus before, percentage points",
            "shape": "percent",
            "reference": {"value": 0.0, "label": "no change"},
            "points": [
                {
                    "label": f"{_name(cell.system)}, {cell.utility_class}",
                    "group": _title(cell.kind),
                    **cell.difference.to_dict(),
                }
                for cell in cells
            ],
        },
    )
