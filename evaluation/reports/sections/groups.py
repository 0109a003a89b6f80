"""Agreement, means and precision of each group of items or raters, by the attribute that was chosen."""

from __future__ import annotations

import numpy as np

from annotator.hit_types.base import Variable
from evaluation.agreement.aggregate import Rule, parse_rule
from evaluation.agreement.by_group import NO_GROUP, by_group
from evaluation.core.filter_text import RATER
from evaluation.core.ratings_table import Codes, Ints
from evaluation.metrics import FollowUps, Simulatability, per_rater_simulatability
from evaluation.ratings.attributes import Attribute
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Section, Shape, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.group_columns import MOST_GROUPS, attribute_grouped
from evaluation.reports.registry import section
from evaluation.reports.sections.accuracy import scored
from evaluation.reports.sections.means import median_cell, ranks_note

#: Statistics of a group, in the order of the columns.
SHOWN: dict[str, tuple[str, Shape]] = {
    "percent_agreement": ("Percent agreement", "percent"),
    "krippendorff_alpha": ("Krippendorff’s α", "number"),
    "gwet_ac1": ("Gwet’s AC1", "number"),
    "cohen_kappa_quadratic_mean": ("Mean Cohen’s κ with quadratic weights", "number"),
    "cohen_kappa_mean": ("Mean Cohen’s κ", "number"),
    "mean": ("Mean", "number"),
    "median": ("Median", "number"),
    "mean_rank": ("Mean rank", "number"),
    "median_rank": ("Median", "number"),
    "accuracy": ("% correct", "percent"),
    "accuracy_of_labels": ("% of labels correct", "percent"),
}


@section(order=90, title="Groups")
def groups(ctx: Context) -> Section | None:
    """Tables by the chosen attribute; None if none was chosen."""
    if not ctx.choices.by:
        return None
    attribute = attribute_grouped(ctx)
    about = "raters" if attribute.of == "raters" else "items"
    blocks = [_agreement(ctx, variable, attribute) for variable in ctx.data.variables]
    if "simulatability" in ctx.hit_type.measures:
        blocks += _precision(ctx, attribute)
    return Section(
        id="groups",
        title=f"By {attribute.name.removeprefix(RATER)} of {about}",
        blocks=[block for block in blocks if block.rows],
        notes=[
            "Each group contains only its own ratings"
            + (": raters of a group are compared with each other." if about == "raters" else "."),
            "Every other table has columns for each group beside those of the whole study."
            if len(attribute.names) <= MOST_GROUPS
            else f"The other tables have no columns for groups: there are more than {MOST_GROUPS}. Choose one under “Only” in "
            "a new report.",
        ],
    )


def _agreement(ctx: Context, variable: Variable, attribute: Attribute) -> Table:
    scores = scored(ctx, variable.name)
    table = ctx.data.table(variable.name)
    everyone = table.ratings if scores is None else scores.ratings
    item = table.units.item if scores is None else scores.item
    unanswered: tuple[Ints, Ints, Codes] | None = None
    people = everyone
    if not ctx.only_simulators:
        people = everyone.where(~everyone.is_simulator[everyone.rater])
        scores = scores and scores.of_people()
    by_item = attribute.of == "items"
    codes: Codes = attribute.codes[item[people.unit] if by_item else people.rater]
    if scores is not None:
        rater, unit = scores.unanswered
        unanswered = (rater, unit, attribute.codes[item[unit] if by_item else rater])
    gold = None if scores is None else scores.gold
    found = by_group(
        people,
        attribute.names,
        codes,
        gold=gold,
        ties_wrong=ctx.choices.ties == "wrong",
        unanswered=unanswered,
        rule=None if gold is None or ctx.only_simulators else _combining(ctx, variable.name),
        min_overlap=ctx.choices.min_overlap,
        named=ctx.named,
        **ctx.resampling,
    )
    names = [name for name in SHOWN if any(name in group.statistics for group in found)]
    rows = [
        TableRow(
            [group.name],
            [
                *(
                    median_cell(ctx, people, group.statistics[name])
                    if name == "median_rank"
                    else Cell.of(group.statistics[name], shape=SHOWN[name][1])
                    for name in names
                ),
                *(Cell.count(size) for size in (group.ratings, group.units, group.raters)),
            ],
        )
        for group in found
    ]
    return Table(
        id=f"groups-{variable.name}",
        title=f"“{variable.title}” by {attribute.name.removeprefix(RATER)}",
        head=[attribute.name.removeprefix(RATER)],
        columns=[
            *(TableColumn(SHOWN[name][0]) for name in names),
            *(TableColumn(name) for name in ("Ratings", "Units", "Raters")),
        ],
        rows=rows,
        notes=[ranks_note(ctx, people)] if people.ranked else [],
    )


def _precision(ctx: Context, attribute: Attribute) -> list[Table]:
    variable = ctx.headline.name
    parts = (
        _by_item(ctx, variable, attribute) if attribute.of == "items" else _by_rater(ctx, variable, attribute)
    )
    rows = []
    for name, tables in parts:
        found: Simulatability = per_rater_simulatability(tables, **ctx.resampling)
        if not found.simulatable.n:
            continue
        figures = (found.precision, found.precision_micro, found.simulatable)
        cells = [Cell.of(figure, shape="percent", rule=ctx.chosen_rule) for figure in figures]
        rows.append(TableRow([name], cells))
    title = attribute.name.removeprefix(RATER)
    return [
        Table(
            id="groups-precision",
            title=f"Simulation precision by {title}, %",
            head=[title],
            columns=[
                TableColumn("Macro precision"),
                TableColumn("Micro precision"),
                TableColumn("Simulatable"),
            ],
            rows=rows,
        )
    ]


def _by_item(ctx: Context, variable: str, attribute: Attribute) -> list[tuple[str, list[FollowUps]]]:
    keys = ctx.data.judgments.items.key.values("")
    group_of = dict(zip(keys, attribute.codes.tolist(), strict=True))
    found = []
    for code, name in [*enumerate(attribute.names), (-1, NO_GROUP)]:
        tables = [
            table.take(np.array([group_of[unit] == code for unit in table.unit], dtype=bool))
            for table in ctx.follow_ups(variable)
        ]
        found.append((name, tables))
    return found


def _by_rater(ctx: Context, variable: str, attribute: Attribute) -> list[tuple[str, list[FollowUps]]]:
    """Labels of each group's raters alone, by the chosen rule."""
    ratings, base = ctx.ratings(variable), ctx.base(variable)
    found = []
    for code, name in [*enumerate(attribute.names), (-1, NO_GROUP)]:
        own = [
            rater
            for rater, group in zip(ratings.raters, attribute.codes.tolist(), strict=True)
            if group == code and rater not in ratings.simulators
        ]
        pool = ratings.only_raters(own)
        if len(pool) and not ctx.chosen_rule.startswith("single:"):
            found.append(
                (
                    name,
                    [
                        base.with_labels(labels, pool)
                        for labels in parse_rule(ctx.rule_for(variable)).tables(pool)
                    ],
                )
            )
    return found


def _combining(ctx: Context, variable: str) -> Rule:
    return ctx.combining(variable, ctx.rule_for(variable, rule_of(ctx)))
