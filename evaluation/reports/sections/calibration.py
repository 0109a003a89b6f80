"""Can a simulator replace people? For each: κ compared with the human ceiling, confusion, the test, and the items that
differ."""

from __future__ import annotations

import numpy as np

from evaluation.agreement import AlternativeTest, aggregate
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings
from evaluation.models import Run
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.sections.confidence import confidence_blocks
from evaluation.reports.words import CountedSentence, count, number, stated

#: At most this many items are listed for each simulator.
LISTED = 50
#: With more labels than this, there is no confusion table, since it would be hard to read.
LABELS = 8


@section(order=90, title="Comparing simulators with people")
def calibration(ctx: Context) -> Section | None:
    """Nothing if people haven't judged. One row for each simulator with its prompt; then its labels against the majority of people, and the items that differ."""
    if not ctx.simulators or ctx.only_simulators:
        return None
    found = ctx.agreement(ctx.headline.name)
    tests = {test.simulator: test for test in found.alternative}
    blocks = [_overview(ctx, tests), _people(ctx, tests)]
    for name in ctx.simulators:
        blocks += _confusion(ctx, name, found.ratings)
    scores, figures = confidence_blocks(ctx)
    blocks.insert(1, scores)
    return Section(
        id="calibration",
        title="Simulators against people",
        prose=[_sentence(ctx, name, tests[name]) for name in ctx.simulators],
        blocks=[*(block for block in blocks if block.rows), *figures],
        notes=[
            "The alternative annotator test (Calderon, Reichart and Dror, 2025) leaves out each person in turn and asks "
            "whether the simulator is at least as close to the others, within ε. A winning rate of 0.5 or more means that it may "
            "replace people: it depends on ε, a choice of the report (0.2 for experts, 0.15 for skilled people, 0.1 for a crowd). "
            "The advantage probability compares simulators with each other.",
            f"The label of {ctx.people} is their majority; ties are left out.",
        ],
    )


def _sentence(ctx: Context, name: str, test: AlternativeTest) -> str:
    found = ctx.agreement(ctx.headline.name)
    verdict = ""
    if test.winning_rate.defined:
        may = "may" if test.winning_rate.value >= 0.5 else "may not"
        verdict = (
            f" By the alternative annotator test with ε = {test.epsilon:g}, it {may} replace them: its winning rate is "
            f"{stated(test.winning_rate, ('person', 'people'))}."
        )
    else:
        verdict = f" The alternative annotator test with ε = {test.epsilon:g} is not defined: {test.winning_rate.reason}."
    own = found.lead.human_simulator[name]
    share = found.rest.of(name)[0]
    if own.defined or not share.defined:
        text = f"{name} agrees with {ctx.people} at a mean {found.kappa_title} of {stated(own, 'pair')}"
    else:
        text = f"{name} gives the label of one of the {ctx.people} in {stated(share, 'unit', 'percent')}; its mean "
        text += f"{found.kappa_title} with them is {stated(own, 'pair')}"
    return CountedSentence(
        f"{text}. Among {ctx.people}, it is {stated(found.lead.human_human, 'pair')}.{verdict}", share.n
    )


def _bounds(test: AlternativeTest) -> str:
    """Between which shares the winning rate certainly lies; empty without bounds."""
    found = test.winning_bounds
    return f"{number(found.at_least)} to {number(found.at_most)}" if found else ""


def _overview(ctx: Context, tests: dict[str, AlternativeTest]) -> Table:
    found = ctx.agreement(ctx.headline.name)
    prompts = _prompts(ctx)
    kappa = "κ, quadratic weights," if found.ordered else "κ"
    rows = []
    for name in ctx.simulators:
        test = tests[name]
        cells = [Cell.of(found.lead.human_simulator[name]), Cell.of(found.lead.human_human)]
        cells += [Cell.of(found.rest.of(name)[0], shape="percent"), Cell.of(test.winning_rate)]
        cells.append(Cell(_bounds(test) or "none"))
        cells += [Cell.of(test.advantage_probability), Cell.number(test.epsilon)]
        rows.append(TableRow([name, prompts.get(name, "not known")], cells))
    return Table(
        id="calibration",
        title="Each simulator beside the ceiling",
        head=["Simulator", "Prompt"],
        columns=[
            TableColumn(f"{kappa} with {ctx.people}"),
            TableColumn(f"{kappa} among {ctx.people}"),
            TableColumn("Equal labels, %"),
            TableColumn("Winning rate"),
            TableColumn("Winning rate, simultaneous bounds"),
            TableColumn("Advantage probability"),
            TableColumn("ε"),
        ],
        rows=rows,
        notes=[
            f"Equal labels: the mean share of {ctx.people} who gave an item the simulator’s label.",
            "Simultaneous bounds hold in 95 % of studies or more, and aren’t a 95 % interval: the people of whom it is certain that they are worth "
            "less than ε more than the simulator, and all but those of whom the reverse is.",
            "Prompts are identified by the first characters of their SHA-256, as in the list of runs.",
        ],
    )


