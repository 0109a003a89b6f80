"""What adjudicators decided, and how far they agree with each other and with the raters."""

from __future__ import annotations

from annotator.core.words import plural
from annotator.hit_types.base import Variable
from annotator.models.adjudication import FIRST_ROUND
from evaluation.agreement.aggregate import OneTable, Single, parse_rule
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.ratings_table import Ratings
from evaluation.reports.agreement_data import agreement_of
from evaluation.reports.columns import rule_of
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section

NOTE = (
    "Adjudicators label contested items only, so these figures are about the items on which raters disagree and aren’t comparable with "
    "agreement on all items."
)


@section(order=42, title="Adjudication")
def adjudication(ctx: Context) -> Section | None:
    """Units by what adjudicators decided; κ of the two who label independently, and of the decided labels with the raters' label by
    the report's rule. None without adjudications."""
    if not ctx.data.adjudications:
        return None
    variables = [variable for variable in ctx.data.variables if _given(ctx, variable)]
    items = len(ctx.data.adjudications)
    people = len({number for one in ctx.data.adjudications for number, _, _ in one.given})
    return Section(
        id="adjudication",
        title="Adjudication",
        prose=[
            f"{plural(people, 'adjudicator')} labelled {plural(items, 'item')}. "
            + (
                "Their labels go before the rule’s in this report."
                if ctx.choices.adjudicated
                else "This report’s other sections don’t use their labels: turn on “Adjudicated labels” to use them."
            )
        ],
        blocks=[_decided(ctx, variables), _agreement(ctx, variables)] if variables else [],
        notes=[NOTE],
    )


def _given(ctx: Context, variable: Variable) -> list[tuple[int, dict[str, list[tuple[int, int, str]]]]]:
    """(item, its adjudicators' labels by unit suffix): each is (adjudicator, seat, label)."""
    found = []
    for one in ctx.data.adjudications:
        units: dict[str, list[tuple[int, int, str]]] = {}
        for number, seat, labels in one.given:
            for (name, suffix), label in labels.items():
                if name == variable.name:
                    units.setdefault(suffix, []).append((number, seat, label))
        if units:
            found.append((one.item, units))
    return found


def _decided(ctx: Context, variables: list[Variable]) -> Table:
    rows = []
    for variable in variables:
        counts = dict.fromkeys(("units", "first", "third", "open", "undecided"), 0)
        for _, units in _given(ctx, variable):
            for given in units.values():
                labels = [label for *_, label in given]
                agreed = len(set(labels)) < len(labels)
                third = any(seat > FIRST_ROUND for _, seat, _ in given)
                first = len({label for _, seat, label in given if seat <= FIRST_ROUND}) == 1
                state = (
                    "third"
                    if agreed and not first
                    else "first"
                    if agreed
                    else "undecided"
                    if third
                    else "open"
                )
                counts["units"] += 1
                counts[state] += 1
        rows.append(TableRow([variable.title], [Cell.count(n) for n in counts.values()]))
    return Table(
        id="adjudication-decided",
        title="What adjudicators decided, in units",
        head=["Question"],
        columns=[
            TableColumn("Labelled"),
            TableColumn("Decided by two"),
            TableColumn("Decided by a third"),
            TableColumn("Open"),
            TableColumn("Three different labels"),
        ],
        rows=rows,
    )


def _agreement(ctx: Context, variables: list[Variable]) -> Table:
    rows = []
    for variable in variables:
        first = _first_round(ctx, variable)
        each = agreement_of(first, min_overlap=ctx.choices.min_overlap, **ctx.resampling)
        kappa = _enough(each.fleiss, ctx)
        rows.append(
            TableRow(
                [variable.title, "Adjudicators with each other (Fleiss’ κ)"],
                [Cell.of(kappa), Cell.of(each.percent, shape="percent"), Cell.count(len(first.units))],
            )
        )
        rows.append(
            TableRow(
                [variable.title, "Decided labels with the raters’ label (Cohen’s κ)"],
                _with_crowd(ctx, variable),
            )
        )
    return Table(
        id="adjudication-agreement",
        title="Agreement of adjudicators",
        head=["Question", "Of"],
        columns=[TableColumn("κ"), TableColumn("% same label"), TableColumn("Units")],
        rows=rows,
        notes=[
            "Adjudicators with each other: units with both labels of the first round. Different pairs label different items, so κ is Fleiss’.",
            f"Raters’ label: by the rule {rule_of(ctx)}, without adjudicated labels; units on which it gives none are left out.",
            f"With fewer than {ctx.choices.min_overlap} units κ isn’t reported.",
        ],
    )


def _enough(kappa: Estimate, ctx: Context) -> Estimate:
    if kappa.defined and kappa.n < ctx.choices.min_overlap:
        return undefined(f"{plural(kappa.n, 'unit')} of at least {ctx.choices.min_overlap}", n=kappa.n)
    return kappa


def _first_round(ctx: Context, variable: Variable) -> Ratings:
    """The first round's labels of units that have both, as a ratings table."""
    rows: list[tuple[str, str, str]] = []
    clusters: dict[str, str] = {}
    instances = ctx.data.judgments.items.instance_names.values("")
    for item, units in _given(ctx, variable):
        for suffix, given in units.items():
            both = [(number, label) for number, seat, label in given if seat <= FIRST_ROUND]
            unit = f"{item} {suffix}"
            clusters[unit] = f"instance {instances[item]}" if instances[item] else f"item {item}"
            if len(both) == FIRST_ROUND:
                rows += [(f"adjudicator {number}", unit, label) for number, label in both]
    return Ratings.from_rows(
        rows, labels=_labels(variable, [label for *_, label in rows]), cluster_of=clusters
    )


def _labels(variable: Variable, found: list[str]) -> tuple[str, ...]:
    return tuple(variable.labels) or tuple(sorted(set(found)))


def _with_crowd(ctx: Context, variable: Variable) -> list[Cell]:
    """Cohen's κ of the decided labels with the raters' label by the report's rule, the share of equal ones, and the units."""
    rule = parse_rule(ctx.rule_for(variable.name, rule_of(ctx)))
    settled = ctx.data.adjudicated(variable.name)
    ratings = ctx.ratings(variable.name)
    (crowd,) = rule.tables(ratings if isinstance(rule, Single) else ratings.people())
    label = crowd.by_unit() if isinstance(rule, OneTable) else {}
    rows = []
    for unit, decided in settled.items():
        if (other := label.get(unit)) is not None:
            rows += [("adjudicators", unit, decided), ("raters", unit, other)]
    numbered = ratings.clusters if ratings.clusters is not None else range(len(ratings.units))
    clusters = {unit: str(cluster) for unit, cluster in zip(ratings.units, numbered, strict=True)}
    table = Ratings.from_rows(
        rows, labels=_labels(variable, [given for *_, given in rows]), cluster_of=clusters
    )
    found = agreement_of(table, min_overlap=ctx.choices.min_overlap, **ctx.resampling)
    return [Cell.of(found.human_human), Cell.of(found.percent, shape="percent"), Cell.count(len(rows) // 2)]
