"""What the explanation adds: predictions of people and simulators with it, against those in the study's control arms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from annotator.hit_types.arms import ARM_TITLES
from evaluation.agreement import holm
from evaluation.core.ratings_table import Ratings
from evaluation.metrics import PairedDifference, SimulatabilityGain, gain_difference, simulatability_gain
from evaluation.ratings.items import Items
from evaluation.reports.choices import GUESSES
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.estimands import raters_asked
from evaluation.reports.registry import section
from evaluation.reports.words import POINTS, CountedSentence, stated

#: With more systems than this there would be too many pairs for a table.
MOST = 12
ALL = "All"
Mask = npt.NDArray[np.bool_]


@section(order=35, title="What the explanation adds")
def simulatability_gain_section(ctx: Context) -> Section | None:
    """Accuracy with and without the explanation, gain, NSG, and the shares misled and helped."""
    entries = _entries(ctx)
    if entries is None:
        return None
    found = list(_measured(ctx, entries))
    if not any(one.gain.gain.defined for one in found):
        return None
    compared = list(_compared(ctx, found))
    return Section(
        id="simulatability-gain",
        title="What the explanation adds",
        prose=[_sentence(ctx, one) for one in found if one.column == "" and one.gain.gain.defined],
        blocks=[
            _table(ctx, [one for one in found if one.column in ("", "system")], "system"),
            *([_table(ctx, generators, "generator")] if (generators := _of(found, "generator")) else []),
            *([_comparison(compared)] if compared else []),
            _figure([one for one in found if one.column in ("", "system")]),
        ],
        notes=[
            "Single predictions on the follow-ups that have some in both arms: a follow-up’s share of right ones, then the mean over "
            "follow-ups. NSG = (accuracy with − accuracy without) / (1 − accuracy without): the share of the errors that the explanation removes.",
            "Misled: most people are right without the explanation and wrong with it. Helped: the reverse.",
            f"“Cannot guess” counts as: {GUESSES[ctx.choices.cannot_guess].lower()}.",
            f"Intervals are for {_whose(ctx)} and {_which(ctx)}; both arms of an instance are drawn together.",
            *ctx.compared_notes(ctx.headline.name),
        ],
    )


def _whose(ctx: Context) -> str:
    if not ctx.new_raters:
        return "these raters"
    return "raters like these (simulators: for these raters)"


def _which(ctx: Context) -> str:
    return "these instances" if ctx.items == "these" else "other instances"


@dataclass(frozen=True, eq=False)
class _Entries:
    """One entry for each rating that counts, all arrays of shape (N,); ``arm`` is 0 with the explanation."""

    ratings: Ratings
    predicted: npt.NDArray[np.object_]
    real: npt.NDArray[np.object_]
    pair: npt.NDArray[np.object_]
    instance: npt.NDArray[np.object_]
    system: npt.NDArray[np.object_]
    generator: npt.NDArray[np.object_]
    arm: npt.NDArray[np.int32]
    kept: Mask
    control: tuple[str, ...]
    #: Of the study's follow-ups, judged or not: the pair, the system and the generator, all of shape (follow-ups,).
    every: dict[str, npt.NDArray[np.object_]]

    def of_raters(self, names: list[str] | None) -> Mask:
        """The entries of these raters; of people if none are named."""
        chosen = ~self.ratings.is_simulator if names is None else np.isin(self.ratings.raters, names)
        return self.kept & np.asarray(chosen)[self.ratings.rater]


def _entries(ctx: Context) -> _Entries | None:
    """None if the study has no control arms, or nobody has judged in one."""
    if ctx.arms is None or not ctx.arms.control:
        return None
    table = ctx.arms.data.table(ctx.headline.name)
    items, units, ratings = ctx.arms.data.judgments.items, table.units, table.ratings
    arm = ctx.arms.arm.codes[units.item]
    if not len(ratings) or not (arm[ratings.unit] > 0).any():
        return None
    # The arms of an item have the same explanation and follow-up.
    pair = _pairs(items, units.item)
    real = units.real_output if "simulatability" in ctx.hit_type.measures else units.output
    kept = np.ones(len(ratings.units), dtype=bool)
    asked = np.flatnonzero(ctx.arms.data.judgments.in_play & (ctx.arms.arm.codes == 0))
    if "simulatability" in ctx.hit_type.measures:
        rows = ctx.follow_ups(ctx.headline.name, rule_of(ctx), forced=True)
        compared = set(rows[0].unit) if rows else set()
        shown = {name for name, unit in zip(pair, ratings.units, strict=True) if unit in compared}
        kept = np.array([name in shown for name in pair], dtype=bool)
        keys = items.key.take(asked).values("")
        asked = asked[np.array([key in compared for key in keys], dtype=bool)]
    at = ratings.unit
    return _Entries(
        ratings=ratings,
        predicted=np.array(ratings.labels, dtype=object)[ratings.value],
        real=real.values("")[at],
        pair=pair[at],
        instance=units.instance.values("")[at],
        system=units.system.values("")[at],
        generator=units.generator.values("")[at],
        arm=arm[at],
        kept=kept[at],
        control=ctx.arms.control,
        every={
            "pair": _pairs(items, asked),
            "system": items.system.take(asked).values(""),
            "generator": items.generator.take(asked).values(""),
        },
    )


def _pairs(items: Items, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """Names of the follow-ups of explanations that items are about: alike in all arms."""
    columns = zip(items.explanation[rows].tolist(), items.follow_up[rows].tolist(), strict=True)
    return np.array([f"{explanation}/{follow_up}" for explanation, follow_up in columns], dtype=object)


@dataclass(frozen=True, eq=False)
class _MeasuredGain:
    """The figures of one side (people or a simulator) against one control arm: of all follow-ups (``column`` is empty), or of one system or
    generator."""

    side: str
    arm: str
    column: str
    name: str
    gain: SimulatabilityGain

    @property
    def against(self) -> str:
        return ARM_TITLES[self.arm]


def _measured(ctx: Context, entries: _Entries) -> Iterator[_MeasuredGain]:
    for side, names in _sides(ctx):
        chosen = entries.of_raters(names)
        if not chosen.any():
            continue
        for code, arm in enumerate(entries.control, 1):
            both = chosen & ((entries.arm == 0) | (entries.arm == code))
            yield _MeasuredGain(side, arm, "", ALL, _gain(ctx, entries, both, arm, people=names is None))
            for column in ("system", "generator"):
                values = getattr(entries, column)
                found = sorted(set(values[both]) - {""})
                for value in found if len(found) > 1 else ():
                    mine = both & (values == value)
                    one = _gain(ctx, entries, mine, arm, (column, value), people=names is None)
                    yield _MeasuredGain(side, arm, column, value, one)


def _sides(ctx: Context) -> list[tuple[str, list[str] | None]]:
    rule = rule_of(ctx)
    alone = rule.partition(":")[2] if rule.startswith("single:") else ""
    sides: list[tuple[str, list[str] | None]] = [
        (alone or ctx.people.capitalize(), [alone] if alone else None)
    ]
    return sides + [(name, [name]) for name in ctx.simulators if name != alone]


def _unjudged(
    ctx: Context, entries: _Entries, rows: Mask, arm: str, part: tuple[str, str], *, people: bool
) -> float | None:
    """The share of the predictions asked for in the two arms that nobody has made; None unless intervals are for these items."""
    if ctx.items != "these":
        return None
    column, value = part
    every = entries.every["pair"] if not column else entries.every["pair"][entries.every[column] == value]
    names, place = np.unique(every.astype(str)), entries.pair[rows].astype(str)
    if not names.size:
        return None
    given = []
    for of_arm, asked in (
        (entries.arm[rows] == 0, raters_asked(ctx.study)), (entries.arm[rows] > 0, raters_asked(ctx.study, arm))
    ):  # fmt: skip
        found, number = np.unique(place[of_arm], return_counts=True)
        numbers = dict(zip(found.tolist(), number.tolist(), strict=True))
        least = asked if people else 1
        given.append([min(numbers.get(name, 0), least) / least for name in names.tolist()])
    return 1.0 - float(np.array(given).min(axis=0).mean())


def _gain(
    ctx: Context, entries: _Entries, rows: Mask, arm: str, part: tuple[str, str] = ("", ""), *, people: bool
) -> SimulatabilityGain:
    return simulatability_gain(
        entries.predicted[rows].tolist(),
        entries.real[rows].tolist(),
        entries.pair[rows].tolist(),
        entries.instance[rows].tolist(),
        (entries.arm[rows] == 0).tolist(),
        abstain=entries.ratings.abstain,
        cannot_guess="left_out" if ctx.choices.cannot_guess == "left_out" else "wrong",
        refusals_left_out=ctx.choices.refusals == "left_out",
        raters=entries.ratings.rater[rows].tolist() if ctx.new_raters and people else None,
        unjudged=_unjudged(ctx, entries, rows, arm, part, people=people),
        **ctx.resampling,
    )


def planned_gain(ctx: Context, system: str = "") -> SimulatabilityGain | None:
    """The gain of one system (of all together without one) against the study's first control arm, as the table's first side has it; None
    where the table has no such row."""
    entries = _entries(ctx)
    if entries is None:
        return None
    rows = entries.of_raters(_sides(ctx)[0][1]) & (entries.arm <= 1)
    rows &= (entries.system == system) | (not system)
    part = ("system", system) if system else ("", "")
    arm = entries.control[0]
    return _gain(ctx, entries, rows, arm, part, people=_sides(ctx)[0][1] is None) if rows.any() else None


def _of(found: list[_MeasuredGain], column: str) -> list[_MeasuredGain]:
    return [one for one in found if one.column == column]


def _sentence(ctx: Context, one: _MeasuredGain) -> str:
    found = one.gain
    who = ctx.people if one.side == ctx.people.capitalize() else one.side
    against = "with the answer only" if one.arm == "answer_only" else "with nothing shown"
    return CountedSentence(
        f"Of the system’s answers, {who} predicted {stated(found.accuracy_with, 'follow-up', 'percent')} with the explanation and "
        f"{stated(found.accuracy_without, 'follow-up', 'percent')} {against}. The gain is {stated(found.gain, 'follow-up', 'percent', POINTS)}, NSG "
        f"{stated(found.nsg, 'follow-up')}.",
        len(found.by_instance),
    )


_COLUMNS = {
    "accuracy_with": "With",
    "accuracy_without": "Without",
    "gain": "Gain",
    "nsg": "NSG",
    "misled": "Misled",
    "helped": "Helped",
}


def _table(ctx: Context, found: list[_MeasuredGain], column: str) -> Table:
    title = "Predictions with and without the explanation, %" + (
        ", by generator" if column == "generator" else ""
    )
    rows = []
    for one in found:
        cells = [
            Cell.of(getattr(one.gain, name), shape="number" if name == "nsg" else "percent", rule="per_rater")
            for name in _COLUMNS
        ]
        cells += [Cell.count(one.gain.gain.n), *map(Cell.count, one.gain.judgments)]
        rows.append(TableRow([one.name, one.against], cells, group=one.side))
    return Table(
        id="simulatability-gain" if column == "system" else "simulatability-gain-generators",
        title=title,
        head=[column.capitalize(), "Without: control arm"],
        columns=[
            *(TableColumn(label) for label in _COLUMNS.values()),
            TableColumn("Follow-ups"),
            TableColumn("With", "Predictions"),
            TableColumn("Without", "Predictions"),
        ],
        rows=rows,
        notes=[f"“Cannot guess” counts as: {GUESSES[ctx.choices.cannot_guess].lower()}."],
    )


def _compared(
    ctx: Context, found: list[_MeasuredGain]
) -> Iterator[tuple[_MeasuredGain, PairedDifference, float]]:
    """Every two systems of a side and arm, with Holm's correction over all of them."""
    of_systems = _of(found, "system")
    pairs = [(a, b) for a, b in combinations(of_systems, 2) if (a.side, a.arm) == (b.side, b.arm)]
    if len({of_system.name for of_system in of_systems}) > MOST:
        return
    # Without intervals the permutation test still needs a generator.
    rng, replicates = np.random.default_rng(ctx.choices.seed), ctx.choices.replicates
    differences = [
        gain_difference(a.gain, b.gain, names=(a.name, b.name), rng=rng, replicates=replicates)
        for a, b in pairs
    ]
    adjusted = holm([one.p_permutation for one in differences])
    for (a, _), difference, p in zip(pairs, differences, adjusted, strict=True):
        yield a, difference, float(p)


