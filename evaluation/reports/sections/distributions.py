"""Each unit's labels as a distribution (a soft label), and how far its raters are apart: entropy in bits."""

from __future__ import annotations

import numpy as np

from annotator.hit_types.base import Variable
from evaluation.agreement.descriptive import UnitDistributions, unit_distributions
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings
from evaluation.metrics.resample import ratio_estimate
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.estimands import unjudged_share
from evaluation.reports.registry import section
from evaluation.reports.words import CountedSentence, stated

#: At most this many units are listed, those whose raters are furthest apart first.
LISTED = 100
#: With more labels than this their shares would make the table too wide.
MOST_LABELS = 12


@section(order=27, title="Label distributions")
def distributions(ctx: Context) -> Section | None:
    """One table for each variable, of the units with at least two ratings; None if there is none."""
    blocks, prose = [], []
    for variable in ctx.data.variables:
        whole = ctx.ratings(variable.name)
        ratings = ctx.of_raters(whole)
        found = unit_distributions(ratings)
        if not (found.ratings > 1).any():
            continue
        mean = _mean_entropy(ctx, variable.name, ratings, found)
        prose.append(
            CountedSentence(
                f"On “{variable.title}”, the labels of a unit with two ratings or more have a mean entropy of "
                f"{stated(mean, 'unit', unit=' bits')}; it's 0 where all raters gave one label.",
                mean.n,
            )
        )
        blocks += [_mean(variable, mean), _table(ctx, variable, ratings, found)]
    if not blocks:
        return None
    return Section(
        id="distributions",
        title="Label distributions",
        prose=prose,
        blocks=blocks,
        notes=[
            "A unit’s soft label is the share of its raters who gave each label. Its entropy is 0 where all of them gave one "
            "label, and 1 bit where they are split evenly between two."
        ],
    )


def _mean_entropy(ctx: Context, variable: str, ratings: Ratings, found: UnitDistributions) -> Estimate:
    kept = found.ratings > 1
    units = found.unit[kept]
    clusters = units if ratings.clusters is None else ratings.clusters[units]
    most = float(np.log2(max(len(found.labels), 2)))
    return ratio_estimate(
        found.entropy[kept], np.ones(units.size), clusters, bounds=(0.0, most),
        unjudged=unjudged_share(ctx, variable), **ctx.resampling,
    )  # fmt: skip


def _mean(variable: Variable, mean: Estimate) -> Table:
    return Table(
        id=f"distributions-{variable.name}-mean",
        title=f"Mean entropy of the labels of a unit on “{variable.title}”, bits",
        head=["Units"],
        columns=[TableColumn("Entropy, bits"), TableColumn("Units")],
        rows=[TableRow(["With two ratings or more"], [Cell.of(mean, rule="per_rater"), Cell.count(mean.n)])],
    )


def _table(ctx: Context, variable: Variable, ratings: Ratings, found: UnitDistributions) -> Table:
    several = np.flatnonzero(found.ratings > 1)
    order = several[np.lexsort((found.unit[several], -found.entropy[several]))][:LISTED]
    table, items = ctx.data.table(variable.name), ctx.data.judgments.items
    labels = list(found.labels) if len(found.labels) <= MOST_LABELS else []
    numbered = not np.isnan(found.mean).all()
    shares = found.shares[order, :].toarray()
    rows = []
    for line, row in enumerate(order.tolist()):
        size = int(found.ratings[row])
        cells = [Cell.number(float(found.entropy[row]), n=size)]
        cells += [Cell.number(float(found.mean[row]), n=size)] if numbered else []
        cells += [
            Cell.number(float(shares[line, code]), shape="percent", n=size) for code in range(len(labels))
        ]
        item = int(items.ids[table.units.item[found.unit[row]]])
        rows.append(
            TableRow([found.units[found.unit[row]]], [*cells, Cell.count(size)], item=(ctx.study.pk, item))
        )
    units = several.size
    return Table(
        id=f"distributions-{variable.name}",
        title=f"Units by the entropy of their labels on “{variable.title}”",
        head=["Unit"],
        columns=[
            TableColumn("Entropy, bits"),
            *([TableColumn("Mean rank" if ratings.ranked else "Mean")] if numbered else []),
            *(TableColumn(ctx.label_words(label), "% of raters") for label in labels),
            TableColumn("Ratings"),
        ],
        rows=rows,
        notes=[f"The {LISTED} of {units:,} units whose raters are furthest apart."] if units > LISTED else [],
        folded=True,
    )
