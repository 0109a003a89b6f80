"""Agreement on variables whose values are sets, rankings, spans or preferences, for the agreement section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Length

from annotator.hit_types.base import Variable
from annotator.hit_types.confidence import answer_variables
from annotator.models import Item
from evaluation.agreement.bradley_terry import PairwiseStrengths
from evaluation.agreement.by_form import COUNTED, SIDES, FormGroup, FormSummary, summarize_form
from evaluation.agreement.span_agreement import SpanAgreement
from evaluation.agreement.value_forms import Form, form_of
from evaluation.core.ratings_table import Ratings
from evaluation.ratings.load import SIDE_COLUMNS
from evaluation.reports.content import Cell, Shape, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.words import CountedSentence, count, listed, stated

#: At most this many pairs of annotators are listed, those with the lowest F1.
LISTED = 100
NOUNS: dict[Form, str | tuple[str, str]] = {
    "set": "rating", "ranking": "unit", "span": ("character", "characters"), "pairwise": "comparison",
}  # fmt: skip
_PERCENT = frozenset({"same_severity"})


def form_variables(ctx: Context) -> list[tuple[Variable, Form]]:
    """The study's variables whose values are more than a label, with their form."""
    found = [
        (answer_variable, form_of(answer_variable.level))
        for answer_variable in answer_variables(ctx.hit_type)
    ]
    return [(one, form) for one, form in found if form is not None]


def form_parts(ctx: Context, variable: Variable, form: Form) -> tuple[str, list[Table]]:
    """A sentence and the tables of one variable."""
    table = ctx.data.table(variable.name)
    ratings = replace(table.ratings, simulators=frozenset()) if ctx.only_simulators else table.ratings
    item = table.units.item
    sides = _systems(ctx, ratings, item.tolist()) if form == "pairwise" else None
    lengths = _lengths(ctx, variable, ratings, item.tolist()) if form == "span" else None
    found = summarize_form(ratings, form, sides=sides, lengths=lengths, **ctx.resampling)
    if form == "pairwise" and (lacking := ctx.data.without_sides):
        found = replace(found, notes=(*found.notes, _without_systems(lacking)))
    return form_tables(variable, found, people=ctx.people, named=ctx.named)


def _without_systems(items: int) -> str:
    columns = " or ".join(SIDE_COLUMNS)
    have = "item has" if items == 1 else "items have"
    return f"The sides a and b are compared, not systems: {items:,} judged {have} no {columns}."


def _systems(ctx: Context, ratings: Ratings, item: Sequence[int]) -> list[Mapping[str, str]] | None:
    """The systems of the two sides for each rating; None if they aren't known."""
    if not ctx.data.sides:
        return None
    of_unit = [dict(zip(SIDES, ctx.data.sides[place], strict=True)) for place in item]
    return [of_unit[unit] for unit in ratings.unit.tolist()]


def _lengths(
    ctx: Context, variable: Variable, ratings: Ratings, item: Sequence[int]
) -> dict[str, int] | None:
    """Each unit's number of characters, from the column of the item in which spans are marked; None if it isn't known."""
    questions: Mapping[str, Any] = getattr(ctx.hit_type, "questions", {})
    asked = questions.get(variable.field or variable.name)
    column = asked.spec.get("in") if asked is not None else None
    if not column:
        return None
    rows = Item.objects.filter(study=ctx.study).annotate(size=Length(KeyTextTransform(column, "payload")))
    sizes = dict(rows.values_list("pk", "size"))
    ids = ctx.data.judgments.items.ids.tolist()
    found = {unit: sizes.get(ids[place]) for unit, place in zip(ratings.units, item, strict=True)}
    known = {unit: size for unit, size in found.items() if size is not None}
    return known if len(known) == len(found) else None


def form_tables(
    variable: Variable, found: FormSummary, *, people: str, named: bool = True
) -> tuple[str, list[Table]]:
    """A sentence on the first group, and the tables. ``people`` names the raters who aren't simulators; pairs of annotators are listed only if
    raters are ``named``: where a file only numbers them within a unit, a number is nobody in particular."""
    groups = [replace(group, who=_named(group.who, people)) for group in found.groups]
    blocks = [_figures(variable, found, groups)]
    first = groups[0]
    if first.spans is not None:
        blocks += _span_tables(variable, first.spans, named=named)
    if first.strengths is not None:
        blocks += [_comparisons(variable, first.strengths)]
    return _sentence(variable, found, first), blocks


def _named(who: str, people: str) -> str:
    return who.replace("people", people, 1) if who == "people" or who.startswith("people and ") else who


