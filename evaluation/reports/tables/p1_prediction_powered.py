"""Few people, many simulator labels: precision and simulatable share with valid intervals (PPI++)."""

from __future__ import annotations

import math
from dataclasses import replace

from evaluation.core.estimate import Estimate
from evaluation.metrics import (
    FollowUps,
    JudgeCorrected,
    PredictionPowered,
    judge_corrected_precision,
    judge_corrected_simulatable,
    prediction_powered_precision,
    prediction_powered_simulatable,
    simulatability,
)
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.resampling import as_chosen
from evaluation.reports.words import CountedSentence, number, stated


@section(order=95, title="Prediction-powered estimates", measure="simulatability")
def p1_prediction_powered(ctx: Context) -> Section | None:
    """For each simulator that overlaps with people: people alone, people helped by it, and the effective sample size."""
    if ctx.only_simulators:
        return None
    rule, variable = rule_of(ctx), ctx.headline.name
    names = [name for name in ctx.simulators if rule != f"single:{name}"]
    (people,) = ctx.follow_ups(variable, rule)
    if not names or not people.labelled.any():
        return None
    found = []
    judges: dict[str, dict[str, JudgeCorrected]] = {}
    for name in names:
        (simulator,) = ctx.follow_ups(variable, f"single:{name}")
        if not (people.labelled & simulator.labelled).any():
            continue
        found += [(name, what, one) for what, one in _figures(ctx, people, simulator)]
        judges[name] = {
            "Precision, micro": judge_corrected_precision(people, simulator),
            "Simulatable": judge_corrected_simulatable(people, simulator),
        }
    if not found:
        return None
    return Section(
        id="prediction-powered",
        title="People helped by simulators",
        prose=_prose(ctx, found),
        blocks=[_table(ctx, found, rule), _corrected(ctx, judges, rule)],
        notes=[
            "Prediction-powered estimates (PPI++, Angelopoulos et al. 2023): people’s labels on a part, the simulator’s on "
            "everything. The interval holds however wrong the simulator is, as long as people judged a random part of the "
            "explanations. n effective: how many labels of people alone would give an interval as narrow. Intervals are t "
            "intervals on the logit scale with a sandwich variance over instances."
        ],
    )


def _figures(ctx: Context, people: FollowUps, simulator: FollowUps) -> list[tuple[str, PredictionPowered]]:
    """The three figures; the interval of people alone is the same as in every other table, unless it is for these items."""
    alone = simulatability(people, **ctx.resampling)
    items = ctx.items
    found = [
        ("Precision, macro", prediction_powered_precision(people, simulator, items=items), alone.precision),
        (
            "Precision, micro",
            prediction_powered_precision(people, simulator, micro=True, items=items),
            alone.precision_micro,
        ),
        ("Simulatable", prediction_powered_simulatable(people, simulator, items=items), alone.simulatable),
    ]
    return [
        (
            what,
            replace(
                one,
                people=as_chosen(_of_these(one.people, own), ctx.choices) if items == "these" else own,
                estimate=as_chosen(one.estimate, ctx.choices),
            ),
        )
        for what, one, own in found
    ]


def _of_these(people: Estimate, own: Estimate) -> Estimate:
    """People's own figure with its interval for these items; denominator and what was left out are those of other tables."""
    return replace(people, n=own.n, left_out=own.left_out) if own.defined else own


def _prose(ctx: Context, found: list[tuple[str, str, PredictionPowered]]) -> list[str]:
    sentences: list[str] = []
    for name, what, one in found:
        if what != "Precision, macro" or not one.estimate.defined:
            continue
        if not one.unlabelled:
            sentences.append(
                f"{ctx.people.capitalize()} judged every explanation that {name} judged, so it adds nothing."
            )
        elif not math.isnan(one.gain):
            sentences.append(
                CountedSentence(
                    f"With {name}, precision is {stated(one.estimate, 'explanation', 'percent')} instead of "
                    f"{stated(one.people, 'explanation', 'percent')} from {ctx.people} alone: {one.labelled:,} labelled "
                    f"explanations count as {number(one.effective_n, 'count')}.",
                    one.labelled,
                )
            )
    return sentences


def _table(ctx: Context, found: list[tuple[str, str, PredictionPowered]], rule: str) -> Table:
    return Table(
        id="prediction-powered",
        title=f"{ctx.people.capitalize()} alone and helped by each simulator, %",
        head=["Simulator", "Figure"],
        columns=[
            TableColumn(f"{ctx.people.capitalize()} alone"),
            TableColumn("Helped"),
            TableColumn("Simulator alone"),
            TableColumn("λ"),
            TableColumn("Labelled"),
            TableColumn("Not labelled"),
            TableColumn("n effective"),
        ],
        rows=[
            TableRow(
                [name, what],
                [
                    Cell.of(one.people, shape="percent", rule=rule),
                    Cell.of(one.estimate, shape="percent", rule=f"{rule}, helped by single:{name}"),
                    Cell.number(
                        one.simulator,
                        shape="percent",
                        n=one.labelled + one.unlabelled,
                        reason="the simulator labelled nothing",
                    ),
                    Cell.number(one.tuning, n=one.labelled, reason=_why(one)),
                    Cell.count(one.labelled),
                    Cell.count(one.unlabelled),
                    _effective(one),
                ],
            )
            for name, what, one in found
        ],
        notes=["The simulator’s own figure may be wrong throughout and doesn’t estimate the people’s."],
    )


def _corrected(ctx: Context, judges: dict[str, dict[str, JudgeCorrected]], rule: str) -> Table:
    """The simulator's rates corrected by its errors, which needs no assumption about how labels are spread, but that of equal errors."""
    rows = [
        TableRow(
            [name, what],
            [
                Cell.of(
                    as_chosen(one.estimate, ctx.choices), shape="percent", rule=f"single:{name}, corrected by {rule}"
                ),
                Cell.number(
                    one.simulator, shape="percent", n=one.unlabelled, reason="people labelled every follow-up"
                ),
                *(Cell.of(as_chosen(share, ctx.choices), shape="percent") for share in (one.sensitivity, one.specificity)),
            ],
        )
        for name, found in judges.items()
        for what, one in found.items()
    ]  # fmt: skip
    return Table(
        id="judge-corrected",
        title="Each simulator’s rates corrected by its errors, %",
        head=["Simulator", "Figure"],
        columns=[
            TableColumn("Corrected"),
            TableColumn("Simulator where people have no label"),
            TableColumn("Sensitivity"),
            TableColumn("Specificity"),
        ],
        rows=rows,
        notes=[
            f"The simulator’s rate where {ctx.people} gave no label, corrected by its sensitivity and specificity where they did (Rogan and "
            "Gladen, 1978; Lee et al., 2025). The interval counts the variance of all three. It holds if the simulator errs as often "
            "on both parts; prediction-powered values need no more than a random part, and are mostly more precise. Sensitivity and "
            "specificity are those of the numerator. Macro precision is a mean over explanations, not a rate."
        ],
    )


def _why(one: PredictionPowered) -> str:
    return one.estimate.reason or "no variation among the labelled"


def _effective(one: PredictionPowered) -> Cell:
    return Cell(
        estimate=Estimate(
            one.effective_n,
            n=one.labelled,
            reason=_why(one) if math.isnan(one.effective_n) else "",
        ),
        shape="count",
    )