def _prompts(ctx: Context) -> dict[str, str]:
    """Each simulator's prompt version, by its digest."""
    raters = ctx.data.judgments.raters
    names = dict(zip(raters.ids.tolist(), raters.names, strict=True))
    runs = (
        Run.objects.filter(study=ctx.study, rater_id__in=list(names))
        .order_by("id")
        .values_list("rater_id", "prompt_digest")
    )
    return {names[pk]: digest[:12] for pk, digest in runs}


def _people(ctx: Context, tests: dict[str, AlternativeTest]) -> Table:
    rows = [
        TableRow(
            [name, person.human],
            [
                Cell.count(person.units),
                Cell.of(Estimate(person.simulator_advantage, n=person.units)),
                Cell.of(Estimate(person.human_advantage, n=person.units)),
                Cell.number(person.adjusted_p, shape="p", reason="no variation to test", n=person.units),
                Cell("yes" if person.rejected else "no"),
            ],
        )
        for name, test in tests.items()
        for person in test.humans[:200]
    ]
    skipped = {name: len(test.skipped) for name, test in tests.items() if test.skipped}
    return Table(
        id="calibration-people",
        title="The alternative annotator test, person by person",
        head=["Simulator", "Left out"],
        columns=[
            TableColumn("Items"),
            TableColumn("Simulator’s advantage"),
            TableColumn("Person’s advantage"),
            TableColumn("p (adjusted)"),
            TableColumn("Simulator wins"),
        ],
        rows=rows,
        notes=[
            f"{name}: {count(n, 'rater')} with fewer than 30 items left out." for name, n in skipped.items()
        ],
    )


def _confusion(ctx: Context, name: str, ratings: Ratings) -> list[Table]:
    """The simulator's labels against the people's majority, and the items where the two differ."""
    people = aggregate(ratings.people(), "majority").value
    own = np.full(len(ratings.units), -1, dtype=np.int64)
    mine = ratings.rater == ratings.raters.index(name)
    own[ratings.unit[mine]] = ratings.value[mine]
    both = (people >= 0) & (own >= 0)
    items = ctx.data.judgments.items.ids[ctx.data.table(ctx.headline.name).units.item]
    size = len(ratings.labels)
    spoken = [ctx.label_words(label) for label in ratings.labels]
    tables = []
    if size <= LABELS:
        from sklearn.metrics import confusion_matrix  # imported late: it takes two seconds

        labelled = people[both], own[both]
        counts = confusion_matrix(*labelled, labels=range(size)) if both.any() else np.zeros((size, size))
        tables.append(
            Table(
                id=f"calibration-confusion-{ctx.simulators.index(name) + 1}",
                title=f"{name} against the majority of {ctx.people}: items",
                head=[f"Majority of {ctx.people}"],
                columns=[TableColumn(label, f"{name} says") for label in spoken],
                rows=[
                    TableRow([label], [Cell.count(int(n)) for n in row])
                    for label, row in zip(spoken, counts, strict=True)
                ],
            )
        )
    differ = np.flatnonzero(both & (people != own))
    tables.append(
        Table(
            id=f"calibration-items-{ctx.simulators.index(name) + 1}",
            title=f"Items on which {name} differs from the majority",
            head=["Item"],
            columns=[TableColumn(ctx.people.capitalize()), TableColumn(name)],
            rows=[
                TableRow(
                    [ratings.units[unit]],
                    [Cell(spoken[people[unit]]), Cell(spoken[own[unit]])],
                    item=(ctx.study.pk, int(items[unit])),
                )
                for unit in differ[:LISTED]
            ],
            notes=[f"The first {LISTED} of {differ.size:,}."] if differ.size > LISTED else [],
        )
    )
    return tables
