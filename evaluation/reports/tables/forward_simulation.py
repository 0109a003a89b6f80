"""Forward simulation: accuracy of predictions by what people saw beside the input, and the gain over no explanation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annotator.hit_types.base import NEITHER, REFUSAL
from evaluation.agreement import Aggregated, holm
from evaluation.agreement.new_raters import RaterVariance
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings
from evaluation.metrics import ForwardAccuracy, accuracy_over_raters, forward_accuracy
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.estimands import not_generalised, unjudged_share
from evaluation.reports.registry import section
from evaluation.reports.words import CountedSentence, listed, stated

#: The condition without an explanation, as the HIT type names it.
CONTROL = "no explanation"
UNNAMED = "no condition"
TIE = "(tie)"


@section(order=40, title="Forward simulation", measure="forward_simulation")
def forward_simulation(ctx: Context) -> Section | None:
    """Accuracy by condition, of one label per item and of single predictions, for people and each simulator."""
    sides = [side for side in _sides(ctx) if len(side.ratings)]
    if not sides:
        return None
    measured = [(side, _measure(ctx, side, ""), _measure_ratings(ctx, side)) for side in sides]
    return Section(
        id="forward-simulation",
        title="Forward simulation",
        prose=[_sentence(side, labelled) for side, labelled, _ in measured],
        blocks=[
            _table(measured),
            *([_differences(measured)] if any(one.differences for _, one, _ in measured) else []),
            *_by_system(ctx, sides),
            _figure(measured),
        ],
        notes=[
            "A prediction is right if it is the system’s real output on the same input. The correct answer to the input "
            "plays no part.",
            "Refusals and outputs that are neither answer are left out."
            if ctx.choices.refusals == "left_out"
            else "No prediction of a refusal, or of an output that is neither answer, is right.",
        ],
    )


@dataclass(frozen=True, eq=False)
class _Side:
    """Whose predictions: people under a rule, or one simulator."""

    name: str
    rule: str
    ratings: Ratings
    labels: Aggregated
    #: Of several people, and not of one rater.
    of_people: bool = False


def _sides(ctx: Context) -> list[_Side]:
    variable, rule = ctx.headline.name, rule_of(ctx)
    ratings = ctx.ratings(variable)
    alone = rule.partition(":")[2] if rule.startswith("single:") else ""
    own = ratings.only_raters([alone]) if alone else ratings.people()
    sides = [_Side(alone or ctx.people.capitalize(), rule, own, ctx.labels(variable, rule)[0], not alone)]
    for name in ctx.simulators:
        if name != alone:
            single = f"single:{name}"
            sides.append(_Side(name, single, ratings.only_raters([name]), ctx.labels(variable, single)[0]))
    return sides


@dataclass(frozen=True, eq=False)
class _Units:
    """The units of the variable, one entry each."""

    real: npt.NDArray[np.object_]
    instance: npt.NDArray[np.object_]
    condition: npt.NDArray[np.object_]
    system: npt.NDArray[np.object_]


def _units(ctx: Context) -> _Units:
    units = ctx.data.table(ctx.headline.name).units
    condition = np.asarray(units.condition.values(""), dtype=object)
    return _Units(
        real=np.asarray(units.output.values(""), dtype=object),
        instance=np.asarray(units.instance.values(""), dtype=object),
        condition=np.where(condition == "", UNNAMED, condition),
        system=np.asarray(units.system.values(""), dtype=object),
    )


def _measure(ctx: Context, side: _Side, system: str) -> ForwardAccuracy:
    """One label per item; only of one system's items if it is named."""
    units = _units(ctx)
    rated = side.ratings.grouped.sizes > 0
    rows = np.flatnonzero(rated & ((units.system == system) | (not system)))
    none = TIE if ctx.choices.ties == "wrong" else None
    names = np.array([*side.labels.labels, none], dtype=object)
    return _accuracy(ctx, units, rows, names[side.labels.value[rows]], side, system)


def _measure_ratings(ctx: Context, side: _Side) -> ForwardAccuracy:
    """Every rater's own prediction."""
    names = np.array(side.ratings.labels, dtype=object)
    return _accuracy(ctx, _units(ctx), side.ratings.unit, names[side.ratings.value], side, single=True)


def _accuracy(
    ctx: Context,
    units: _Units,
    rows: npt.NDArray[np.integer],
    predicted: npt.NDArray[np.object_],
    side: _Side,
    system: str = "",
    *,
    single: bool = False,
) -> ForwardAccuracy:
    shown = sorted(set(units.condition[rows]))
    return forward_accuracy(
        predicted.tolist(),
        units.real[rows].tolist(),
        units.instance[rows].tolist(),
        units.condition[rows].tolist(),
        control=CONTROL,
        refusals_left_out=ctx.choices.refusals == "left_out",
        unjudged=_unjudged(ctx, side, shown, system),
        new_raters=_over_raters(ctx, side, units, shown, system, single=single),
        **ctx.resampling,
    )


