"""Labels collected elsewhere compared with correct ones, if the file had any."""

from __future__ import annotations

from typing import Any

import numpy as np

from annotator.hit_types.base import Variable
from annotator.models import Item
from evaluation.agreement.accuracy import Accuracy, accuracy
from evaluation.core.ratings_table import Codes
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.words import estimate

#: At most this many raters are listed.
LISTED = 100


@section(order=45, title="Accuracy against correct labels")
def accuracy_section(ctx: Context) -> Section | None:
    """One table for each variable that has correct labels; None if there is none."""
    blocks, prose = [], []
    for variable in ctx.data.variables:
        gold = gold_codes(ctx, variable.name)
        if gold is None:
            continue
        found = _of_people(ctx, variable, gold)
        blocks.append(_table(ctx, variable, gold, found))
        if found is not None:
            prose.append(
                f"On “{variable.title}”, {estimate(found.ratings, 'percent')} of the labels of {ctx.people} are correct."
            )
    return Section(id="accuracy", title="Accuracy", prose=prose, blocks=blocks) if blocks else None


def gold_codes(ctx: Context, variable: str) -> Codes | None:
    """Each unit's correct label as a code, -1 if it has none; None if no unit has one."""
    if not ctx.hit_type.external:
        return None

    def make() -> dict[str, Any]:
        rows = Item.objects.filter(study=ctx.study, gold__isnull=False).values_list("pk", "gold")
        return {str(pk): gold for pk, gold in rows.iterator(chunk_size=5_000)}

    gold = ctx.once("gold", make)
    if not gold:
        return None
    table = ctx.data.table(variable)
    place = {label: code for code, label in enumerate(table.ratings.labels)}
    ids = ctx.data.judgments.items.ids[table.units.item].tolist()
    names = [f"{variable}.{end}" if end else variable for end in table.units.suffix.values("")]
    found = [place.get(gold.get(str(pk), {}).get(name), -1) for pk, name in zip(ids, names, strict=True)]
    codes = np.array(found, dtype=np.int32)
    return codes if (codes >= 0).any() else None


def _of_people(ctx: Context, variable: Variable, gold: Codes) -> Accuracy | None:
    if ctx.only_simulators:
        return None
    (labels,) = ctx.labels(variable.name, rule_of(ctx))
    people = ctx.ratings(variable.name)
    people = people.where(~people.is_simulator[people.rater])
    wrong = ctx.choices.ties == "wrong"
    return accuracy(people, gold, labels=labels, ties_wrong=wrong, **ctx.resampling)


def _table(ctx: Context, variable: Variable, gold: Codes, found: Accuracy | None) -> Table:
    rows = []
    if found is not None and found.labels is not None:
        who = ctx.people.capitalize()
        rows.append(TableRow([f"{who}, one label a unit"], _cells(found.labels, rule_of(ctx))))
        rows.append(TableRow([f"{who}, single labels"], _cells(found.ratings, "per_rater")))
    ratings = ctx.ratings(variable.name)
    everyone = accuracy(ratings, gold, **ctx.resampling).raters
    for name in ctx.simulators:
        if name in everyone:
            rows.append(TableRow([name], _cells(everyone[name], f"single:{name}"), group="Simulators"))
    people = [name for name in everyone if name not in ratings.simulators]
    if 1 < len(people) <= LISTED:
        rows += [
            TableRow([name], _cells(everyone[name], f"single:{name}"), group="Raters") for name in people
        ]
    return Table(
        id=f"accuracy-{variable.name}",
        title=f"Accuracy on “{variable.title}” against the correct labels, %",
        head=["Labels of"],
        columns=[TableColumn("% correct"), TableColumn("Labels")],
        rows=rows,
        notes=["Units on which raters tie count as wrong."] if ctx.choices.ties == "wrong" else [],
    )


def _cells(found: Any, rule: str) -> list[Cell]:
    return [Cell.of(found, shape="percent", rule=rule), Cell.count(found.n)]
