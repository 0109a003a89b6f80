"""P2 Tables 1 and 3: generality and precision by explanation method, and by model and method; the sanity check."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.core.estimate import Estimate, undefined
from evaluation.metrics import (
    Cosine,
    UnitSimulatability,
    UnitTable,
    generality,
    sanity_check,
    unit_simulatability,
)
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.encoders import cosine_title, report_encoder
from evaluation.reports.method_titles import method_title
from evaluation.reports.registry import section
from evaluation.reports.unit_labels import (
    Annotation,
    annotators,
    is_sanity,
    model_and_method,
    of_systems,
    unit_table,
)
from evaluation.reports.words import CountedSentence, left_out, stated
from evaluation.selectors.material import matching_rules

#: Sentences on the study's rule on partial matches.
RULES = {
    "part": "A unit counted as found if part of it was found (the paper's Figure 13).",
    "whole": "A unit counted as found only if all of it was found (the paper's Figure 8).",
}


@dataclass(frozen=True, eq=False)
class _Figures:
    """A part of the follow-ups: generality and precision with their counts."""

    generality: Estimate
    found: UnitSimulatability

    @property
    def explanations(self) -> int:
        return self.found.precision.n

    @property
    def samples(self) -> int:
        return self.found.precision_micro.n


@section(order=40, title="P2 Tables 1 and 3: generality and precision", measure="unit_presence")
def p2_table1(ctx: Context) -> Section | None:
    """By explanation method (Table 1), and by model and method for each annotator (Table 3)."""
    judged = [(who, unit_table(ctx, who.rule)) for who in annotators(ctx)]
    judged = [(who, units) for who, units in judged if len(units)]
    if not judged:
        return None
    first, units = judged[0]
    systems = sorted({s for s in set(units.system) if not is_sanity(ctx, s)})
    whole = _figures(ctx, of_systems(units, set(systems)), f"{first.name}/all")
    blocks: list[Table | Figure] = [_table1(ctx, first, units, systems, whole)]
    blocks += [_table3(ctx, judged, systems), _figure(ctx, first, units, systems)]
    blocks += _sanity(ctx, units)
    return Section(
        id="p2-table-1",
        number="P2 Tables 1, 3",
        title="Generality and precision",
        prose=[
            CountedSentence(
                "The share of follow-ups that contain all units of the explanation’s input side is "
                f"{stated(whole.found.simulatable, 'follow-up')}; in those, the share of the promised units that the system’s "
                f"output contains is {stated(whole.found.precision, 'explanation')}.",
                min(whole.found.simulatable.n, whole.found.precision.n),
            )
        ],
        blocks=blocks,
        notes=[
            *(RULES[rule] for rule in matching_rules(study=ctx.study)),
            *(
                f"{what}, left out: {left_out(found.left_out)}."
                for what, found in (
                    ("Precision", whole.found.precision),
                    ("Simulatable", whole.found.simulatable),
                )
                if found.left_out
            ),
        ],
    )


def _figures(ctx: Context, units: UnitTable, name: str) -> _Figures:
    options = ctx.resampling
    found = unit_simulatability(units, **options)
    cosine = Cosine(report_encoder(ctx))
    spread = generality(found.follow_ups(), cosine, **options)
    return _Figures(spread.generality, found)


def _table1(ctx: Context, who: Annotation, units: UnitTable, systems: list[str], whole: _Figures) -> Table:
    methods: dict[str, set[str]] = {}
    for system in systems:
        methods.setdefault(model_and_method(ctx, system)[1], set()).add(system)
    rows = [
        (name, _figures(ctx, of_systems(units, found), f"{who.name}/method/{name}"))
        for name, found in sorted(methods.items())
    ]
    cosine = Cosine(report_encoder(ctx))
    return Table(
        id="p2-table-1",
        number="P2 Table 1",
        title=f"Generality and precision by explanation method, annotated by {who.name.lower()}"
        + cosine_title(report_encoder(ctx)),
        head=["Task", "Explanation method"],
        columns=[
            TableColumn("Generality"),
            TableColumn("Precision"),
            TableColumn("Precision, pooled"),
            TableColumn("Simulatable"),
        ],
        rows=[
            TableRow(
                [ctx.dataset, method_title(name)],
                [
                    Cell.of(value, rule=who.rule)
                    for value in (
                        part.generality,
                        part.found.precision,
                        part.found.precision_micro,
                        part.found.simulatable,
                    )
                ],
            )
            for name, part in [*rows, ("All", whole)]
        ],
        notes=[
            f"Generality: one minus mean cosine of simulatable follow-ups; {cosine.name}, {cosine.version}. Precision is "
            "the mean over explanations; pooled, over simulatable follow-ups."
        ],
    )


def _table3(ctx: Context, judged: list[tuple[Annotation, UnitTable]], systems: list[str]) -> Table:
    """The paper's layout: a row per model; for each method # explanations, # samples, generality, precision."""
    named = {model_and_method(ctx, system): system for system in systems}
    methods = sorted({method for _, method in named})
    models = sorted({model for model, _ in named})
    rows = []
    for who, units in judged:
        for model in models:
            cells: list[Cell] = []
            for method in methods:
                system = named.get((model, method), "")
                cells += _cells(ctx, who, units, system)
            rows.append(TableRow([ctx.dataset, model], cells, group=f"Annotated by {who.name}"))
    labels = ("# Expl", "# Samples", "Generality", "Precision")
    return Table(
        id="p2-table-3",
        number="P2 Table 3",
        title="Generality and precision by model and explanation method" + cosine_title(report_encoder(ctx)),
        head=["Task", "Model"],
        columns=[TableColumn(label, method_title(method)) for method in methods for label in labels],
        rows=rows,
        notes=["# Expl: explanations with a simulatable follow-up; # Samples: their simulatable follow-ups."],
    )


