"""P2 Table 2: agreement of every annotator with every other, and with each simulator, over all annotations of units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.agreement import Ratings, summarize
from evaluation.core.estimate import Estimate, undefined
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.sections.agreement import pair_estimate
from evaluation.reports.unit_labels import is_sanity
from evaluation.reports.words import CountedSentence, listed, stated

#: The table of all pairs has at most this many annotators, those with the most annotations.
MOST = 24


@section(order=45, title="P2 Table 2: inter-annotator agreement", measure="unit_presence")
def p2_table2(ctx: Context) -> Section | None:
    """Cohen's kappa rater by rater over presence of units in inputs and outputs, with each rater's n; both means."""
    ratings = presence(ctx)
    if not len(ratings):
        return None
    if ctx.only_simulators:
        ratings = replace(ratings, simulators=frozenset())
    found = summarize(
        ratings,
        min_overlap=ctx.choices.min_overlap,
        **ctx.resampling,
    )
    kappa = found.kappa["nominal"]
    given = np.bincount(ratings.rater, minlength=len(ratings.raters))
    people = [name for name in ratings.raters if name not in ratings.simulators]
    people = sorted(people, key=lambda name: (-given[ratings.raters.index(name)], name))[:MOST]
    names = [*sorted(people), *found.simulators]
    between = [f"{name} {stated(kappa.mean[name], 'pair')}" for name in found.simulators]
    text = f"Mean κ between two of the {ctx.people} is {stated(kappa.mean['people'], 'pair')}"
    text += f", between {ctx.people} and simulators: {listed(between)}." if between else "."
    pairs = {frozenset((row["a"], row["b"])): row for row in kappa.rows()}
    return Section(
        id="p2-table-2",
        number="P2 Table 2",
        title="Inter-annotator agreement",
        prose=[CountedSentence(text, found.everyone.percent_agreement.n)],
        blocks=[
            Table(
                id="p2-table-2",
                number="P2 Table 2",
                title="Cohen’s κ between annotators, and with each simulator",
                head=["Annotator"],
                columns=[TableColumn(name, ctx.dataset) for name in (*names, "n")],
                rows=[
                    TableRow(
                        [name], [*(_cell(pairs, name, other) for other in names), _n(given, ratings, name)]
                    )
                    for name in sorted(people)
                ],
                notes=[
                    "Over presence in the input and in the output together; n: the annotator’s annotations. Each κ’s own n is "
                    "the number of units that both annotated."
                    + (f" The {MOST} with the most annotations." if len(people) == MOST else "")
                ],
                beside=True,
            ),
            _means(ctx, kappa.mean, kappa.weighted_mean, found.simulators),
        ],
    )


def presence(ctx: Context) -> Ratings:
    """Ratings of ``in_input`` and ``in_output`` in one table: a unit is a unit of an explanation on one side."""
    tables = [_without_checks(ctx, name) for name in ("in_input", "in_output")]
    first, second = tables
    if (first.raters, first.labels) != (second.raters, second.labels):
        raise ValueError("in_input, in_output: expected the same raters and labels")
    shift = len(first.units)
    clusters = [np.arange(len(t.units)) if t.clusters is None else t.clusters for t in tables]
    names = [ctx.data.table(name).units.instance.values("") for name in ("in_input", "in_output")]
    both = np.concatenate([np.asarray(n, dtype=str) for n in names])
    code = (
        np.unique(both, return_inverse=True)[1]
        if (both != "").all()
        else np.concatenate([clusters[0], clusters[1] + int(clusters[0].max(initial=-1)) + 1])
    )
    return replace(
        first,
        units=(*(f"{name} · input" for name in first.units), *(f"{name} · output" for name in second.units)),
        rater=np.concatenate([first.rater, second.rater]),
        unit=np.concatenate([first.unit, second.unit + shift]).astype(np.int32),
        value=np.concatenate([first.value, second.value]),
        clusters=code.astype(np.int32),
    )


def _without_checks(ctx: Context, variable: str) -> Ratings:
    """A variable's ratings without those of outputs that were written from the explanation."""
    ratings = ctx.ratings(variable)
    checks = np.array(
        [is_sanity(ctx, str(name)) for name in ctx.data.table(variable).units.system.values("")], dtype=bool
    )
    return ratings.where(~checks[ratings.unit]) if checks.any() else ratings


def _cell(pairs: dict[frozenset[str], dict[str, Any]], name: str, other: str) -> Cell:
    if name == other:
        return Cell(text="–")
    row = pairs.get(frozenset((name, other)))
    if row is None:
        return Cell.of(undefined("the two share no unit"))
    return Cell.of(pair_estimate(row), rule="each annotator")


def _n(given: np.ndarray, ratings: Ratings, name: str) -> Cell:
    return Cell.count(int(given[ratings.raters.index(name)]))


def _means(
    ctx: Context, mean: Mapping[Any, Estimate], weighted: Mapping[Any, Estimate], simulators: tuple[str, ...]
) -> Table:
    who = ctx.people.capitalize()
    rows = [(f"{who} with each other", "people"), *((f"{who} with {name}", name) for name in simulators)]
    return Table(
        id="p2-table-2-means",
        title="Mean κ over pairs of annotators",
        head=["Pairs"],
        columns=[
            TableColumn(label, ctx.dataset) for label in ("Unweighted", "Weighted by shared units", "Pairs")
        ],
        rows=[
            TableRow([title], [Cell.of(mean[key]), Cell.of(weighted[key]), Cell.count(mean[key].n)])
            for title, key in rows
        ],
        beside=True,
    )
