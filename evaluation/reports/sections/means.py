"""Means and medians of variables whose labels are numbers or have an order, by system, condition and rater."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from annotator.hit_types.base import Variable
from evaluation.agreement.descriptive import label_near
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings
from evaluation.metrics.medians import mean_estimate, median_estimate
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.estimands import unjudged_share
from evaluation.reports.registry import section
from evaluation.reports.words import CountedSentence, count, no_interval, stated

#: At most this many raters are listed.
LISTED = 100
#: The argument of ``unjudged_share`` that a heading's rows are about.
_NAMED = {"By system": "system", "By condition": "condition"}


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
        unjudged = unjudged_share(ctx, variable.name)
        mean = mean_of(ctx, ratings, unjudged)
        if ratings.ranked:
            median = _median_words(ctx, ratings, median_of(ctx, ratings, unjudged))
            text = f"The median of “{variable.title}” is {median} (n = {count(mean.n, 'rating')})."
        else:
            text = f"The mean of “{variable.title}” is {stated(mean, 'rating')}{_scale(variable)}."
        prose.append(CountedSentence(text, mean.n))
    if not tables:
        return None
    return Section(id="means", title="Means and medians", prose=prose, blocks=tables)


def _scale(variable: Variable) -> str:
    if variable.scores:
        return " (" + ", ".join(f"{label} {score:g}" for label, score in variable.scores.items()) + ")"
    return ""


def mean_of(ctx: Context, ratings: Ratings, unjudged: float | None = None) -> Estimate:
    """The mean with its interval, for these raters or for raters like these as chosen; for these items with ``unjudged``."""
    return mean_estimate(ratings, new_raters=ctx.new_raters, unjudged=unjudged, **ctx.resampling)


def median_of(ctx: Context, ratings: Ratings, unjudged: float | None = None) -> Estimate:
    """The median, as ``mean_of``."""
    return median_estimate(ratings, new_raters=ctx.new_raters, unjudged=unjudged, **ctx.resampling)


def ranks_note(ctx: Context, ratings: Ratings) -> str:
    """What a mean of ranks is, for a table of labels that have an order but no numbers."""
    first, last = (ctx.label_words(ratings.labels[place]) for place in (0, -1))
    return (
        f"The labels have an order but no numbers. A mean rank takes all steps as equal: “{first}” is 1, “{last}” is "
        f"{len(ratings.labels)}."
    )


def _median_words(ctx: Context, ratings: Ratings, found: Estimate) -> str:
    labels = [ctx.label_words(label) for label in ratings.labels]
    if not found.defined:
        return f"not defined: {found.reason}"
    text = f"“{label_near(labels, found.value)}”"
    if math.isnan(found.low):
        why = no_interval(found.to_dict())
        return f"{text} (no interval: {why})" if why else text
    return f"{text} [{label_near(labels, found.low)}, {label_near(labels, found.high)}]"


def median_cell(ctx: Context, ratings: Ratings, found: Estimate) -> Cell:
    """The label that is the median, and the labels at the ends of its interval."""
    return Cell(_median_words(ctx, ratings, found))


def _table(ctx: Context, variable: Variable, ratings: Ratings) -> Table:
    rows = []
    for group, name, part in [("", "All", ratings), *_parts(ctx, variable, ratings)]:
        named = {_NAMED[group]: name} if group in _NAMED else {}
        unjudged = unjudged_share(ctx, variable.name, part if group == "By rater" else None, **named)
        median = median_of(ctx, part, unjudged)
        cells = [
            Cell.of(mean_of(ctx, part, unjudged), rule="per_rater"),
            Cell.of(median, rule="per_rater") if not part.ranked else median_cell(ctx, part, median),
        ]
        cells = cells[::-1] if part.ranked else cells
        rows.append(TableRow([name], [*cells, Cell.count(len(part))], group=group))
    notes = [f"Every rating counts once. Labels as numbers{_scale(variable)}."] if _scale(variable) else []
    notes = ["Every rating counts once.", ranks_note(ctx, ratings)] if ratings.ranked else notes
    return Table(
        id=f"means-{variable.name}",
        title=f"Means and medians of “{variable.title}” ({variable.level})",
        head=["Ratings of"],
        columns=[
            *(
                TableColumn(name)
                for name in (("Median", "Mean rank") if ratings.ranked else ("Mean", "Median"))
            ),
            TableColumn("Ratings"),
        ],
        rows=rows,
        notes=notes,
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