def _cells(ctx: Context, who: Annotation, units: UnitTable, system: str) -> list[Cell]:
    if not system:
        nothing = undefined("no such system in this study")
        return [Cell(text="–"), Cell(text="–"), Cell.of(nothing), Cell.of(nothing)]
    part = _figures(ctx, of_systems(units, {system}), f"{who.name}/{system}")
    return [
        Cell.count(part.explanations),
        Cell.count(part.samples),
        Cell.of(part.generality, rule=who.rule),
        Cell.of(part.found.precision, rule=who.rule),
    ]


def _figure(ctx: Context, who: Annotation, units: UnitTable, systems: list[str]) -> Figure:
    points = []
    for system in systems:
        options = ctx.resampling
        found = unit_simulatability(of_systems(units, {system}), **options)
        points.append({"label": system, **found.precision.to_dict()})
    return Figure(
        id="p2-table-1-precision",
        title=f"Precision by system, annotated by {who.name.lower()}",
        alt="The precisions of P2 Table 3.",
        form="intervals",
        data={"x": "Precision", "domain": [0.0, 1.0], "points": points},
    )


def _sanity(ctx: Context, units: UnitTable) -> list[Table]:
    """Outputs written from the explanation must contain all its units; None if the study has no such outputs."""
    systems = sorted({s for s in set(units.system) if is_sanity(ctx, s)})
    rows = []
    for system in systems:
        whole = unit_simulatability(of_systems(units, {system}))
        per = whole.per_counterfactual
        found = sanity_check(per.counterfactual.tolist(), per.precision)
        verdict = "nothing to check" if found.passed is None else "passed" if found.passed else "failed"
        rows.append(
            TableRow(
                [system],
                [
                    Cell.of(whole.precision, shape="number"),
                    Cell(verdict),
                    Cell.count(found.checked),
                    Cell.count(len(found.failures)),
                ],
            )
        )
    if not rows:
        return []
    return [
        Table(
            id="p2-sanity",
            number="P2 Section 5.2",
            title="Sanity check: outputs written from the explanation must score a precision of 1.00",
            head=["System"],
            columns=[
                TableColumn("Precision"),
                TableColumn("Verdict"),
                TableColumn("Follow-ups checked"),
                TableColumn("Below 1.00"),
            ],
            rows=rows,
        )
    ]
