"""One label a unit beside what the unit is about: the columns that P2's and P3's metrics take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.reports.context import Context

Column = list[Any]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Items in play as rows: ``label`` maps a variable to its aggregated labels (None where there is none).

    ``rule`` is the rule that was used: majority where the chosen one gives a table a rater.
    """

    rule: str
    item: np.ndarray
    label: dict[str, Column]
    instance: Column
    system: Column
    gold: Column
    follow_up_gold: Column
    kind: Column
    output: Column

    def known(self, *names: str) -> np.ndarray:
        """Rows in which somebody was asked about any of these variables."""
        return np.array([any(row) for row in zip(*(self.label[n] for n in names), strict=True)], dtype=bool)


def labelled_items(ctx: Context, *variables: str) -> Labelled:
    """One row an item in play, with people's aggregated label on each variable; units must be whole items."""
    judgments = ctx.data.judgments
    items = judgments.items
    rows = np.flatnonzero(judgments.in_play)
    rule = rule_of(ctx)
    labels: dict[str, Column] = {}
    for variable in variables:
        (found,) = ctx.labels(variable, rule)
        by_item = np.full(len(items), -1, dtype=np.int64)
        by_item[ctx.data.table(variable).units.item] = found.value
        names = np.array([*found.labels, None], dtype=object)
        labels[variable] = names[by_item[rows]].tolist()
    return Labelled(
        rule=rule,
        item=rows,
        label=labels,
        instance=items.instance_names.take(rows).values("").tolist(),
        system=items.system.take(rows).values("not known").tolist(),
        gold=[value or None for value in items.gold.take(rows).values()],
        follow_up_gold=[value or None for value in items.follow_up_gold.take(rows).values()],
        kind=items.kind.take(rows).values("").tolist(),
        output=[value or None for value in items.output.take(rows).values()],
    )


def rule_of(ctx: Context) -> str:
    """The chosen rule, or majority where a figure needs one label a unit and the rule gives one a rater."""
    return "majority" if ctx.per_rater else ctx.choices.rule
