"""P1 Table 4: simulation precision of each system."""

from __future__ import annotations

from evaluation.core.estimate import Estimate
from evaluation.reports.choices import RESTRICTIONS
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.simulating import (
    Judge,
    denominators,
    in_layout,
    judges,
    measure,
    of_instances,
    of_system,
    shared_instances,
    system_columns,
)
from evaluation.reports.words import CountedSentence, count, left_out, stated

#: The row of all systems, which sentences on them all speak of.
TOGETHER = "All systems"
NO_COMMON = (
    "No instance has a precision in every system, so the systems cannot be compared on shared instances: choose “All "
    "instances” to see each system on its own.",
)


@section(order=40, title="P1 Table 4: simulation precision", measure="simulatability")
def p1_table4(ctx: Context) -> Section | None:
    """Precision by system on common and on all instances, macro and micro, with the simulatable share."""
    found = [judge for judge in judges(ctx) if judge.systems]
    if not found:
        return None
    measured = [_Measured(ctx, judge) for judge in found]
    first = measured[0]
    return Section(
        id="p1-table-4",
        number="P1 Table 4",
        title="Simulation precision",
        prose=_prose(ctx, first),
        blocks=[_paper_table(ctx, measured), _figure(ctx, measured), _details(ctx, measured)],
        notes=_notes(first),
    )


class _Measured:
    """A judge's figures for all systems together and for each, on common instances and on all."""

    def __init__(self, ctx: Context, judge: Judge):
        self.judge = judge
        self.systems = in_layout(ctx, judge.systems)
        self.instances = shared_instances(judge)
        self.seen = len(judge.tables[0].distinct("instance"))
        inside = judge.only(of_instances(self.instances))
        self.common = {s: measure(ctx, inside.only(of_system(s))) for s in self.systems}
        self.all = {s: measure(ctx, judge.only(of_system(s))) for s in self.systems}
        self.together, self.together_common = measure(ctx, judge), measure(ctx, inside)
        self.counts = denominators(judge)
        self.counts_of = {s: denominators(judge.only(of_system(s))) for s in self.systems}

    def headline(self, ctx: Context, system: str) -> Estimate:
        chosen = self.common if ctx.choices.restriction == "common" else self.all
        return chosen[system].precision


def _prose(ctx: Context, found: _Measured) -> list[str]:
    whole = found.together
    raters = len(found.judge.tables)
    pooled = "pooled over follow-ups" if raters == 1 else "pooled over each rater’s follow-ups"
    explained: str | tuple[str, str] = "explanation"
    followed: str | tuple[str, str] = "follow-up"
    if raters > 1:  # an explanation counts once for each rater
        explained = ("rater’s explanation", "raters’ explanations")
        followed = ("rater’s follow-up", "raters’ follow-ups")
    precision = stated(whole.precision, explained, "percent")
    if whole.precision.defined:
        precision = f"{precision} as a mean over explanations, {stated(whole.precision_micro, followed, 'percent')} {pooled}"
    whose = _whose(ctx, found.judge.name)
    text = f"On all systems and instances together, {whose} simulation precision is {precision}. "
    text += (
        f"Of the labelled follow-ups, {stated(whole.simulatable, followed, 'percent')} could be simulated."
    )
    if raters > 1:
        text += f" These are means over {count(raters, 'rater')}, each measured alone, of "
        text += f"{count(found.counts.explanations, 'explanation')}."
    first = CountedSentence(text, found.counts.explanations)
    if len(found.systems) < 2:
        return [first]
    return [
        first,
        f"Precision is defined in all {len(found.systems)} systems on {count(len(found.instances), 'instance')} "
        f"of {found.seen:,}; systems are compared on {'those' if ctx.choices.restriction == 'common' else 'all'}.",
        *(NO_COMMON if not found.instances and ctx.choices.restriction == "common" else ()),
    ]


