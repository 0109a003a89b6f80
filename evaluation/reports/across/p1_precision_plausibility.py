"""P1 Section 5.2.2: is plausibility correlated with precision? Judgments of two studies on the same explanations."""

from __future__ import annotations

import numpy as np

from evaluation.core.estimate import Estimate
from evaluation.metrics import per_explanation, within_instance_correlation
from evaluation.reports.across_studies import Across, Key, instance_keys, listed_titles
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section_across
from evaluation.reports.tables.p1_plausibility import SCORES, ceiling_of
from evaluation.reports.words import CountedSentence, count, left_out, stated


@section_across(order=75, title="Plausibility and precision")
def p1_precision_plausibility(across: Across) -> Section | None:
    """Pearson and Spearman over the systems of an instance, then the mean over instances; by system side by side."""
    simulated, judged = across.measuring("simulatability"), across.measuring("plausibility")
    if not simulated or not judged:
        return None
    precision, plausibility = precision_by_key(simulated), plausibility_by_key(judged)
    keys = sorted(set(precision) & set(plausibility))
    found = within_instance_correlation(
        [plausibility[key] for key in keys],
        [precision[key] for key in keys],
        [instance for instance, _ in keys],
        names=("plausibility", "precision"),
        **across.resampling,
    )
    rule = rule_of(simulated[0])
    several = len(judged) > 1
    ceilings = [
        (f"Between annotators, “{ctx.study.title}”" if several else "Between annotators", ceiling_of(ctx))
        for ctx in judged
    ]
    matched = (
        f"{count(len(keys), 'explanation')} {'has' if len(keys) == 1 else 'have'} both: "
        f"{count(len(precision), 'explanation')} with a precision in {listed_titles(simulated)}, "
        f"{len(plausibility):,} with a plausibility in {listed_titles(judged)}."
    )
    return Section(
        id="p1-precision-plausibility",
        number="P1 Section 5.2.2",
        title="Plausibility and precision",
        prose=[
            CountedSentence(
                f"Within an instance, plausibility and simulation precision correlate at {stated(found.pearson, 'instance')} by "
                f"Pearson and {stated(found.spearman, 'instance')} by Spearman.",
                min(found.pearson.n, found.spearman.n),
            )
            if found.pearson.defined
            else f"The correlation of plausibility with simulation precision is not defined: {found.pearson.reason}."
        ],
        blocks=[
            Table(
                id="p1-precision-plausibility",
                number="P1 Section 5.2.2",
                title="Correlation of plausibility with simulation precision",
                head=["Correlation"],
                columns=[
                    TableColumn("Value"),
                    TableColumn("Instances"),
                    *(TableColumn(title) for title, _ in ceilings),
                ],
                rows=[
                    TableRow(
                        [name.capitalize()],
                        [
                            Cell.of(getattr(found, name), rule=rule),
                            Cell.count(getattr(found, name).n),
                            *(Cell.of(getattr(ceiling, name)) for _, ceiling in ceilings),
                        ],
                    )
                    for name in ("pearson", "spearman")
                ],
                notes=[
                    "Over the systems of one instance, then the mean over instances. The correlation between two annotators "
                    "of plausibility is the ceiling."
                ],
            ),
            *_by_system(keys, precision, plausibility, rule),
        ],
        notes=[matched, *_aside(found.pearson)],
    )


def _aside(found: Estimate) -> list[str]:
    return [f"Left out: {left_out(found.left_out)}."] if found.left_out else []


def precision_by_key(contexts: list[Context]) -> dict[Key, float]:
    """Mean precision of a system's explanations of an instance, if defined; studies are pooled."""
    values: dict[Key, list[float]] = {}
    for ctx in contexts:
        named = instance_keys(ctx)
        for table in ctx.follow_ups(ctx.headline.name, rule_of(ctx))[:1]:
            counts = per_explanation(table)
            rows = zip(
                counts.instance.tolist(), counts.system.tolist(), counts.precision.tolist(), strict=True
            )
            for instance, system, value in rows:
                if not np.isnan(value):
                    values.setdefault((named.get(instance, instance), system), []).append(value)
    return {key: float(np.mean(found)) for key, found in values.items()}


def plausibility_by_key(contexts: list[Context]) -> dict[Key, float]:
    """Mean plausibility (yes 1, moderate 0.5, no 0) of a system's explanation of an instance over people's ratings."""
    values: dict[Key, list[float]] = {}
    for ctx in contexts:
        named = instance_keys(ctx)
        table = ctx.data.table("plausibility")
        ratings = ctx.of_raters(table.ratings)
        score = [SCORES[label] for label in ratings.labels]
        instance, system = table.units.instance.values(""), table.units.system.values("")
        for unit, value in zip(ratings.unit.tolist(), ratings.value.tolist(), strict=True):
            name = str(instance[unit])
            values.setdefault((named.get(name, name), str(system[unit])), []).append(score[value])
    return {key: float(np.mean(found)) for key, found in values.items()}


def _by_system(
    keys: list[Key], precision: dict[Key, float], plausibility: dict[Key, float], rule: str
) -> list[Table | Figure]:
    systems = sorted({system for _, system in keys})
    if not systems:
        return []
    rows = []
    for name in systems:
        mine = [key for key in keys if key[1] == name]
        means = [
            Estimate(float(np.mean([of[key] for key in mine])), n=len(mine))
            for of in (plausibility, precision)
        ]
        rows.append(
            TableRow(
                [name],
                [Cell.of(means[0], rule="per_rater"), Cell.of(means[1], rule=rule), Cell.count(len(mine))],
            )
        )
    return [
        Table(
            id="p1-precision-plausibility-systems",
            title="Plausibility and precision of each system, on the explanations that have both",
            head=["System"],
            columns=[TableColumn("Plausibility"), TableColumn("Precision"), TableColumn("Explanations")],
            rows=rows,
        )
    ]
