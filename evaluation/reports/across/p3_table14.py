"""P3 Tables 14 and 15: which properties of a rationale are associated with a right answer? A study of utility and one
of properties."""

from __future__ import annotations

from functools import partial
from itertools import chain, combinations

from evaluation.core.estimate import Estimate
from evaluation.metrics import MixedModel, property_model
from evaluation.metrics.mixed import PROPERTIES
from evaluation.reports.across_studies import Across, Key, instance_keys, listed_titles
from evaluation.reports.choices import Choices
from evaluation.reports.columns import own_answers, rule_of
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section_across
from evaluation.reports.resampling import as_chosen
from evaluation.reports.words import CountedSentence, count, left_out, listed, stated

#: Twice the normal quantile of the model's intervals: their width divided by it is the standard deviation.
WIDTH = 2 * 1.959963984540054
TOP = 10
RULE = "each annotator’s answer"


@section_across(order=80, title="P3 Tables 14 and 15: properties and utility")
def p3_table14(across: Across) -> Section | None:
    """Log odds of a right answer after the rationale, by property and by pair of properties."""
    answered, judged = across.measuring("utility"), across.measuring("rationale_properties")
    if not answered or not judged:
        return None
    properties = properties_by_key(judged)
    names = [name for name in PROPERTIES if any(name in found for found in properties.values())]
    rows = [row for ctx in answered for row in answers_of(ctx)]
    keyed = [properties.get((instance, system), {}) for _, _, instance, system in rows]
    fitted = partial(
        property_model,
        [after for _, after, _, _ in rows],
        {name: [found.get(name) for found in keyed] for name in names},
        {
            "question": [instance for _, _, instance, _ in rows],
            "system": [system for _, _, _, system in rows],
            "human prior": ["right before" if before else "wrong before" for before, _, _, _ in rows],
        },
    )
    model, laplace = fitted(), fitted(method="laplace")
    missing = [name for name in PROPERTIES if name not in names]
    notes = [
        "Logit mixed model: right after ~ (properties)² + (1 | question) + (1 | system) + (1 | human prior), one "
        f"row per answer of an annotator, in {listed_titles(answered)}; a rationale has a property where the label of "
        f"{listed_titles(judged)} by the rule {rule_of(judged[0])} is yes. Intervals: 95 %, normal approximation to the posterior.",
        *(f"{note[:1].upper()}{note[1:]}." for note in model.notes),
    ]
    if missing:
        notes.append(f"Nobody judged {listed(missing)}, so the model leaves it out.")
    if model.left_out:
        notes.append(f"Left out: {left_out(model.left_out)}.")
    return Section(
        id="p3-table-14",
        number="P3 Tables 14, 15",
        title="Properties and utility",
        prose=[*_prose(model, across.choices), _matched(sum(map(bool, keyed)), len(keyed))],
        blocks=[
            _table14(model, names, across.choices),
            _table15(model, across.choices),
            *_figure(model, names, across.choices),
            *_spread(model, laplace),
            *_by_laplace(model, laplace, names, across.choices),
        ],
        notes=notes,
    )


def properties_by_key(contexts: list[Context]) -> dict[Key, dict[str, bool | None]]:
    """(instance, system) -> property -> whether the rationale has it according to people's aggregated label; None for a
    tie."""
    found: dict[Key, dict[str, bool | None]] = {}
    for ctx in contexts:
        rule, named = rule_of(ctx), instance_keys(ctx)
        for variable in ctx.data.variables:
            (labels,) = ctx.labels(variable.name, rule)
            units = ctx.data.table(variable.name).units
            rows = zip(units.instance.values(""), units.system.values(""), labels.value.tolist(), strict=True)
            for instance, system, code in rows:
                held = None if code < 0 else labels.labels[code] == "yes"
                key = (named.get(str(instance), str(instance)), str(system))
                found.setdefault(key, {}).setdefault(variable.name, held)
    return found


def answers_of(ctx: Context) -> list[tuple[bool, bool, str, str]]:
    """(right before, right after, instance, system) for each person's judgment of an item with a known gold label."""
    named, found = instance_keys(ctx), own_answers(ctx)
    columns = zip(found.before, found.after, found.gold, found.instance, found.system, strict=True)
    rows = [
        (before == gold, after == gold, named.get(instance, instance), system)
        for before, after, gold, instance, system in columns
        if gold is not None
    ]
    return sorted(rows, key=lambda row: (row[2], row[3], row[0], row[1]))


def _matched(found: int, total: int) -> str:
    return f"{found:,} of {count(total, 'answer')} are about a rationale whose properties were judged."


def _prose(model: MixedModel, choices: Choices) -> list[str]:
    if model.reason:
        return [f"The model is not defined: {model.reason}."]
    best = _best(model)
    trust = "" if model.converged else " The fit did not converge: do not rely on it."
    none, highest = (as_chosen(one, choices) for one in (model.intercept, model.log_odds(best)))
    return [
        CountedSentence(
            f"The log odds of a right answer are {stated(none, 'answer')} if no property holds, and highest, "
            f"{stated(highest, 'answer')}, if exactly these hold: {listed(list(best)) or 'none'}.{trust}",
            model.n,
        )
    ]


