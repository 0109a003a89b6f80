"""P3 Tables 4 and 6: do task performance, BERTScore and GEN-U tell whether rationales help people?"""

from __future__ import annotations

from evaluation.agreement import holm
from evaluation.core.estimate import Estimate, undefined
from evaluation.metrics import task_accuracy
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.helping import (
    GenUOfModel,
    bert_f1,
    eta_of_bertscore,
    gen_u_by_model,
    helping,
    utility_by_chance,
    utility_known_from,
)
from evaluation.reports.registry import section
from evaluation.reports.words import CountedSentence, count, stated

NO_GEN_U = "no GEN-U run on these instances"


@section(order=50, title="P3 Tables 4 and 6: what predicts utility", measure="utility")
def p3_table4(ctx: Context) -> Section | None:
    """U(utility | task accuracy) and eta of BERTScore by system (Table 4); GEN-U beside both (Table 6)."""
    found = helping(ctx)
    if not found.rows.instance:
        return None
    systems = ["", *found.systems]
    accuracy = [utility_known_from(ctx, found.right, found.of(name)) for name in systems]
    scores = [eta_of_bertscore(ctx, found.of(name)) for name in systems]
    runs = gen_u_by_model(ctx)
    everything = found.of("")
    by_gen_u = [utility_known_from(ctx, run.values, everything) for run in runs]
    rule = found.rows.rule
    blocks: list[Table | Figure] = [
        _table2(ctx, found.systems),
        _table4(ctx, systems, accuracy, scores, rule),
        _chance(systems, [utility_by_chance(ctx, found.right, found.of(name)) for name in systems]),
        _table6(ctx, runs, by_gen_u, accuracy[0], scores[0], rule),
    ]
    blocks += [_gen_u(number, run) for number, run in enumerate(runs, start=1)]
    return Section(
        id="p3-table-4",
        number="P3 Tables 4, 6",
        title="What predicts utility",
        prose=[text for text in (_sentence(accuracy[0], "whether the system was right"),) if text]
        + [
            text
            for run, value in zip(runs, by_gen_u, strict=True)
            if (text := _sentence(value, f"GEN-U by {run.model}"))
        ],
        blocks=blocks,
        notes=[
            "U(utility | y): the share of the entropy of utility that knowing y removes, from 0 to 1, in this direction. "
            "η is the correlation ratio of BERTScore’s F1 (rationale against gold rationale) by utility class, not "
            "squared. U and η are different measures, shown side by side as in the paper."
        ],
    )


def _sentence(found: Estimate, what: str) -> str:
    if not found.defined:
        return ""
    return CountedSentence(
        f"Knowing {what} removes {stated(found, 'rationale')} of the uncertainty about utility.", found.n
    )


def _table2(ctx: Context, systems: list[str]) -> Table:
    """How often each system's own answer was right."""
    rows = helping(ctx).rows
    right = task_accuracy(rows.output, rows.gold, rows.instance, rows.system, **ctx.resampling)
    unknown = undefined("no answer of this system and gold label are known")
    return Table(
        id="p3-table-2",
        number="P3 Table 2",
        title="Accuracy of the systems on the questions that they explained, %",
        head=["Dataset", "Measure"],
        columns=[TableColumn(name) for name in systems],
        rows=[
            TableRow(
                [ctx.dataset, "Test accuracy"],
                [
                    Cell.of(right.systems.get(name, unknown), shape="percent", rule=rows.rule)
                    for name in systems
                ],
            )
        ],
    )


def _table4(
    ctx: Context, systems: list[str], accuracy: list[Estimate], scores: list[Estimate], rule: str
) -> Table:
    return Table(
        id="p3-table-4",
        number="P3 Table 4",
        title="Correlation of human utility with task performance (Theil’s U) and BERTScore (η)",
        head=["Dataset", "Type"],
        columns=[TableColumn(name if name else "Overall", "Correlation") for name in systems],
        rows=[
            TableRow([ctx.dataset, "Task accuracy"], [Cell.of(value, rule=rule) for value in accuracy]),
            TableRow([ctx.dataset, "BERTScore"], [Cell.of(value, rule=rule) for value in scores]),
        ],
        notes=[f"BERTScore: {version}."] if (version := bert_f1(ctx)[2]) else [],
    )


def _chance(systems: list[str], found: list[tuple[Estimate, float]]) -> Table:
    """Theil's U without any association, which is above 0: small tables agree by chance."""
    return Table(
        id="p3-table-4-chance",
        title="Theil’s U of utility and task accuracy by chance alone",
        head=["Rationales of"],
        columns=[TableColumn("Mean over permutations"), TableColumn("p"), TableColumn("p (Holm)")],
        rows=[
            TableRow(
                [name or "Overall"],
                [
                    Cell.of(by_chance),
                    *(
                        Cell.number(float(one), shape="p", n=by_chance.n, reason=by_chance.reason)
                        for one in (p, corrected)
                    ),
                ],
            )
            for name, (by_chance, p), corrected in zip(
                systems, found, holm([p for _, p in found]), strict=True
            )
        ],
        notes=[
            "1,000 random permutations of task accuracy over the rationales. p: how often U is at least as large as in P3 Table 4; beside it "
            "after Holm’s correction over the rows."
        ],
    )


def _table6(
    ctx: Context,
    runs: list[GenUOfModel],
    by_gen_u: list[Estimate],
    accuracy: Estimate,
    score: Estimate,
    rule: str,
) -> Table:
    names = [f"GEN-U ({run.model})" for run in runs] or ["GEN-U"]
    values = [*(by_gen_u or [undefined(NO_GEN_U)]), accuracy, score]
    return Table(
        id="p3-table-6",
        number="P3 Table 6",
        title="Correlation of human utility with GEN-U, task accuracy and BERTScore",
        head=["Dataset", "Metric"],
        columns=[
            *(TableColumn(name) for name in names),
            TableColumn("Task accuracy"),
            TableColumn("BERTScore"),
        ],
        rows=[TableRow([ctx.dataset, "Correlation"], [Cell.of(value, rule=rule) for value in values])],
        notes=[]
        if runs
        else ["GEN-U needs its two runs: a model answers the questions without and with the rationale."],
    )


def _gen_u(number: int, run: GenUOfModel) -> Table:
    """Mean GEN-U by system: the first row of P3 Table 7."""
    return Table(
        id=f"p3-gen-u-{number}",
        title=f"GEN-U by {run.model}, from −1 to 1",
        head=["Rationales of"],
        columns=[TableColumn("Mean GEN-U"), TableColumn("Instances"), TableColumn("Tied modes")],
        rows=[
            TableRow([system], [Cell.of(mean), Cell.count(mean.n), Cell.count(run.ties[system])])
            for system, mean in run.means.items()
        ],
        notes=[
            f"{count(sum(run.ties.values()), 'tied mode')} took the smallest of the tied values."
            if sum(run.ties.values())
            else "No mode was tied."
        ],
    )
