"""Plausibility (P1, section 5.2.2): how convincing each system's explanations are, and how far annotators agree."""

from __future__ import annotations

import numpy as np

from evaluation.core.estimate import Estimate
from evaluation.metrics import Correlation, annotator_ceiling
from evaluation.metrics.over_raters import mean_over_raters
from evaluation.metrics.resample import ratio_estimate
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.estimands import unjudged_share
from evaluation.reports.registry import section
from evaluation.reports.words import CountedSentence, left_out, stated

#: The ordinal scale as numbers.
SCORES = {"no": 0.0, "moderate": 0.5, "yes": 1.0}


@section(order=40, title="Plausibility of explanations", measure="plausibility")
def p1_plausibility(ctx: Context) -> Section | None:
    """Mean plausibility by system (yes 1, moderate 0.5, no 0), and the correlation between two annotators."""
    table = ctx.data.table("plausibility")
    ratings = ctx.of_raters(table.ratings)
    if not len(ratings):
        return None
    scores = np.array([SCORES[label] for label in ratings.labels])[ratings.value]
    system = np.asarray(table.units.system.values("not known"), dtype=object)[ratings.unit]
    instance = np.asarray(table.units.instance.values(""), dtype=object)[ratings.unit]
    resampling = ctx.resampling
    clusters = np.unique(instance.astype(str), return_inverse=True)[1]

    def mean(name: str) -> Estimate:
        own = system == name
        others = mean_over_raters(scores[own], clusters[own], ratings.rater[own]) if ctx.new_raters else None
        unjudged = unjudged_share(ctx, "plausibility", system=name)
        return ratio_estimate(scores * own, own, clusters, new_raters=others, unjudged=unjudged, **resampling)

    means = {name: mean(name) for name in sorted(set(system))}
    ceiling = ceiling_of(ctx)
    return Section(
        id="p1-plausibility",
        number="P1 Section 5.2.2",
        title="Plausibility",
        prose=[
            CountedSentence(
                "Two annotators’ scores of one instance’s explanations correlate at "
                f"{stated(ceiling.pearson, 'instance')} by Pearson and {stated(ceiling.spearman, 'instance')} by Spearman: the most "
                "that a metric could reach.",
                min(ceiling.pearson.n, ceiling.spearman.n),
            )
        ],
        blocks=[
            Table(
                id="p1-plausibility",
                title="Mean plausibility, from 0 (no) to 1 (yes)",
                head=["System"],
                columns=[TableColumn("Plausibility"), TableColumn("Ratings")],
                rows=[
                    TableRow([name], [Cell.of(found, rule="per_rater"), Cell.count(found.n)])
                    for name, found in means.items()
                ],
            ),
            Figure(
                id="p1-plausibility-systems",
                title="Plausibility by system",
                alt="The values of the table.",
                form="intervals",
                data={
                    "x": "Plausibility",
                    "domain": [0.0, 1.0],
                    "points": [{"label": name, **found.to_dict()} for name, found in means.items()],
                },
            ),
            Table(
                id="p1-plausibility-ceiling",
                title="Correlation between two annotators, within an instance, then the mean over instances",
                head=["Correlation"],
                columns=[TableColumn("Value"), TableColumn("Instances")],
                rows=[
                    TableRow([name], [Cell.of(found), Cell.count(found.n)])
                    for name, found in (("Pearson", ceiling.pearson), ("Spearman", ceiling.spearman))
                ],
                notes=[f"Left out: {left_out(ceiling.pearson.left_out)}."]
                if ceiling.pearson.left_out
                else [],
            ),
        ],
    )


def ceiling_of(ctx: Context) -> Correlation:
    """The correlation between two annotators of a plausibility study, computed once per report."""

    def make() -> Correlation:
        table = ctx.data.table("plausibility")
        ratings = ctx.of_raters(table.ratings)
        scores = np.array([SCORES[label] for label in ratings.labels])[ratings.value]
        system = np.asarray(table.units.system.values("not known"), dtype=object)[ratings.unit]
        instance = np.asarray(table.units.instance.values(""), dtype=object)[ratings.unit]
        return annotator_ceiling(
            scores,
            [ratings.raters[code] for code in ratings.rater],
            instance.tolist(),
            _distinct(system, table.units.suffix.values(""), ratings.unit),
            **ctx.resampling,
        )

    return ctx.once("plausibility-ceiling", make)


def _distinct(system: np.ndarray, suffix: np.ndarray, unit: np.ndarray) -> list[str]:
    """The key of an explanation within its instance: the system, with the unit if a system has several."""
    return [f"{name}\x1e{suffix[u]}" for name, u in zip(system, unit, strict=True)]
