"""Simulatability of one study, with the chosen rule and with each simulator: the basis of P1's tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics import (
    FollowUps,
    PerExplanation,
    Simulatability,
    per_explanation,
    per_rater_simulatability,
    simulatability,
)
from evaluation.metrics.over_raters import simulatability_over_raters
from evaluation.reports.content import TableColumn
from evaluation.reports.context import Context
from evaluation.reports.estimands import unjudged_units
from evaluation.reports.method_titles import method_title


@dataclass(frozen=True)
class Judge:
    """Whose labels a row of a table uses: people's with the chosen rule, or one simulator's."""

    name: str
    rule: str
    tables: tuple[FollowUps, ...]

    def only(self, keep: Callable[[FollowUps], FollowUps]) -> Judge:
        return Judge(self.name, self.rule, tuple(keep(table) for table in self.tables))

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(name for name in self.tables[0].names("system") if name) if self.tables else ()


def judges(ctx: Context) -> list[Judge]:
    """People first, then each simulator; with ``single:<rater>``, that rater takes the people's place."""
    variable, rule = ctx.headline.name, ctx.chosen_rule
    chosen = rule.partition(":")[2] if rule.startswith("single:") else ctx.people.capitalize()
    found = [Judge(chosen, rule, ctx.follow_ups(variable))]
    for name in ctx.simulators:
        if name != chosen:
            found.append(Judge(name, f"single:{name}", ctx.follow_ups(variable, f"single:{name}")))
    return [judge for judge in found if judge.tables]


def measure(ctx: Context, judge: Judge) -> Simulatability:
    """Precision and simulatable share with a judge's labels: of one table, or the mean over raters."""
    if len(judge.tables) == 1:
        table, others, unjudged = judge.tables[0], None, None
        several = not judge.rule.startswith("single:")
        if ctx.items == "these" and several and len(table):
            unjudged = unjudged_units(ctx, ctx.of_raters(ctx.ratings(ctx.headline.name)), table.unit)
        if ctx.new_raters and several:
            rule = ctx.combining(ctx.headline.name, ctx.rule_for(ctx.headline.name, judge.rule))
            ratings = ctx.of_raters(ctx.ratings(ctx.headline.name))
            others = simulatability_over_raters(table, ratings, rule) if ctx.choices.replicates else None
        return simulatability(table, items=ctx.items, unjudged=unjudged, new_raters=others, **ctx.resampling)
    named = {str(number): table for number, table in enumerate(judge.tables)}
    return per_rater_simulatability(named, **ctx.resampling)


def of_system(system: str) -> Callable[[FollowUps], FollowUps]:
    return lambda table: table.where("system", system)


def of_instances(instances: frozenset[str]) -> Callable[[FollowUps], FollowUps]:
    def keep(table: FollowUps) -> FollowUps:
        codes, names = table.codes("instance")
        return table.take(np.array([name in instances for name in names], dtype=bool)[codes])

    return keep


def shared_instances(judge: Judge) -> frozenset[str]:
    """Instances where precision is defined in all systems; with a table per rater, for any of the raters.

    Raters may have judged different systems: every system must have been judged on the instance by someone.
    """
    counts = [per_explanation(table) for table in judge.tables]
    known = {
        (str(instance), str(system))
        for count in counts
        for instance, system in zip(
            count.instance[count.known > 0], count.system[count.known > 0], strict=True
        )
    }
    systems = judge.systems
    return frozenset(
        instance
        for instance in {instance for instance, _ in known}
        if all((instance, system) in known for system in systems)
    )


@dataclass(frozen=True)
class Denominators:
    """The denominators of a judge's figures; each is counted once, however many raters judged it."""

    explanations: int
    follow_ups: int


def denominators(judge: Judge) -> Denominators:
    """Explanations with a precision, and follow-ups with a label, in any of the judge's tables."""
    explanations = {name for table in judge.tables for name in _named(per_explanation(table))}
    if len(judge.tables) == 1:
        return Denominators(len(explanations), int(judge.tables[0].labelled.sum()))
    follow_ups = {str(unit) for table in judge.tables for unit in np.asarray(table.unit)[table.labelled]}
    return Denominators(len(explanations), len(follow_ups))


def _named(counts: PerExplanation) -> list[str]:
    return [str(name) for name in counts.explanation[counts.known > 0]]


def system_columns(ctx: Context, systems: Sequence[str]) -> list[TableColumn]:
    """A column per system: its method under its model if both are known (P1's layout), else its name."""
    known = ctx.data.judgments.items.systems
    columns = []
    for system in systems:
        model, method = known.get(system, ("", ""))
        columns.append(TableColumn(method_title(method), model) if model and method else TableColumn(system))
    return columns if len(set(columns)) == len(columns) else [TableColumn(system) for system in systems]


def in_layout(ctx: Context, systems: Sequence[str]) -> list[str]:
    """Systems in the order of the tables: by model, then method, so that a model's columns are neighbours."""
    known = ctx.data.judgments.items.systems
    return sorted(systems, key=lambda system: (known.get(system, ("", "")), system))
