"""Prediction-powered estimates for the labels of any task: people's on some units, a simulator's on all."""

from __future__ import annotations

import math

import numpy as np

from evaluation.metrics import PredictionPowered, prediction_powered_label, prediction_powered_mean
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Section, Shape, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.resampling import as_chosen

#: With more labels than this there is only the mean of labels that are numbers.
LABELS = 8


@section(order=96, title="Labels by people with simulators' help")
def helped_labels(ctx: Context) -> Section | None:
    """The share of each label and the mean of numbers, for simulators that labelled units which people didn't."""
    if ctx.only_simulators:
        return None
    rule, variable = rule_of(ctx), ctx.headline.name
    names = [name for name in ctx.simulators if rule != f"single:{name}"]
    found = [row for name in names for row in _figures(ctx, variable, rule, name)]
    if not found:
        return None
    people = ctx.people.capitalize()
    return Section(
        id="helped-labels",
        title="Labels by people with simulators’ help",
        blocks=[
            Table(
                id="helped-labels",
                title=f"Labels on “{ctx.headline.title}”: {ctx.people} alone and helped by each simulator",
                head=["Simulator", "Figure"],
                columns=[
                    TableColumn(f"{people} alone"),
                    TableColumn("Helped"),
                    TableColumn("Labelled"),
                    TableColumn("Not labelled"),
                    TableColumn("n effective"),
                ],
                rows=[
                    TableRow(
                        [name, what],
                        [
                            Cell.of(as_chosen(one.people, ctx.choices), shape=shape, rule=rule),
                            Cell.of(
                                as_chosen(one.estimate, ctx.choices),
                                shape=shape,
                                rule=f"{rule}, helped by single:{name}",
                            ),
                            Cell.count(one.labelled),
                            Cell.count(one.unlabelled),
                            Cell.number(
                                one.effective_n,
                                shape="count",
                                n=one.labelled,
                                reason=_why(one) if math.isnan(one.effective_n) else "",
                            ),
                        ],
                    )
                    for name, what, shape, one in found
                ],
                notes=[
                    f"One label for each unit by {ctx.people} ({rule}) on a part of the units, the simulator’s on all "
                    "(PPI++, Angelopoulos et al. 2023). It holds however wrong the simulator is, as long as people labelled a "
                    "random part of the units."
                ],
            )
        ],
    )


def _figures(
    ctx: Context, variable: str, rule: str, name: str
) -> list[tuple[str, str, Shape, PredictionPowered]]:
    """(simulator, figure, shape, estimate); empty if the simulator labelled no unit that people didn't, or none that they did."""
    ratings = ctx.ratings(variable)
    (own,), (guess,) = ctx.labels(variable, rule), ctx.labels(variable, f"single:{name}")
    people, simulator = own.by_unit(), guess.by_unit()
    rated = set(ratings.people().unit.tolist())
    # A unit on which people tie was rated, and has no label: it's in nothing.
    used = [i for i, unit in enumerate(ratings.units) if i not in rated or people.get(unit) is not None]
    mine, theirs = ([found.get(ratings.units[i]) for i in used] for found in (people, simulator))
    both = sum(a is not None and b is not None for a, b in zip(mine, theirs, strict=True))
    alone = sum(a is None and b is not None for a, b in zip(mine, theirs, strict=True))
    if not both or not alone:
        return []
    groups = ratings.clusters if ratings.clusters is not None else ratings.units
    clusters = [str(groups[i]) for i in used]
    labels = [label for label in ratings.labels if label in {*mine, *theirs}]
    rows: list[tuple[str, str, Shape, PredictionPowered]] = []
    if len(labels) <= LABELS:
        for label in labels:
            one = prediction_powered_label(mine, theirs, label, clusters, items=ctx.items)
            rows.append((name, f"% {ctx.label_words(label)}", "percent", one))
    if labels and set(labels) <= set(ratings.scores):
        numbers = dict(zip(ratings.labels, np.asarray(ratings.amounts).tolist(), strict=True))
        one = prediction_powered_mean(
            _numbers(mine, numbers), _numbers(theirs, numbers), clusters, items=ctx.items
        )
        rows.append((name, "Mean", "number", one))
    return rows


def _numbers(labels: list[str | None], numbers: dict[str, float]) -> list[float | None]:
    return [None if label is None else numbers.get(label) for label in labels]


def _why(one: PredictionPowered) -> str:
    return one.estimate.reason or "no variation among the labelled"
