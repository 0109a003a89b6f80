"""P1 Table 1: how diverse are the follow-ups that each generator makes, and how many can be simulated?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evaluation.core.estimate import Estimate
from evaluation.metrics import (
    BASELINE_KIND,
    Cosine,
    Diversity,
    FollowUps,
    Generality,
    all_similarities,
    compare_diversity,
    diversity_by_generator,
    simulatability,
)
from evaluation.metrics.generators import SIMULATABLE
from evaluation.reports.comparing import DIFFERENCE_COLUMNS, difference_cells
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.encoders import cosine_title, report_encoder
from evaluation.reports.registry import section
from evaluation.reports.simulating import judges
from evaluation.reports.words import left_out

#: Up to this many follow-ups, every pair of an explanation's follow-ups is compared.
EXACT = 10_000
#: With more, about this many follow-ups, those of randomly drawn explanations.
DRAWN = 3_000
MIXED = "mixed: "
COLUMNS = {"bleu": "BLEU", "cosine": "Cosine", "jaccard": "Jaccard"}


@section(order=60, title="P1 Table 1: diversity of follow-ups", measure="simulatability")
def p1_table1(ctx: Context) -> Section | None:
    """Generality by three similarities and the simulatable share, for each generator and for all mixed."""
    found = judges(ctx)
    if not found or not len(found[0].tables[0]):
        return None
    judge = found[0]
    if len(judge.tables) > 1:
        note = "The majority decides which follow-ups can be simulated, since each single rater saw too few."
        rule = "majority"
    else:
        rule = judge.rule
        note = f"Which follow-ups can be simulated was decided by: {judge.name.lower()}."
    table = every_generator(ctx, rule)
    explained = table.take(~table.among("kind", {BASELINE_KIND}))
    generators = sorted(explained.distinct("generator") - {""})
    part, sampled = part_of(ctx, table)
    rows = diversity_by_generator(
        part,
        all_similarities(Cosine(report_encoder(ctx))),
        mixed=_in_mix(ctx, rule, part) if len(generators) > 1 else None,
        **ctx.resampling,
    )
    first = rows[0]
    compared = _differences(ctx, rows, table, judge.rule)
    return Section(
        id="p1-table-1",
        number="P1 Table 1",
        title="Diversity of follow-ups",
        prose=[_prose(len(explained), len(table.explanations), len(generators))],
        blocks=[
            Table(
                id="p1-table-1",
                number="P1 Table 1",
                title="Generality of simulatable follow-ups and simulatable share, %"
                + cosine_title(report_encoder(ctx)),
                head=["Dataset", "Generator"],
                columns=[
                    *(TableColumn(title, "Generality") for title in COLUMNS.values()),
                    TableColumn("Simulatable"),
                ],
                rows=[
                    TableRow(
                        [ctx.dataset, row.generator or "not known"],
                        [
                            *(
                                Cell.of(row.generality[key].generality, shape="percent", rule=judge.rule)
                                for key in COLUMNS
                            ),
                            Cell.of(_simulatable(ctx, rule, table, row), shape="percent", rule=judge.rule),
                        ],
                    )
                    for row in rows
                ],
                notes=[
                    note,
                    *_mixed(ctx, generators),
                    *_baselines(table),
                    *sampled,
                    *_versions(first.generality),
                ],
            ),
            *compared,
        ],
        notes=[
            f"{row.generator or 'All'}, left out of generality: {left_out(row.generality['bleu'].generality.left_out)}."
            for row in rows
            if row.generality["bleu"].generality.left_out
        ],
    )


def _differences(ctx: Context, rows: list[Diversity], table: FollowUps, rule: str) -> list[Table]:
    """Every generator and the mix against the baseline, and the mix against each generator, as in the paper's text."""
    baselines = table.where("kind", BASELINE_KIND).distinct("generator")
    mixed = [row for row in rows if row.generator.startswith(MIXED)]
    single = [row for row in rows if row.generator not in baselines and row not in mixed]
    pairs = [(row, other) for row in [*single, *mixed] for other in rows if other.generator in baselines]
    pairs += [(row, other) for row in mixed for other in single]
    if not pairs:
        return []
    rng = np.random.default_rng([ctx.choices.seed, 2])
    titles = COLUMNS | {SIMULATABLE: "Simulatable"}
    return [
        Table(
            id="p1-table-1-differences",
            number="P1 Table 1",
            title="Generators compared, %: generality and simulatable share, paired by instance",
            head=["First", "Second"],
            columns=DIFFERENCE_COLUMNS,
            rows=[
                TableRow([one.first, one.second], difference_cells(one, rule), group=titles[measure])
                for measure, one in sorted(
                    compare_diversity(pairs, rng=rng, replicates=ctx.choices.replicates),
                    key=lambda found: list(titles).index(found[0]),
                )
            ],
            notes=[
                "Means over instances on which both have a value; an instance’s value is the mean over its explanations. p: "
                "permutation of the two within instances, after Holm’s correction over the whole table; p of the paired t-test "
                "beside it uncorrected. The paper gives p values of this table without naming the test."
            ],
        )
    ]