def _comparison(compared: list[tuple[_MeasuredGain, PairedDifference, float]]) -> Table:
    rows = []
    for one, difference, p in compared:
        estimates = (difference.first_mean, difference.second_mean, difference.difference)
        cells = [Cell.of(found, shape="percent", rule="per_rater") for found in estimates]
        cells += [
            Cell.number(p, shape="p", n=difference.difference.n, reason="no difference that could be tested"),
            Cell.count(difference.difference.n),
        ]
        rows.append(TableRow([difference.first, difference.second, one.against], cells, group=one.side))
    return Table(
        id="simulatability-gain-compared",
        title="Gain of every two systems, %, on the instances where both are defined",
        head=["First", "Second", "Without: control arm"],
        columns=[
            TableColumn("First"),
            TableColumn("Second"),
            TableColumn("Difference"),
            TableColumn("p (Holm)"),
            TableColumn("Instances"),
        ],
        rows=rows,
        notes=[
            "Each instance counts once. p: permutation of the two systems within instances, after Holm’s correction over all rows."
        ],
    )


def _figure(found: list[_MeasuredGain]) -> Figure:
    systems = _of(found, "system")
    points = [
        {
            "label": system.name,
            "group": f"{system.side}, without: {system.against}",
            "first": system.gain.accuracy_without.to_dict(),
            "second": system.gain.accuracy_with.to_dict(),
            **system.gain.gain.to_dict(),
        }
        for system in systems or found
        if system.gain.gain.defined
    ]
    return Figure(
        id="simulatability-gain-slopes",
        title="Accuracy without and with the explanation",
        alt="A line for each system from its accuracy without the explanation to that with it: the values of the table.",
        form="slopes",
        data={
            "first": "without",
            "second": "with the explanation",
            "y": "Right predictions, %",
            "points": points,
        },
    )
