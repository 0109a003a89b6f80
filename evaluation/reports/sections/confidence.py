"""How reliable a simulator's confidence is: scores and a reliability diagram, compared with people's majority."""

from __future__ import annotations

import numpy as np

from annotator.models import Judgment
from evaluation.agreement import aggregate
from evaluation.metrics.calibration import Calibration
from evaluation.metrics.calibration import calibration as calibrate
from evaluation.reports.content import Cell, Figure, Table, TableColumn, TableRow
from evaluation.reports.context import Context

#: Attribute of a ``Calibration`` -> its column.
_COLUMNS = {
    "confidence": "Mean confidence",
    "accuracy": "Share equal to the majority of {people}",
    "brier": "Brier score",
    "reliability": "Reliability",
    "resolution": "Resolution",
    "uncertainty": "Uncertainty",
    "ece": "Expected calibration error",
    "auc": "Area under the ROC curve",
}


def confidence_blocks(ctx: Context) -> tuple[Table, list[Figure]]:
    """One row for each simulator whose labels have a confidence, and a diagram each; without any, an empty table."""
    found = {name: _calibration(ctx, name) for name in ctx.simulators}
    known = {name: one for name, one in found.items() if one is not None and one.bins}
    rows = [
        TableRow(
            [name],
            [Cell.of(getattr(one, column)) for column in _COLUMNS],
        )
        for name, one in known.items()
    ]
    table = Table(
        id="calibration-confidence",
        title="How reliable the simulators' confidence is",
        head=["Simulator"],
        columns=[TableColumn(title.format(people=ctx.people)) for title in _COLUMNS.values()],
        rows=rows,
        notes=[
            "Confidence is the model's probability of the label that it gave, from log probabilities, or the share of "
            "several samples that gave it. A calibrated simulator is right as often as it is confident; of the Brier score and the expected calibration error, 0 is best.",
            "The Brier score is reliability less resolution plus uncertainty, and what confidences differ within bins. Bins have "
            "about equal numbers of labels. Area under the ROC curve: how often a label that is right has a higher confidence than "
            "one that is wrong; 0.5 is chance.",
        ],
    )
    return table, [_diagram(ctx, name, one) for name, one in known.items()]


def _calibration(ctx: Context, name: str) -> Calibration | None:
    """The confidences of a simulator's labels and whether people's majority gave the same; None if it has none."""
    data = ctx.data.table(ctx.headline.name)
    ratings = data.ratings
    stored = Judgment.objects.filter(study=ctx.study, rater__name=name, signals__has_key="confidence")
    of_item = {
        item: float(value)
        for item, value in stored.values_list("item_id", "signals__confidence")
        if isinstance(value, int | float)
    }
    if not of_item:
        return None
    people = aggregate(ratings.people(), "majority").value
    mine = ratings.rater == ratings.raters.index(name)
    units, own = ratings.unit[mine], ratings.value[mine]
    items = ctx.data.judgments.items.ids[data.units.item]
    both = people[units] >= 0
    units, own = units[both], own[both]
    sure = np.array([of_item.get(int(items[unit]), np.nan) for unit in units], dtype=np.float64)
    clusters = np.arange(len(ratings.units)) if ratings.clusters is None else ratings.clusters
    return calibrate(sure, people[units] == own, clusters[units].astype(str), **ctx.resampling)


def _diagram(ctx: Context, name: str, found: Calibration) -> Figure:
    number = ctx.simulators.index(name) + 1
    criterion = f"the majority of {ctx.people}"
    return reliability_diagram(f"calibration-reliability-{number}", name, criterion, found)


def reliability_diagram(id: str, who: str, criterion: str, found: Calibration) -> Figure:
    """The share of labels equal to ``criterion`` in each bin, by its mean confidence."""
    points = [
        one.accuracy.to_dict() | {"label": f"{one.low:.2f} to {one.high:.2f}", "confidence": one.confidence}
        for one in found.bins
    ]
    told = "; ".join(
        f"{one.confidence:.2f}: {one.accuracy.value:.2f} of {one.accuracy.n}" for one in found.bins
    )
    return Figure(
        id=id,
        title=f"How often the labels of {who} are right, by confidence",
        alt=f"Share of labels equal to {criterion} by mean confidence. At {told}.",
        form="reliability",
        data={"points": points, "x": "Mean confidence", "y": "Share that is right"},
        notes=[
            "Numbers beside the dots are labels. On the dashed line, labels are right as often as their raters are confident."
        ],
    )
