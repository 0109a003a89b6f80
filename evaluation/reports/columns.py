"""One label per unit, with what the unit is about: the columns for P2's and P3's metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from annotator.hit_types.base import NEITHER, REFUSAL, AnsweredTwice
from evaluation.reports.context import Context

#: One value per row.
Values = list[Any]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Items in play as rows: ``label`` maps a variable to its aggregated labels (None if there is none). ``rule`` is
    the rule used: majority if the chosen one gives one table per rater.
    """

    rule: str
    item: np.ndarray
    label: dict[str, Values]
    instance: Values
    system: Values
    gold: Values
    follow_up_gold: Values
    kind: Values
    output: Values

    def known(self, *names: str) -> np.ndarray:
        """Rows in which any of these variables was asked about."""
        return np.array([any(row) for row in zip(*(self.label[n] for n in names), strict=True)], dtype=bool)


def labelled_items(ctx: Context, *variables: str) -> Labelled:
    """One row per item in play, with people's aggregated label on each variable; units must be whole items."""
    judgments = ctx.data.judgments
    items = judgments.items
    rows = np.flatnonzero(judgments.in_play)
    rule = rule_of(ctx)
    labels: dict[str, Values] = {}
    for variable in variables:
        (found,) = ctx.labels(variable, rule)
        by_item = np.full(len(items), -1, dtype=np.int64)
        by_item[ctx.data.table(variable).units.item] = found.value
        names = np.array([*found.labels, None], dtype=object)
        labels[variable] = names[by_item[rows]].tolist()
    return Labelled(
        rule=rule,
        item=rows,
        label=labels,
        instance=items.instance_names.take(rows).values("").tolist(),
        system=items.system.take(rows).values("not known").tolist(),
        gold=[value or None for value in items.gold.take(rows).values()],
        follow_up_gold=[value or None for value in items.follow_up_gold.take(rows).values()],
        kind=items.kind.take(rows).values("").tolist(),
        output=[value or None for value in items.output.take(rows).values()],
    )


@dataclass(frozen=True, eq=False)
class OwnAnswers:
    """Each person's own answers before and after a model's answer is seen, one entry per judgment that has both; None for an answer
    that says nothing about the outcome ("cannot guess")."""

    rater: Values
    #: The item's number in the study.
    item: Values
    before: Values
    after: Values
    gold: Values
    instance: Values
    system: Values
    #: The model's own answers.
    output: Values

    @property
    def abstained(self) -> int:
        """How many entries have no answer before, or none after."""
        return sum(None in pair for pair in zip(self.before, self.after, strict=True))


def own_answers(ctx: Context) -> OwnAnswers:
    """People's own answers on the items in play, without any aggregation, in order of item, then rater.

    ``gold`` is what makes them right: the correct answer, or the system's real output (see ``AnsweredTwice``).
    """
    items = ctx.data.judgments.items
    asked = ctx.hit_type.answered_twice() or AnsweredTwice()
    keys, labels = [], []
    for name in (asked.before, asked.after):
        table = ctx.data.table(name)
        ratings = ctx.of_raters(table.ratings)
        item = table.units.item[ratings.unit].astype(np.int64)
        keys.append(item * len(ratings.raters) + ratings.rater)
        given = [None if label in table.variable.abstain else label for label in ratings.labels]
        labels.append(np.array([*given, None], dtype=object)[ratings.value])
        names = ratings.raters
    both, first, second = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    rows = (both // max(len(names), 1)).astype(np.int32)
    truth = items.gold if asked.right == "gold_label" else items.real_output
    no_truth = {None, ""}
    if asked.right == "real_output" and ctx.choices.refusals == "left_out":
        no_truth |= {REFUSAL, NEITHER}
    return OwnAnswers(
        rater=[names[code] for code in both % max(len(names), 1)],
        item=rows.tolist(),
        before=labels[0][first].tolist(),
        after=labels[1][second].tolist(),
        gold=[None if value in no_truth else value for value in truth.take(rows).values()],
        instance=items.instance_names.take(rows).values("").tolist(),
        system=items.system.take(rows).values("not known").tolist(),
        output=[value or None for value in items.output.take(rows).values()],
    )


def rule_of(ctx: Context) -> str:
    """The chosen rule, or majority if a figure needs one label per unit and the rule gives one per rater. The notes of
    a section say so if it uses a different rule from the chosen one.
    """
    if ctx.per_rater:
        ctx.deviations.add(
            "The chosen rule doesn’t combine raters’ labels. This section needs one label for each unit and uses the "
            "majority."
        )
        return "majority"
    if ctx.chosen_rule != ctx.choices.rule:
        ctx.deviations.add(
            f"Only simulators have judged: this section uses the labels of {ctx.simulators[0]} alone."
        )
    return ctx.chosen_rule