def part_of(ctx: Context, table: FollowUps) -> tuple[FollowUps, list[str]]:
    """The whole table with its texts; of a very large one, the follow-ups of randomly drawn explanations, and a note that says
    so."""
    with_texts = ctx.base(ctx.headline.name).with_texts
    if len(table) <= EXACT:
        return with_texts(table), []
    names = table.explanations
    size = max(1, DRAWN * len(names) // len(table))
    drawn = np.random.default_rng([ctx.choices.seed, 1]).choice(len(names), size=size, replace=False)
    keep = np.zeros(len(names), dtype=bool)
    keep[drawn] = True
    return with_texts(table.take(keep[table.explanation_codes])), [
        f"Generality is estimated from {size:,} of {len(names):,} explanations, drawn at random (seed "
        f"{ctx.choices.seed}); the simulatable share is that of all follow-ups."
    ]


def _in_mix(ctx: Context, rule: str, part: FollowUps) -> FollowUps:
    """Those of the follow-ups that systems are compared on: the same mix as in every other table."""
    mix = ctx.follow_ups(ctx.headline.name, rule)[0]
    return part.take(part.units_in(mix))


def _simulatable(ctx: Context, rule: str, table: FollowUps, row: Diversity) -> Estimate:
    """The simulatable share of a row over all follow-ups, even if the row itself uses only part of them."""
    if len(table) <= EXACT:
        return row.simulatable
    mixed = row.generator.startswith(MIXED)
    whole = ctx.follow_ups(ctx.headline.name, rule)[0] if mixed else table.where("generator", row.generator)
    found = simulatability(whole, **ctx.resampling)
    return found.simulatable


def every_generator(ctx: Context, rule: str) -> FollowUps:
    """All follow-ups with a rule's labels, including the baseline; Table 1 doesn't include forced explanations."""
    table = ctx.all_follow_ups(ctx.headline.name, rule)[0]
    return table.take(~table.among("system", ctx.forced_systems))


def _mixed(ctx: Context, generators: list[str]) -> list[str]:
    if len(generators) < 2:
        return []
    return [
        f"Mixed: the follow-ups that systems are compared on, at most {ctx.hit_type.defaults.follow_ups} of each explanation, "
        f"drawn in turn from the generators (seed {ctx.choices.seed})."
    ]


def _baselines(table: FollowUps) -> list[str]:
    names = sorted(table.where("kind", BASELINE_KIND).distinct("generator"))
    return [f"Baseline, written without the explanation and in no mix: {', '.join(names)}."] if names else []


def _prose(follow_ups: int, explanations: int, generators: int) -> str:
    by = f" by {generators} generators" if generators > 1 else ""
    return (
        f"{follow_ups:,} follow-ups of {explanations:,} explanations were made{by}. Generality is one minus the mean "
        "similarity of the follow-ups of one explanation that could be simulated: the higher, the more they differ."
    )


def _versions(found: Mapping[str, Generality]) -> list[str]:
    return [f"{COLUMNS[key]}: {value.similarity}, {value.version}." for key, value in found.items()]
