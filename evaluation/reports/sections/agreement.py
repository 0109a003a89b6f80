"""Agreement among people, and of people with each simulator, for every variable that the HIT type declares."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from annotator.hit_types.base import Variable
from evaluation.core.estimate import Estimate, none_if_nan, undefined
from evaluation.reports.agreement_data import Agreement, KappaMeans
from evaluation.reports.choices import LABEL_SETS
from evaluation.reports.content import Cell, Figure, Section, Shape, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.form_agreement import form_parts, form_variables
from evaluation.reports.registry import section
from evaluation.reports.words import CountedSentence, count, left_out, listed, stated

#: With up to this many raters every pair is shown; with more, each rater compared with the rest.
MATRIX = 24
PERCENT: Shape = "percent"
#: At most this many raters are listed, those with the lowest agreement first.
LISTED = 200
#: What a side without Fleiss' kappa for unequal numbers shows beside one that has it.
SAME_NUMBERS = undefined("units have the same number of ratings, or none can be compared")
#: What a side without a row shows beside one that has it.
NO_CORRECTION = undefined("this mean needs no correction, or can't be corrected")
NO_CONGER = undefined("no two raters share a unit")
NO_LABEL = undefined("it gave none of these labels")
NOT_NAMED = (
    "The imported file names no raters: they are numbered within each item, and no number is one person. Statistics of pairs of "
    "raters, and of single raters, are therefore not defined."
)
#: Statistics that depend on the level and on the numbers of raters.
FURTHER = {
    "fleiss_kappa_unequal": "Fleiss’ κ with unequal numbers of raters",
    "gwet_ac2_linear": "Gwet’s AC2, linear weights",
    "gwet_ac2_quadratic": "Gwet’s AC2, quadratic weights",
    "icc_1_1": "Intraclass correlation ICC(1,1)",
    "icc_2_1": "Intraclass correlation ICC(2,1)",
    "icc_3_1": "Intraclass correlation ICC(3,1)",
    "icc_1_k": "Intraclass correlation ICC(1,k)",
    "icc_2_k": "Intraclass correlation ICC(2,k)",
    "icc_3_k": "Intraclass correlation ICC(3,k)",
    "icc_1_1_mixed": "Intraclass correlation ICC(1,1), mixed model",
    "icc_2_1_mixed": "Intraclass correlation ICC(2,1), mixed model",
    "icc_3_1_mixed": "Intraclass correlation ICC(3,1), mixed model",
    "icc_1_k_mixed": "Intraclass correlation ICC(1,k), mixed model",
    "icc_2_k_mixed": "Intraclass correlation ICC(2,k), mixed model",
    "icc_3_k_mixed": "Intraclass correlation ICC(3,k), mixed model",
}


@section(order=20, title="Computing agreement")
def agreement(ctx: Context) -> Section:
    """One table and one plot per variable, then every pair of raters (or each rater compared with the rest)."""
    prose: list[str] = []
    blocks: list[Table | Figure] = []
    for variable in ctx.data.variables:
        sets = ["all", "statements"] if variable.abstain else ["all"]
        found = {name: ctx.agreement(variable.name, name) for name in sets}
        shown = found.get(ctx.choices.labels, found["all"])
        prose.append(_sentence(ctx, variable, shown))
        blocks.append(_table(ctx, variable, found))
        blocks += _figures(ctx, variable, shown, found["all"])
        if ctx.named:
            blocks.append(
                _pairs(ctx, variable, shown)
                if len(shown.ratings.raters) <= MATRIX
                else _rest(ctx, variable, shown)
            )
    for variable, form in form_variables(ctx):
        text, tables = form_parts(ctx, variable, form)
        prose.append(text)
        blocks += tables
    return Section(
        id="agreement",
        title="Agreement",
        prose=prose,
        blocks=blocks,
        notes=[
            "Cohen’s κ is computed for every pair of raters over the items that both judged, then averaged over "
            f"the pairs that share at least {ctx.choices.min_overlap}. {_whose(ctx)}",
            *([] if ctx.named else [NOT_NAMED]),
        ],
    )


def _whose(ctx: Context) -> str:
    if ctx.only_simulators:
        return "Only simulators have judged, so all statistics are about their agreement with each other."
    return "Krippendorff’s α, Fleiss’ κ, Gwet’s AC1 and percent agreement leave simulators out."


def _sentence(ctx: Context, variable: Variable, found: Agreement) -> str:
    lead = found.lead
    if not lead.human_human.defined and not found.alpha.defined:
        return f"On “{variable.title}”, agreement among {ctx.people} can’t be computed: {found.alpha.reason}."
    parts = [
        f"mean {found.kappa_title} is {stated_mean(lead)}",
        f"Krippendorff’s α is {stated(found.alpha, 'rating')}",
    ]
    if found.conger is not None and _has_interval(found.conger) and not _has_interval(lead.human_human):
        parts.insert(1, f"{conger_title(found)} is {stated(found.conger, 'item')}")
    parts = parts[::-1] if _alpha_leads(found) else parts
    text = f"On “{variable.title}”, among {ctx.people}, {listed(parts)}."
    if lead.human_simulator:
        text += (
            f" Between {ctx.people} and simulators, {found.kappa_title} is: {listed(with_simulators(found))}."
        )
    return CountedSentence(text, found.percent.n)


def stated_mean(found: KappaMeans) -> str:
    """The mean of kappa over pairs of people, as the papers have it; and without its bias, if that is large."""
    text = stated(found.human_human, "pair")
    corrected = found.corrected
    if not found.human_human.defined or corrected is None or not corrected.defined:
        return text
    if math.isnan(found.human_human.low):
        plain = replace(found.human_human, interval="")
        text = f"{stated(plain, 'pair')}, which few shared units bias; corrected {stated(corrected, 'pair')}"
    return text


def conger_title(found: Agreement) -> str:
    """What ``found.conger`` is called."""
    return "Conger’s κ with quadratic weights" if found.ordered else "Conger’s κ"


def _has_interval(found: Estimate) -> bool:
    return not math.isnan(found.low)


def _alpha_leads(found: Agreement) -> bool:
    """Whether the design supports alpha better than a mean of kappa: pairs of raters share too few units for one, or for its
    interval."""
    kappa, alpha = found.lead.human_human, found.alpha
    if not kappa.defined or not alpha.defined:
        return alpha.defined
    return not _has_interval(kappa) and _has_interval(alpha)


def with_simulators(found: Agreement) -> list[str]:
    """Kappa between people and each simulator; how often it gives a person's label where kappa isn't defined."""
    texts = []
    for name, value in found.lead.human_simulator.items():
        text = f"{name} {stated(value, 'pair')}"
        share = found.rest.of(name)[0] if name in found.rest.raters else value
        if not value.defined and share.defined:
            text += f", the share of equal labels {stated(share, 'unit', 'percent')}"
        texts.append(text)
    return texts


def _statistics(
    found: Agreement, who: str, beside: Collection[Agreement], *, alpha_first: bool
) -> list[tuple[str, Estimate, Shape]]:
    """The rows of one set of labels: the same ones as of the others ``beside`` it, whatever is defined in each."""
    further = {name for each in beside for name in each.further}
    rows = _kappa_rows(
        found.lead, found.kappa_title, who, corrected=any(each.lead.corrected for each in beside)
    )
    if any(each.conger for each in beside):
        rows.append((f"{conger_title(found)}, {who}", found.conger or NO_CONGER, "number"))
    if found.ordered:
        corrected = any(each.nominal.corrected for each in beside)
        rows += _kappa_rows(found.nominal, "Cohen’s κ without weights", who, corrected=corrected)
    shares = [
        (name, found.rest.of(name)[0] if name in found.rest.raters else NO_LABEL)
        for name in found.human_simulator
        if any(name in each.rest.raters for each in beside)
    ]
    alpha: tuple[str, Estimate, Shape] = (f"Krippendorff’s α, {who}", found.alpha, "number")
    return [
        *([alpha, *rows] if alpha_first else [*rows, alpha]),
        *((f"Equal labels, {who} with {name}", share, PERCENT) for name, share in shares),
        (f"Fleiss’ κ, {who}", found.fleiss, "number"),
        (f"Gwet’s AC1, {who}", found.ac1, "number"),
        *(
            (f"{title}, {who}", found.further.get(name, SAME_NUMBERS), "number")
            for name, title in FURTHER.items()
            if name in further
        ),
        (f"Percent agreement, {who}", found.percent, "percent"),
    ]


def _kappa_rows(
    found: KappaMeans, title: str, who: str, *, corrected: bool
) -> list[tuple[str, Estimate, Shape]]:
    rows: list[tuple[str, Estimate, Shape]] = [
        (f"{title}, {who} with each other", found.human_human, "number"),
        ("– weighted by shared units", found.human_human_weighted, "number"),
    ]
    if corrected:
        rows.insert(1, ("– corrected for few shared units", found.corrected or NO_CORRECTION, "number"))
    for name in found.human_simulator:
        rows += [
            (f"{title}, {who} with {name}", found.human_simulator[name], "number"),
            ("– weighted by shared units", found.human_simulator_weighted[name], "number"),
        ]
    return rows


def _table(ctx: Context, variable: Variable, found: dict[str, Agreement]) -> Table:
    first = _alpha_leads(found["all"])
    sides = [_statistics(each, ctx.people, found.values(), alpha_first=first) for each in found.values()]
    rows = [
        TableRow(
            [line[0][0]],
            [cell for _, value, shape in line for cell in (Cell.of(value, shape=shape), Cell.count(value.n))],
        )
        for line in zip(*sides, strict=True)
    ]
    return Table(
        id=f"agreement-{variable.name}",
        title=f"Agreement on “{variable.title}” ({variable.level})",
        head=["Statistic"],
        columns=[TableColumn(kind, LABEL_SETS[name]) for name in found for kind in ("Value", "n")],
        rows=rows,
        notes=[_denominators(found["all"], ctx.people), *unanswered_notes(ctx, variable.name)],
    )


def unanswered_notes(ctx: Context, variable: str) -> list[str]:
    """A sentence on the judgments without an answer on the variable, which its statistics leave out; none if there is none."""
    number = ctx.data.table(variable).unanswered[0].size
    return [f"Left out: {count(number, 'judgment')} without an answer."] if number else []


def _denominators(found: Agreement, who: str) -> str:
    text = "n counts pairs of raters for a mean of κ, the items that they share for a weighted mean, pairable ratings for α, items for the rest."
    aside = left_out(found.human_human.left_out)
    return f"{text} Not averaged among {who}: {aside}." if aside else text


def _figures(ctx: Context, variable: Variable, shown: Agreement, whole: Agreement) -> list[Figure]:
    """The means of kappa if any is defined, the labels given and, for the headline variable, every pair."""
    means = [shown.lead.human_human, *shown.lead.human_simulator.values()]
    figures = [_kappas(ctx, variable, shown)] if any(mean.defined for mean in means) else []
    figures += _shares(ctx, variable, whole)
    if variable == ctx.headline and ctx.named and 2 <= len(shown.ratings.raters) <= MATRIX:
        figures.append(_matrix(variable, shown))
    return figures


def _kappas(ctx: Context, variable: Variable, found: Agreement) -> Figure:
    means = found.lead
    points = [(f"{ctx.people} with each other", means.human_human)]
    points += [(f"{ctx.people} with {name}", value) for name, value in means.human_simulator.items()]
    reference = means.human_human.value if means.human_simulator and means.human_human.defined else None
    return Figure(
        id=f"agreement-{variable.name}-kappa",
        title=f"Mean {found.kappa_title} on “{variable.title}”, {LABEL_SETS[found.labels].lower()}",
        alt="; ".join(f"{label}: {stated(value, 'pair')}" for label, value in points),
        form="intervals",
        data={
            "x": found.kappa_title,
            "domain": [0.0, 1.0],
            "reference": None if reference is None else {"value": reference, "label": points[0][0]},
            "points": [{"label": label, **value.to_dict()} for label, value in points],
        },
    )


def _shares(ctx: Context, variable: Variable, found: Agreement) -> list[Figure]:
    """How often each label was given, which is needed to interpret kappa."""
    rows = {ctx.people: found.prevalence} | found.by_simulator
    rows = {
        name: shares for name, shares in rows.items() if shares and not np.isnan(list(shares.values())).any()
    }
    labels = list(found.ratings.labels)
    sizes = [
        len(found.ratings.people()) if name == ctx.people else len(found.ratings.only_raters([name]))
        for name in rows
    ]
    if not rows or len(labels) > 8:
        return []
    spoken = {label: ctx.label_words(label) for label in labels}
    order = " · ".join(spoken[label] for label in labels)
    return [
        Figure(
            id=f"agreement-{variable.name}-labels",
            notes=[f"From left to right: {order}"] if len(labels) > 1 else [],
            title=f"Labels given on “{variable.title}”",
            alt="; ".join(
                f"{name}: " + ", ".join(f"{spoken[k]} {100 * v:.0f} %" for k, v in shares.items())
                for name, shares in rows.items()
            ),
            form="bars",
            data={
                "x": "% of ratings",
                "rows": list(rows),
                "n": sizes,
                "parts": [spoken[label] for label in labels],
                "values": [[shares[label] for label in labels] for shares in rows.values()],
            },
        )
    ]


def _matrix(variable: Variable, found: Agreement) -> Figure:
    names = list(found.ratings.raters)
    values = [[none_if_nan(float(v)) for v in row] for row in found.kappas.matrix()]
    return Figure(
        id=f"agreement-{variable.name}-matrix",
        title=f"Cohen’s κ of every two raters on “{variable.title}”",
        alt="The same values as in the table of pairs.",
        form="matrix",
        data={"rows": names, "columns": names, "values": values},
    )


def _pairs(ctx: Context, variable: Variable, found: Agreement) -> Table:
    rows = []
    for pair in found.pairs:
        value = pair_estimate(pair)
        averaged = "yes" if pair["averaged"] else "no"
        rows.append(
            TableRow(
                [pair["a"], pair["b"]],
                [Cell.of(value), Cell.count(pair["n"]), Cell(text=averaged)],
                raters=_ids(ctx, pair["a"], pair["b"]),
            )
        )
    size = len(found.ratings.raters)
    apart = size * (size - 1) // 2 - len(rows)
    return Table(
        id=f"agreement-{variable.name}-pairs",
        title=f"Pairs of raters on “{variable.title}”, {LABEL_SETS[found.labels].lower()}",
        folded=variable != ctx.headline,
        head=["Rater", "Rater"],
        columns=[TableColumn("Cohen’s κ"), TableColumn("Shared units"), TableColumn("Averaged")],
        rows=rows,
        notes=[f"{count(apart, 'more pair')} without a shared unit: κ is not defined."] if apart else [],
    )


def pair_estimate(pair: Mapping[str, Any]) -> Estimate:
    """The kappa of two raters, from a row of the summary's pairs."""
    value, low, high = (math.nan if pair[key] is None else pair[key] for key in ("value", "low", "high"))
    how = "" if math.isnan(low) else "95 %, over the same instances as the mean of κ"
    return Estimate(value, low, high, n=pair["n"], reason=pair["reason"], interval=how)