def _unjudged(ctx: Context, side: _Side, conditions: list[str], system: str) -> dict[str, float]:
    """Each condition's share of missing predictions, if intervals are for these items."""
    own = None if side.of_people else side.ratings
    found = {}
    for name in conditions:
        share = unjudged_share(
            ctx, ctx.headline.name, own, system=system, condition="" if name == UNNAMED else name
        )
        if share is not None:
            found[name] = share
    return found


def _over_raters(
    ctx: Context, side: _Side, units: _Units, conditions: list[str], system: str, *, single: bool
) -> dict[str, RaterVariance]:
    """Each condition's variance over raters, if intervals are for raters like these; of one rater's predictions there is none."""
    if not ctx.new_raters or not ctx.choices.replicates or not side.of_people:
        return {}
    found: dict[str, RaterVariance] = {}
    unknown = (REFUSAL, NEITHER) if ctx.choices.refusals == "left_out" else ()
    real = [None if value in unknown else value for value in units.real.tolist()]
    for name in conditions:
        chosen = (units.condition == name) & ((units.system == system) | (not system))
        part = side.ratings.where(chosen[side.ratings.unit])
        if single or side.rule == "majority":
            found[name] = accuracy_over_raters(
                part, real, single=single, ties_wrong=ctx.choices.ties == "wrong"
            )
        else:
            found[name] = not_generalised(side.rule, len(np.unique(part.rater)))
    return found


def _sentence(side: _Side, found: ForwardAccuracy) -> str:
    each = [f"{stated(one, 'item', 'percent')} with {name}" for name, one in found.accuracy.items()]
    cases = min((one.n for one in found.accuracy.values()), default=0)
    return CountedSentence(f"Right predictions of {side.name}: {listed(each)}.", cases)


_Measured = list[tuple[_Side, ForwardAccuracy, ForwardAccuracy]]


def _table(measured: _Measured) -> Table:
    rows = []
    for side, labelled, single in measured:
        for name in single.accuracy:
            one = labelled.accuracy.get(name, Estimate(np.nan, reason="no item has a label"))
            cells = [Cell.of(one, shape="percent", rule=side.rule), Cell.count(one.n)]
            cells += [Cell.of(single.accuracy[name], shape="percent", rule="per_rater")]
            rows.append(TableRow([name], [*cells, Cell.count(single.accuracy[name].n)], group=side.name))
    return Table(
        id="forward-simulation",
        title="Accuracy of predictions by condition, %",
        head=["Shown beside the input"],
        columns=[
            TableColumn("One label per item"),
            TableColumn("Items"),
            TableColumn("Single predictions"),
            TableColumn("Predictions"),
        ],
        rows=rows,
    )


def _differences(measured: _Measured) -> Table:
    rows = []
    for side, labelled, _ in measured:
        adjusted = holm([difference.p_permutation for difference in labelled.differences.values()])
        for (name, one), p in zip(labelled.differences.items(), adjusted, strict=True):
            cells = [
                Cell.of(one.first_mean, shape="percent"),
                Cell.of(one.second_mean, shape="percent"),
                Cell.of(one.difference, shape="percent"),
                Cell.number(float(p), reason="too few instances", shape="p"),
                Cell.count(one.difference.n),
            ]
            rows.append(TableRow([name], cells, group=side.name))
    return Table(
        id="forward-simulation-gain",
        title=f"Gain over the control ({CONTROL}), %",
        head=["Shown beside the input"],
        columns=[
            TableColumn("With it"),
            TableColumn("Control"),
            TableColumn("Difference"),
            TableColumn("p (Holm)"),
            TableColumn("Instances"),
        ],
        rows=rows,
        notes=[
            "On instances that have both, each instance counting once: paired bootstrap interval and permutation test."
        ],
    )


def _by_system(ctx: Context, sides: list[_Side]) -> list[Table]:
    systems = sorted(set(_units(ctx).system) - {""})
    if len(systems) < 2:
        return []
    found = {(side.name, s): _measure(ctx, side, s).accuracy for side in sides for s in systems}
    conditions = sorted({name for accuracy in found.values() for name in accuracy})
    nothing = Estimate(np.nan, reason="no item of this condition")
    rows = [
        TableRow(
            [system],
            [
                Cell.of(found[side.name, system].get(name, nothing), shape="percent", rule=side.rule)
                for name in conditions
            ],
            group=side.name,
        )
        for side in sides
        for system in systems
    ]
    return [
        Table(
            id="forward-simulation-systems",
            title="Accuracy of predictions by system and condition, one label per item, %",
            head=["System"],
            columns=[TableColumn(name) for name in conditions],
            rows=rows,
        )
    ]


def _figure(measured: _Measured) -> Figure:
    points = [
        {"label": name, "group": side.name if len(measured) > 1 else "", **one.to_dict()}
        for side, labelled, _ in measured
        for name, one in labelled.accuracy.items()
    ]
    return Figure(
        id="forward-simulation-accuracy",
        title="Accuracy of predictions by condition",
        alt="The values of the table with their intervals.",
        form="intervals",
        data={"x": "Right predictions, %", "shape": "percent", "points": points},
    )
