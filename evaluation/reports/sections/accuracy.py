"""Labels collected elsewhere compared with correct ones, if the file had any."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from annotator.hit_types.base import Variable
from evaluation.agreement.accuracy import GoldAccuracy, accuracy
from evaluation.agreement.aggregate import Single
from evaluation.core.ratings_table import Codes, Ints, Ratings
from evaluation.ratings.load import VariableRatings
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.sections.agreement import unanswered_notes
from evaluation.reports.words import CountedSentence, count, stated

#: At most this many raters are listed.
LISTED = 100


@section(order=45, title="Accuracy against correct labels")
def accuracy_section(ctx: Context) -> Section | None:
    """One table for each variable that has correct labels; None if there is none."""
    blocks, prose = [], []
    for variable in ctx.data.variables:
        scores = scored(ctx, variable.name)
        if scores is None:
            continue
        found = _of_people(ctx, variable, scores)
        blocks.append(_table(ctx, variable, scores, found))
        if found is not None:
            prose.append(
                CountedSentence(
                    f"On “{variable.title}”, {stated(found.ratings, 'label', 'percent')} of the labels of {ctx.people} are "
                    "correct.",
                    found.ratings.n,
                )
            )
    return Section(id="accuracy", title="Accuracy", prose=prose, blocks=blocks) if blocks else None


@dataclass(frozen=True, eq=False)
class Scored:
    """The ratings of a variable and the correct labels.

    ``gold`` of shape (units,) has each unit's correct label as a code, -1 if it has none; ``item`` has its item.
    ``unanswered`` are (rater, unit) codes of answers that count as wrong because they were left blank.
    """

    ratings: Ratings
    gold: Codes
    item: Codes
    unanswered: tuple[Ints, Ints]

    def of_people(self) -> Scored:
        """Without the simulators' ratings."""
        ratings, (rater, unit) = self.ratings, self.unanswered
        people = ratings.where(~ratings.is_simulator[ratings.rater])
        kept = ~ratings.is_simulator[rater]
        return replace(self, ratings=people, unanswered=(rater[kept], unit[kept]))


def scored(ctx: Context, variable: str) -> Scored | None:
    """A variable's ratings with the correct labels; None if no unit has one."""
    gold = ctx.data.gold
    if not gold:
        return None
    table = ctx.data.table(variable)
    place = {label: code for code, label in enumerate(table.ratings.labels)}
    ratings, item, unanswered = _with_blanks(ctx, table)
    ends = [*table.units.suffix.values(""), *[""] * (item.size - len(table.ratings.units))]
    names = [f"{variable}.{end}" if end else variable for end in ends]
    known = [gold.get(number, {}).get(name) for number, name in zip(item.tolist(), names, strict=True)]
    found = [-1 if label is None else place[label] for label in known]
    codes = np.array(found, dtype=np.int32)
    return Scored(ratings, codes, item, unanswered) if (codes >= 0).any() else None


def _with_blanks(ctx: Context, table: VariableRatings) -> tuple[Ratings, Codes, tuple[Ints, Ints]]:
    """The ratings, each unit's item, and the blank answers that count as wrong; items that all left blank become units."""
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    ratings, item = table.ratings, table.units.item
    rater, blank = table.unanswered
    if ctx.choices.blanks != "wrong" or not blank.size or set(table.units.suffix.names) - {""}:
        return ratings, item, nothing
    items = ctx.data.judgments.items
    unit_of = np.full(len(items), -1, dtype=np.int64)
    unit_of[item] = np.arange(item.size)
    more = np.unique(blank[unit_of[blank] < 0])
    unit_of[more] = item.size + np.arange(more.size)
    every = np.concatenate((item, more)).astype(np.int32)
    instance = items.instance_names.codes[every].astype(np.int64)
    clusters = np.where(instance >= 0, instance, len(items.instance_names.names) + every.astype(np.int64))
    names = (*ratings.units, *items.key.take(more).values(""))
    ratings = replace(
        ratings, units=names, clusters=np.unique(clusters, return_inverse=True)[1].astype(np.int32)
    )
    return ratings, every, (rater.astype(np.int64), unit_of[blank])


def _of_people(ctx: Context, variable: Variable, scores: Scored) -> GoldAccuracy | None:
    if ctx.only_simulators:
        return None
    people = scores.of_people()
    rule = ctx.combining(variable.name, ctx.rule_for(variable.name, rule_of(ctx)))
    (labels,) = rule.tables(people.ratings if not isinstance(rule, Single) else scores.ratings)
    return accuracy(
        people.ratings,
        scores.gold,
        labels=labels,
        unanswered=people.unanswered,
        ties_wrong=ctx.choices.ties == "wrong",
        **ctx.resampling,
    )


def _table(ctx: Context, variable: Variable, scores: Scored, found: GoldAccuracy | None) -> Table:
    rows = []
    if found is not None and found.labels is not None:
        who = ctx.people.capitalize()
        rows.append(TableRow([f"{who}, one label per unit"], _cells(found.labels, rule_of(ctx))))
        rows.append(TableRow([f"{who}, single labels"], _cells(found.ratings, "per_rater")))
    ratings = scores.ratings
    everyone = accuracy(ratings, scores.gold, unanswered=scores.unanswered, **ctx.resampling).raters
    for name in ctx.simulators:
        if name in everyone:
            rows.append(TableRow([name], _cells(everyone[name], f"single:{name}"), group="Simulators"))
    people = [name for name in everyone if name not in ratings.simulators]
    if ctx.named and 1 < len(people) <= LISTED:
        rows += [
            TableRow([name], _cells(everyone[name], f"single:{name}"), group="Raters") for name in people
        ]
    return Table(
        id=f"accuracy-{variable.name}",
        title=f"Accuracy on “{variable.title}” against the correct labels, %",
        head=["Labels of"],
        columns=[TableColumn("% correct"), TableColumn("Labels")],
        rows=rows,
        notes=_notes(ctx, variable.name, scores),
    )


def _cells(found: Any, rule: str) -> list[Cell]:
    return [Cell.of(found, shape="percent", rule=rule), Cell.count(found.n)]


def _notes(ctx: Context, variable: str, scores: Scored) -> list[str]:
    notes = ["Units on which raters tie count as wrong."] if ctx.choices.ties == "wrong" else []
    blank = int((scores.gold[scores.unanswered[1]] >= 0).sum())
    if ctx.choices.blanks == "wrong":
        notes.append(f"Questions that a rater left blank count as wrong: {count(blank, 'answer')}.")
    else:
        notes += unanswered_notes(ctx, variable)
    return notes