def _ids(ctx: Context, *names: str) -> tuple[int, ...]:
    """The database ids of the study and of raters, for the links of a row."""
    raters = ctx.data.judgments.raters
    known = ctx.once("ids of raters", lambda: dict(zip(raters.names, raters.ids.tolist(), strict=True)))
    return (ctx.study.pk, *(known[name] for name in names))


def _rest(ctx: Context, variable: Variable, found: Agreement) -> Table:
    rest = found.rest
    order = np.argsort(np.where(np.isnan(rest.kappa), np.inf, rest.kappa), kind="stable")[:LISTED]
    rows = []
    for index in order:
        agreed, kappa = rest.of(rest.raters[index])
        cells = [Cell.of(kappa), Cell.of(agreed, shape="percent"), Cell.count(int(rest.n[index]))]
        name = rest.raters[index]
        rows.append(TableRow([name], cells, raters=_ids(ctx, name)))
    total = len(rest.raters)
    return Table(
        id=f"agreement-{variable.name}-rest",
        title=f"Each rater against the others of the same items on “{variable.title}”",
        head=["Rater"],
        columns=[TableColumn("κ with the rest"), TableColumn("% agreement"), TableColumn("Items shared")],
        rows=rows,
        notes=[
            f"The {LISTED} of {total:,} raters who agree least."
            if total > LISTED
            else "Lowest agreement first."
        ],
    )