def _best(model: MixedModel) -> tuple[str, ...]:
    """The properties of a rationale that together give the highest log odds."""
    names = list(model.present)
    every = chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))
    return max(every, key=lambda held: model.log_odds(held).value)


def _table14(model: MixedModel, names: list[str], choices: Choices) -> Table:
    return Table(
        id="p3-table-14",
        number="P3 Table 14",
        title="Log odds of a right answer after the rationale, when a property is present or absent",
        head=["Property"],
        columns=[TableColumn("Present"), TableColumn("Absent")],
        rows=[
            TableRow(
                [name.capitalize()],
                [
                    Cell.of(as_chosen(side[name], choices), rule=RULE)
                    for side in (model.present, model.absent)
                ],
            )
            for name in names
        ],
        notes=["Averaged over presence and absence of the other properties."],
    )


def _table15(model: MixedModel, choices: Choices) -> Table:
    """The pairs that increase the log odds most: the sum of their three terms, and their interaction term alone."""

    def cell(value: Estimate) -> Cell:
        return Cell.of(as_chosen(value, choices), rule=RULE)

    nothing = Cell("–")
    rows = [TableRow(["(Intercept)"], [cell(model.intercept), _sd(model.intercept), nothing, nothing])]
    for (a, b), increase in list(model.pairs.items())[:TOP]:
        term = model.interactions[a, b]
        cells = [cell(increase), _sd(increase), cell(term), _sd(term)]
        rows.append(TableRow([f"+ {a} + {b}"], cells))
    if not model.reason:
        highest = model.log_odds(_best(model))
        rows.append(
            TableRow(["Highest of all combinations"], [cell(highest), _sd(highest), nothing, nothing])
        )
    return Table(
        id="p3-table-15",
        number="P3 Table 15",
        title="The ten pairs of properties that raise the log odds most over the base where none holds",
        head=["Parameter"],
        columns=[
            TableColumn("Log odds", "Increase over the base"),
            TableColumn("SD", "Increase over the base"),
            TableColumn("Coefficient", "Interaction term"),
            TableColumn("SD", "Interaction term"),
        ],
        rows=rows,
        notes=[
            "Increase over the base: both properties’ own coefficients and their interaction. Interaction term: the "
            "coefficient of the two properties’ product alone. The paper’s text describes the first and its column is "
            "named a coefficient, so both are given."
        ],
    )


def _sd(found: Estimate) -> Cell:
    return Cell.number((found.high - found.low) / WIDTH, reason=found.reason or "no interval", n=found.n)


def _figure(model: MixedModel, names: list[str], choices: Choices) -> list[Figure]:
    if model.reason:
        return []
    return [
        Figure(
            id="p3-table-14-odds",
            title="Log odds with each property present and absent",
            alt="The values of P3 Table 14.",
            form="intervals",
            data={
                "x": "Log odds of a right answer",
                "points": [
                    {"label": label, "group": name.capitalize(), **as_chosen(side[name], choices).to_dict()}
                    for name in names
                    for label, side in (("present", model.present), ("absent", model.absent))
                ],
            },
        )
    ]


def _by_laplace(model: MixedModel, laplace: MixedModel, names: list[str], choices: Choices) -> list[Table]:
    """Tables 14 and 15 by the approximation of the paper's software; the pairs are those of Table 15."""
    if model.reason:
        return []

    def cell(value: Estimate) -> Cell:
        return Cell.of(as_chosen(value, choices), rule=RULE)

    singles = [
        TableRow([name.capitalize()], [cell(laplace.present[name]), cell(laplace.absent[name])])
        for name in names
    ]
    shown = [("(Intercept)", laplace.intercept)]
    for pair in list(model.pairs)[:TOP]:
        shown.append((f"+ {' + '.join(pair)}", laplace.pairs.get(pair, laplace.intercept)))
    trust = [] if laplace.converged or laplace.reason else ["The fit did not converge: do not rely on it."]
    return [
        Table(
            id="p3-table-14-laplace",
            title="P3 Table 14 by Laplace’s approximation, as lme4 fits the model",
            head=["Property"],
            columns=[TableColumn("Present"), TableColumn("Absent")],
            rows=singles,
            notes=[
                "Maximum likelihood without a prior, where P3 Table 14 has variational Bayes with one: the two differ where the data "
                "say little.",
                *trust,
            ],
        ),
        Table(
            id="p3-table-15-laplace",
            title="P3 Table 15 by Laplace’s approximation: increase over the base",
            head=["Parameter"],
            columns=[TableColumn("Log odds"), TableColumn("SD")],
            rows=[TableRow([title], [cell(value), _sd(value)]) for title, value in shown],
            notes=trust,
        ),
    ]


def _spread(model: MixedModel, laplace: MixedModel) -> list[Table]:
    if model.reason:
        return []
    none = Cell(text="–")
    return [
        Table(
            id="p3-table-14-random",
            title="Standard deviation of the random effects",
            head=["Random effect"],
            columns=[TableColumn("SD (log odds)"), TableColumn("By Laplace’s approximation")],
            rows=[
                TableRow(
                    [name],
                    [
                        Cell.number(sd, n=model.n),
                        Cell.number(laplace.random_sd[name], n=laplace.n)
                        if name in laplace.random_sd
                        else none,
                    ],
                )
                for name, sd in model.random_sd.items()
            ],
        )
    ]
