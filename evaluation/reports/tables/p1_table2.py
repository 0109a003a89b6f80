"""P1 Table 2, and every two systems compared: paired differences of precision, with intervals and p values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evaluation.metrics.paired import (
    PairedDifference,
    all_pairs,
    averaged_over_systems,
    holm_corrected,
    normal_against_forced,
    precision_by_instance,
)
from evaluation.reports.columns import rule_of
from evaluation.reports.comparing import DIFFERENCE_COLUMNS, difference_cells
from evaluation.reports.content import Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.method_titles import method_title
from evaluation.reports.registry import section
from evaluation.reports.simulating import in_layout
from evaluation.reports.words import POINTS, CountedSentence, count, number, stated

#: With more systems than this there would be too many pairs for a table.
MOST = 12


@section(order=50, title="P1 Table 2: systems compared", measure="simulatability")
def p1_table2(ctx: Context) -> Section | None:
    """Normal compared with forced explanations of one model, and precision of every two systems, instance by instance."""
    rule = rule_of(ctx)
    tables = ctx.follow_ups(ctx.headline.name, rule, forced=True)
    everyone = in_layout(ctx, sorted(tables[0].distinct("system") - {""})) if tables else []
    if len(everyone) < 2 or len(everyone) > MOST:
        return None
    table = tables[0]
    systems = [name for name in everyone if name not in ctx.forced_systems]
    # Without intervals the permutation test still needs a generator.
    rng, replicates = np.random.default_rng(ctx.choices.seed), ctx.choices.replicates
    values = {name: precision_by_instance(table.where("system", name)) for name in systems}
    if ctx.choices.restriction == "common":
        shared = set.intersection(*(set(found) for found in values.values()))
        values = {name: {k: v for k, v in found.items() if k in shared} for name, found in values.items()}
    pairs = all_pairs(values, rng=rng, replicates=replicates)
    forced = holm_corrected(
        [
            normal_against_forced(table, a, b, _right(ctx, a), rng=rng, replicates=replicates)
            for a, b in _forced(ctx, everyone)
        ]
    )
    blocks: list[Table | Figure] = [_forced_table(ctx, forced, rule)] if forced else []
    blocks += [*_averages(ctx, values, rule), _pairs_table(pairs, rule), _figure(pairs)] if pairs else []
    return Section(
        id="p1-table-2",
        number="P1 Table 2" if forced else "",
        title="Systems compared",
        prose=[_sentence(one, "that it answers correctly under normal prompting and ") for one in forced]
        or [_sentence(pair) for pair in pairs[:1]],
        blocks=blocks,
        notes=[
            "Differences are means over instances of the first system’s precision minus the second’s. p: permutation of "
            "the two within instances, after Holm’s correction over all pairs; p of the paired t-test, which the authors’ "
            "code uses, is shown beside it uncorrected.",
            *ctx.compared_notes(ctx.headline.name),
        ],
    )


def _forced(ctx: Context, systems: list[str]) -> list[tuple[str, str]]:
    """(normal, forced) systems of one model: methods named post-hoc and forced."""
    known = ctx.data.judgments.items.systems
    found = {known.get(name, ("", "")): name for name in systems}
    return [
        (found[(model, normal)], name)
        for (model, method), name in found.items()
        if method.lower().startswith("forced")
        for normal in {m for o, m in found if o == model and m.lower().startswith("post")}
    ]


def _right(ctx: Context, system: str) -> set[str]:
    """Instances that the system answers correctly."""
    items = ctx.data.judgments.items
    rows = zip(
        items.instance_names.values(""),
        items.system.values(""),
        items.output.values(),
        items.gold.values(),
        strict=True,
    )
    return {instance for instance, name, output, gold in rows if name == system and output and output == gold}


def _sentence(one: PairedDifference, which: str = "") -> str:
    """On the instances that the two share: possibly fewer than a table of single systems is based on."""
    if not one.difference.defined:
        return f"{one.first} and {one.second} can’t be compared: {one.difference.reason}."
    return CountedSentence(
        f"On the {count(one.difference.n, 'instance')} {which}where both are defined, {one.first} has a precision of "
        f"{stated(one.first_mean, 'instance', 'percent')}, {one.second} of {stated(one.second_mean, 'instance', 'percent')}: "
        f"a difference of {stated(one.difference, 'instance', 'percent', POINTS)}.",
        one.difference.n,
    )


def _forced_table(ctx: Context, forced: Sequence[PairedDifference], rule: str) -> Table:
    return Table(
        id="p1-table-2",
        number="P1 Table 2",
        title="Normal against forced explanations: simulation precision, %",
        head=["Dataset", "System"],
        columns=[TableColumn("Normal"), TableColumn("Forced"), TableColumn("Δ"), *DIFFERENCE_COLUMNS[3:]],
        rows=[TableRow([ctx.dataset, one.first], difference_cells(one, rule)) for one in forced],
        notes=[
            "Only instances that the system answers correctly under normal prompting. p: Holm’s correction is over the rows."
        ],
    )


def _pairs_table(pairs: tuple[PairedDifference, ...], rule: str) -> Table:
    return Table(
        id="systems-compared",
        title="Simulation precision of every two systems, %, on the instances where both are defined",
        head=["First", "Second"],
        columns=DIFFERENCE_COLUMNS,
        rows=[TableRow([pair.first, pair.second], difference_cells(pair, rule)) for pair in pairs],
    )


def _averages(ctx: Context, values: Mapping[str, Mapping[str, float]], rule: str) -> list[Table]:
    """Models averaged over their methods, and methods averaged over the models: the text's comparisons of Table 4."""
    known = {name: ctx.data.judgments.items.systems.get(name, ("", "")) for name in values}
    models, methods = ({pair[side] for pair in known.values()} for side in (0, 1))
    crossed = len(known) == len(set(known.values())) == len(models) * len(methods)
    if not crossed or "" in models | methods or len(known) in (len(models), len(methods)):
        return []
    rng = np.random.default_rng([ctx.choices.seed, 4])
    rows = []
    for side, title in ((0, "Models, over their methods"), (1, "Methods, over the models")):
        averaged = {
            name: averaged_over_systems([values[system] for system in known if known[system][side] == name])
            for name in sorted({pair[side] for pair in known.values()})
        }
        named = averaged if side == 0 else {method_title(name): found for name, found in averaged.items()}
        for all_pair in all_pairs(named, rng=rng, replicates=ctx.choices.replicates):
            rows.append(
                TableRow([all_pair.first, all_pair.second], difference_cells(all_pair, rule), group=title)
            )
    return [
        Table(
            id="p1-table-4-models",
            number="P1 Table 4",
            title="Simulation precision of models and of methods, %, each averaged over the other on every instance",
            head=["First", "Second"],
            columns=DIFFERENCE_COLUMNS,
            rows=rows,
            notes=[
                "On instances where all systems that are averaged have a precision. The paper’s +5.5 and +6.5 points are this "
                "comparison of two models; the authors’ code tests it with a one-sided paired t-test, the p here is two-sided."
            ],
        )
    ]


def _figure(pairs: tuple[PairedDifference, ...]) -> Figure:
    return Figure(
        id="systems-compared-differences",
        title="Paired differences of precision",
        alt="; ".join(
            f"{pair.first} minus {pair.second}: {number(pair.difference.value, 'percent')}" for pair in pairs
        ),
        form="intervals",
        data={
            "x": "Difference of precision, percentage points",
            "shape": "percent",
            "reference": {"value": 0.0, "label": "no difference"},
            "points": [
                {"label": f"{pair.first} – {pair.second}", **pair.difference.to_dict()} for pair in pairs
            ],
        },
    )
