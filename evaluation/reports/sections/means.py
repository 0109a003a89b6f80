"""Means and medians of variables whose labels are numbers or have an order, by system, condition and rater."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from annotator.hit_types.base import Variable
from evaluation.agreement.descriptive import mean_label, median_label
from evaluation.core.ratings_table import Ratings
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.words import estimate

#: At most this many raters are listed.
LISTED = 100


@section(order=25, title="Means and medians")
def means(ctx: Context) -> Section | None:
    """One table for each variable above nominal level; None if none has a rating."""
    tables, prose = [], []
    for variable in ctx.data.variables:
        whole = ctx.ratings(variable.name).without_abstain()
        ratings = ctx.of_raters(whole)
        if variable.level == "nominal" or not len(ratings):
            continue
        tables.append(_table(ctx, variable, ratings))
        mean = mean_label(ratings, **ctx.resampling)
        prose.append(f"The mean of “{variable.title}” is {estimate(mean)}{_scale(variable)}.")
    if not tables:
        return None
    return Section(id="means", title="Means and medians", prose=prose, blocks=tables)


def _scale(variable: Variable) -> str:
    if variable.scores:
        return " (" + ", ".join(f"{label} {score:g}" for label, score in variable.scores.items()) + ")"
    return f" (ranks, {variable.labels[0]} is 0)" if variable.level == "ordinal" and variable.labels else ""


def _table(ctx: Context, variable: Variable, ratings: Ratings) -> Table:
    rows = []
    for group, name, part in [("", "All", ratings), *_parts(ctx, variable, ratings)]:
        cells = [
            Cell.of(mean_label(part, **ctx.resampling), rule="per_rater"),
            Cell.of(median_label(part, **ctx.resampling), rule="per_rater"),
        ]
        rows.append(TableRow([name], [*cells, Cell.count(len(part))], group=group))
    return Table(
        id=f"means-{variable.name}",
        title=f"Means and medians of “{variable.title}” ({variable.level})",
        head=["Ratings of"],
        columns=[TableColumn("Mean"), TableColumn("Median"), TableColumn("Ratings")],
        rows=rows,
        notes=[f"Every rating counts once. Labels as numbers{_scale(variable)}."] if _scale(variable) else [],
    )


def _parts(ctx: Context, variable: Variable, ratings: Ratings) -> Iterator[tuple[str, str, Ratings]]:
    """(heading, name, ratings) of each system, condition and rater, if there are several."""
    units = ctx.data.table(variable.name).units
    for title, column in (("By system", units.system), ("By condition", units.condition)):
        names = sorted({str(name) for name in column.values("") if name})
        if len(names) > 1 or (names and (column.codes < 0).any()):
            for name in names:
                mask = np.asarray(column.values("") == name, dtype=bool)
                yield title, name, ratings.where(mask[ratings.unit])
    present = np.unique(ratings.rater)
    if ctx.named and 1 < present.size <= LISTED:
        for code in present:
            yield "By rater", ratings.raters[code], ratings.where(ratings.rater == code)
