"""P1 Table 4 for systems of one dataset that were judged in several studies, compared on their common instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from evaluation.metrics import FollowUps, compare_systems
from evaluation.reports.across_studies import Across, instance_keys, listed_titles
from evaluation.reports.columns import rule_of
from evaluation.reports.comparing import DIFFERENCE_COLUMNS, difference_cells
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section_across
from evaluation.reports.words import count, number

#: With more systems than this there would be too many pairs for a table, so there are no intervals and differences.
MOST = 12
COLUMNS = (
    "unit", "explanation", "instance", "system", "simulated", "real", "generator", "kind", "missing",
)  # fmt: skip


@section_across(order=42, title="P1 Table 4 across studies")
def p1_systems_across(across: Across) -> Section | None:
    """Each system's precision on the instances common to all of a dataset, and the paired differences."""
    blocks: list[Table] = []
    prose = []
    whole = across.whole or across
    for place, (dataset, every) in enumerate(_by_dataset(whole)):
        contexts = _of_studies(across, every)
        if not across.joins(contexts):
            continue
        table = pooled(contexts, named=_repeated_systems(every))
        if len(set(table.system)) < 2:
            continue
        resampling = across.resampling
        if len(set(table.system)) > MOST:
            resampling["rng"] = None
        found = compare_systems(table, **resampling)
        rule = rule_of(contexts[0])
        prose.append(
            f"{dataset}: {count(len(found.systems), 'system')} of {listed_titles(contexts)} share "
            f"{count(found.instances, 'instance')} on which precision is defined in all; {found.left_out:,} more have it in some."
        )
        blocks.append(_precision(2 * place, dataset, found, rule))
        if found.differences:
            blocks.append(_differences(2 * place + 1, dataset, found, rule))
    if not blocks:
        return None
    return Section(
        id="p1-systems-across",
        number="P1 Table 4",
        title="Systems compared across studies",
        prose=prose,
        blocks=blocks,
        notes=["Explanations of one system in two studies are distinguished by the study’s name."],
    )


def _by_dataset(across: Across) -> list[tuple[str, list[Context]]]:
    """Simulation studies of the same task type and dataset, if there are at least two, with the dataset's name."""
    found: list[list[Context]] = []
    for ctx in across.measuring("simulatability"):
        instances = set(instance_keys(ctx).values())
        for others in found:
            first = others[0]
            if first.hit_type.name == ctx.hit_type.name and instances & set(instance_keys(first).values()):
                others.append(ctx)
                break
        else:
            found.append([ctx])
    return [(several[0].dataset, several) for several in found if len(several) > 1]


def _of_studies(across: Across, contexts: list[Context]) -> list[Context]:
    """The same studies' contexts in this report, which may be one group of it."""
    wanted = {ctx.study.pk for ctx in contexts}
    return [ctx for ctx in across.contexts if ctx.study.pk in wanted]


def _repeated_systems(contexts: list[Context]) -> set[str]:
    """Systems that occur in two studies."""
    tables = [ctx.follow_ups(ctx.headline.name, rule_of(ctx))[0] for ctx in contexts]
    uses = Counter(system for table in tables for system in set(table.system))
    return {system for system, number in uses.items() if number > 1}


def pooled(contexts: list[Context], *, named: Collection[str]) -> FollowUps:
    """The studies' follow-ups in one table; the systems ``named`` after their study are counted as one in each."""
    tables = [ctx.follow_ups(ctx.headline.name, rule_of(ctx))[0] for ctx in contexts]
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        parts = []
        for ctx, table in zip(contexts, tables, strict=True):
            values: list[Any] = [None if v is None else str(v) for v in getattr(table, name)]
            if name in ("unit", "explanation"):
                values = [f"{ctx.study.pk}/{value}" for value in values]
            if name == "instance":
                known = instance_keys(ctx)
                values = [known.get(v, v) for v in values]
            if name == "system":
                values = [f"{v} ({ctx.study.title})" if v in named else v for v in values]
            parts += values
        columns[name] = parts
    return FollowUps(**columns, abstain=tables[0].abstain)


def _precision(place: int, dataset: str, found: Any, rule: str) -> Table:
    return Table(
        id=f"p1-systems-across-{place}",
        number="P1 Table 4",
        title=f"Simulation precision across studies, %: {dataset}",
        head=["System"],
        columns=[
            TableColumn("Common instances", "Macro precision"),
            TableColumn("All instances", "Macro precision"),
            TableColumn("Micro precision"),
            TableColumn("Simulatable"),
        ],
        rows=[
            TableRow(
                [name],
                [
                    Cell.of(value, shape="percent", rule=rule)
                    for value in (
                        found.common[name].precision,
                        found.unrestricted[name].precision,
                        found.unrestricted[name].precision_micro,
                        found.unrestricted[name].simulatable,
                    )
                ],
            )
            for name in found.systems
        ],
    )


def _differences(place: int, dataset: str, found: Any, rule: str) -> Table:
    rows = [
        TableRow([difference.first, difference.second], difference_cells(difference, rule))
        for difference in found.differences
    ]
    return Table(
        id=f"p1-systems-across-{place}",
        title=f"Simulation precision of every two systems, %: {dataset}",
        head=["First", "Second"],
        columns=DIFFERENCE_COLUMNS,
        rows=rows,
        notes=[f"On the {number(float(found.instances), 'count')} common instances, paired within instance."],
    )
