"""Simulators against the whole distribution of people's labels on a unit, beside the majority of the section before."""

from __future__ import annotations

from evaluation.agreement import soft_scores
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.words import CountedSentence, stated


@section(order=91, title="Simulators against the distribution of labels")
def soft_score_tables(ctx: Context) -> Section | None:
    """Cross-entropy and Jensen-Shannon divergence of each simulator on the headline variable, with a person's for comparison."""
    if not ctx.simulators or ctx.only_simulators or not ctx.named:
        return None
    ratings = ctx.agreement(ctx.headline.name).ratings
    found = [soft_scores(ratings, name, **ctx.resampling) for name in ctx.simulators]
    found = [one for one in found if one.divergence.defined]
    if not found:
        return None
    person = "A person left out"
    return Section(
        id="soft-scores",
        title="Simulators against the distribution of labels",
        prose=[
            CountedSentence(
                f"{one.simulator}’s labels are {stated(one.divergence, 'unit')} away from the labels of the other "
                f"{ctx.people}, by Jensen-Shannon divergence; a person’s own are {stated(one.people_divergence, 'unit')} away.",
                one.divergence.n,
            )
            for one in found
        ],
        blocks=[
            Table(
                id="soft-scores",
                title=f"Labels of each simulator against the distribution of {ctx.people}’s on “{ctx.headline.title}”",
                head=["Simulator"],
                columns=[
                    TableColumn("Simulator", "Cross-entropy, bits"),
                    TableColumn(person, "Cross-entropy, bits"),
                    TableColumn("Simulator", "Jensen-Shannon divergence"),
                    TableColumn(person, "Jensen-Shannon divergence"),
                    TableColumn("Units"),
                ],
                rows=[
                    TableRow(
                        [one.simulator],
                        [
                            *(
                                Cell.of(value)
                                for value in (
                                    one.cross_entropy,
                                    one.people_cross_entropy,
                                    one.divergence,
                                    one.people_divergence,
                                )
                            ),
                            Cell.count(one.divergence.n),
                        ],
                    )
                    for one in found
                ],
                notes=[
                    f"Each of the {ctx.people} is left out in turn, and the simulator’s label and theirs are scored against the "
                    "labels of the others: 0 is closest. Half a rating is added to each label in cross-entropy. A simulator that is "
                    "no further away than a person stands for one on units where people disagree, too."
                ],
            )
        ],
    )