def _sentence(variable: Variable, found: FormSummary, group: FormGroup) -> str:
    among = f"On “{variable.title}”, among {group.who}, "
    lead = group.figures[0].estimate
    if not any(figure.estimate.defined for figure in group.figures):
        what = "the strengths of systems" if found.form == "pairwise" else "agreement"
        return f"On “{variable.title}”, {what} among {group.who} can’t be computed: {lead.reason}."
    if found.form == "pairwise":
        ordered = sorted(group.figures[:-1], key=lambda one: -one.estimate.value)
        parts = [f"{one.about} {stated(one.estimate, 'comparison')}" for one in ordered]
        return CountedSentence(f"{among}the strengths of systems (log, mean 0) are: {listed(parts)}.", lead.n)
    shown = [figure for figure in group.figures if figure.name in ("alpha_masi", "alpha_jaccard", "kendall_w", "mean_tau_b", "alpha_marked")]  # fmt: skip
    parts = [f"{one.title} is {stated(one.estimate, NOUNS[found.form])}" for one in shown]
    if found.form == "span":
        f1 = next(figure for figure in group.figures if figure.name == "f1_overlapping")
        parts.append(f"{f1.title} is {stated(f1.estimate, ('span', 'spans'))}")
    return CountedSentence(f"{among}{listed(parts)}.", found.units if found.form == "span" else lead.n)


def _figures(variable: Variable, found: FormSummary, groups: Sequence[FormGroup]) -> Table:
    titles = list(dict.fromkeys(figure.title for group in groups for figure in group.figures))
    rows = []
    for title in titles:
        cells: list[Cell] = []
        for group in groups:
            one = next((figure for figure in group.figures if figure.title == title), None)
            if one is None:
                cells += [Cell(text="–"), Cell(text="–")]
                continue
            shape: Shape = "percent" if one.name in _PERCENT else "number"
            cells += [Cell.of(one.estimate, shape=shape), Cell.count(one.estimate.n)]
        rows.append(TableRow([title], cells))
    aside = [f"Left out: {number:,} {reason}." for reason, number in found.left_out.items()]
    return Table(
        id=f"agreement-{variable.name}",
        title=f"Agreement on “{variable.title}” ({variable.level})",
        head=["Statistic"],
        columns=[TableColumn(kind, group.who) for group in groups for kind in ("Value", "n")],
        rows=rows,
        notes=[COUNTED[found.form], *found.notes, *aside],
    )


def _span_tables(variable: Variable, found: SpanAgreement, *, named: bool) -> list[Table]:
    lowest = sorted(found.pairs, key=lambda one: (not one.overlapping.defined, one.overlapping.value))
    pairs = Table(
        id=f"agreement-{variable.name}-pairs",
        title=f"Pairs of annotators on “{variable.title}”",
        folded=True,
        head=["Annotator", "Annotator"],
        columns=[TableColumn("F1, equal spans"), TableColumn("F1, overlapping"), TableColumn("Shared units"), TableColumn("Spans")],
        rows=[
            TableRow(
                [one.first, one.second],
                [Cell.of(one.exact), Cell.of(one.overlapping), Cell.count(one.units), Cell.count(one.exact.n)],
            )
            for one in lowest[:LISTED]
        ],
        notes=[f"The {LISTED} of {len(lowest):,} pairs with the lowest F1." if len(lowest) > LISTED else "Lowest F1 first."],
    )  # fmt: skip
    listed = [pairs] if named else []
    if len(found.categories) < 2:
        return listed
    rows = zip(found.categories, found.confusion.tolist(), found.unmatched.tolist(), strict=True)
    confusion = Table(
        id=f"agreement-{variable.name}-confusion",
        title=f"Categories of overlapping spans on “{variable.title}”",
        head=["One annotator"],
        columns=[*(TableColumn(name, "Another annotator") for name in found.categories), TableColumn("No span there")],
        rows=[TableRow([name], [*map(Cell.count, row), Cell.count(alone)]) for name, row, alone in rows],
        notes=[
            "Each pair of overlapping spans of two annotators is counted in both directions. "
            f"{count(found.spans, 'span')} in all; {count(found.empty, 'rating')} without a span."
        ],
    )  # fmt: skip
    return [confusion, *listed]


def _comparisons(variable: Variable, found: PairwiseStrengths) -> Table:
    rows = []
    for i, one in enumerate(found.systems):
        for j, other in enumerate(found.systems):
            wins, losses, ties = int(found.wins[i, j]), int(found.wins[j, i]), int(found.tied[i, j])
            if i < j and wins + losses + ties:
                rows.append(TableRow([one, other], [Cell.count(wins), Cell.count(ties), Cell.count(losses)]))
    return Table(
        id=f"agreement-{variable.name}-comparisons",
        title=f"Comparisons on “{variable.title}”",
        head=["First", "Second"],
        columns=[TableColumn("First preferred"), TableColumn("Ties"), TableColumn("Second preferred")],
        rows=rows,
        notes=[
            "Strengths are those of Bradley and Terry’s model with Davidson’s ties. Of two systems with strengths s and t, the odds that "
            "the first is preferred are exp(s − t)."
        ],
    )