def _whose(ctx: Context, name: str) -> str:
    """The judge in the possessive, for a sentence: people’s, gpt-4’s."""
    name = ctx.people if name == ctx.people.capitalize() else name
    return f"{name}’" if name.endswith("raters") else f"{name}’s"


def _paper_table(ctx: Context, measured: list[_Measured]) -> Table:
    systems = measured[0].systems
    rows = [
        TableRow(
            [ctx.dataset, found.judge.name],
            [Cell.of(found.headline(ctx, s), shape="percent", rule=found.judge.rule) for s in systems],
        )
        for found in measured
        if found.systems == systems
    ]
    return Table(
        id="p1-table-4",
        number="P1 Table 4",
        title=f"Simulation precision, % ({RESTRICTIONS[ctx.choices.restriction].lower()})",
        head=["Dataset", "Simulated by"],
        columns=system_columns(ctx, systems),
        rows=rows,
        notes=[
            "Macro average: the mean over explanations with at least one follow-up that could be simulated.",
            *ctx.compared_notes(ctx.headline.name),
        ],
    )


def _figure(ctx: Context, measured: list[_Measured]) -> Figure:
    several = len(measured) > 1
    points = [
        {
            "label": system,
            "group": found.judge.name if several else "",
            **found.headline(ctx, system).to_dict(),
        }
        for found in measured
        for system in found.systems
    ]
    return Figure(
        id="p1-table-4-precision",
        title="Simulation precision by system",
        alt="The values of P1 Table 4 with their intervals.",
        form="intervals",
        data={"x": "Simulation precision, %", "shape": "percent", "points": points},
    )


def _details(ctx: Context, measured: list[_Measured]) -> Table:
    rows = []
    for found in measured:
        rule = found.judge.rule
        every = [(s, found.common[s], found.all[s], found.counts_of[s]) for s in found.systems]
        if len(every) > 1:
            every.append((TOGETHER, found.together_common, found.together, found.counts))
        for system, common, everywhere, rests_on in every:
            shares = [
                common.precision,
                everywhere.precision,
                everywhere.precision_micro,
                everywhere.simulatable,
            ]
            cells = [Cell.of(value, shape="percent", rule=rule) for value in shares]
            cells += [Cell.of(everywhere.unanswered, shape="percent", rule=rule)]
            cells += [Cell.count(rests_on.explanations), Cell.count(rests_on.follow_ups)]
            rows.append(TableRow([system], cells, group=found.judge.name))
    return Table(
        id="p1-table-4-details",
        title="Precision and simulatable share of each system, %",
        head=["System"],
        columns=[
            TableColumn("Common instances", "Macro precision"),
            TableColumn("All instances", "Macro precision"),
            TableColumn("Micro precision"),
            TableColumn("Simulatable"),
            TableColumn("No answer"),
            TableColumn("Explanations"),
            TableColumn("Follow-ups"),
        ],
        rows=rows,
        notes=[
            "Explanations and follow-ups are the denominators of macro precision and simulatable share.",
            *_choices_made(ctx),
        ],
    )


def _choices_made(ctx: Context) -> list[str]:
    """A sentence on how precision treats ties and follow-ups that the system refused."""
    said = "No answer: follow-ups that the system refused or answered with neither answer. "
    if ctx.choices.refusals == "wrong":
        said += "No prediction of them is right, so they count as wrong."
    else:
        said += "Precision leaves them out."
    ties = (
        ["Follow-ups on which raters tie count as wrong in precision."] if ctx.choices.ties == "wrong" else []
    )
    return [said, *ties]


def _notes(found: _Measured) -> list[str]:
    aside = {
        "Of macro precision": found.together.precision.left_out,
        "Of micro precision": found.together.precision_micro.left_out,
        "Of the simulatable share": found.together.simulatable.left_out,
    }
    return [f"{what}, left out: {left_out(counts)}." for what, counts in aside.items() if counts]
