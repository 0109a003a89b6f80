"""P3 Table 3: how many rationales are useful, not useful, unsure; and which answers they change."""

from __future__ import annotations

from evaluation.metrics import UtilityResult, per_annotator_utility, utility_by_system
from evaluation.reports.columns import labelled_items, own_answers
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.utility_estimands import answers_over_raters, utility_estimands, utility_unjudged
from evaluation.reports.words import POINTS, CountedSentence, count, left_out, listed, stated

CLASSES = ("useful", "not useful", "unsure")


@section(order=40, title="P3 Table 3: utility of rationales", measure="utility")
def p3_table3(ctx: Context) -> Section | None:
    """Shares and counts of the utility classes, all together and by system; flows and accuracy."""
    rows = labelled_items(ctx, "before", "after")
    if not rows.instance:
        return None
    found = utility_by_system(
        rows.label["before"],
        rows.label["after"],
        rows.gold,
        rows.instance,
        rows.system,
        **utility_estimands(ctx, rows),
        **ctx.resampling,
    )
    names = ["all", *(name for name in found if name != "all")]
    whole = found["all"]
    aside = left_out(whole.right_after.left_out)
    return Section(
        id="p3-table-3",
        number="P3 Table 3",
        title="Utility of rationales",
        prose=[
            CountedSentence(
                "Of the rationales, "
                + listed(
                    [f"{stated(whole.shares[name], 'rationale', 'percent')} were {name}" for name in CLASSES]
                )
                + f". Answers were right in {stated(whole.right_before, 'rationale', 'percent')} before and "
                f"{stated(whole.right_after, 'rationale', 'percent')} after the rationale, a difference of "
                f"{stated(whole.gain, 'rationale', 'percent', POINTS)}.",
                sum(whole.counts.values()),
            )
        ],
        blocks=[
            _shares(ctx, found, names, rows.rule),
            _figure(found, names),
            _flows(found, names, rows.rule),
            *_own(ctx),
        ],
        notes=[
            "Useful: wrong before, right after. Not useful: wrong after. Unsure: right both times. A rationale with one "
            f"of the labels missing is left out{f': {aside}' if aside else ''}. Labels are those of the rule {rows.rule}."
        ],
    )


def _shares(ctx: Context, found: dict[str, UtilityResult], names: list[str], rule: str) -> Table:
    rows = []
    for name in CLASSES:
        cells = [
            cell
            for system in names
            for cell in (
                Cell.of(found[system].shares[name], shape="percent", rule=rule),
                Cell.count(found[system].counts[name]),
            )
        ]
        rows.append(TableRow([ctx.dataset, name.capitalize()], cells))
    return Table(
        id="p3-table-3",
        number="P3 Table 3",
        title="Distribution of human utility of rationales",
        head=["Dataset", "Type"],
        columns=[TableColumn(kind, _title(name)) for name in names for kind in ("%", "Count")],
        rows=rows,
    )


def _own(ctx: Context) -> list[Table]:
    """The classes of every annotator's own answers, which the majority hides."""
    answers = own_answers(ctx)
    if not answers.rater:
        return []
    rows: list[TableRow] = []
    systems = ["", *sorted(set(answers.system))]
    by_system = []
    like = ctx.new_raters and ctx.choices.replicates > 0
    for system in systems:
        kept = [i for i, name in enumerate(answers.system) if system in ("", name)]
        by_system.append(
            per_annotator_utility(
                [answers.before[i] for i in kept],
                [answers.after[i] for i in kept],
                [answers.gold[i] for i in kept],
                [answers.instance[i] for i in kept],
                [answers.rater[i] for i in kept],
                unjudged=utility_unjudged(ctx, system),
                new_raters=answers_over_raters(answers, kept, single=True) if like else None,
                **ctx.resampling,
            )
        )
    for name in CLASSES:
        cells = [Cell.of(found.shares[name], shape="percent", rule="per_rater") for found in by_system]
        rows.append(TableRow([ctx.dataset, name.capitalize()], cells))
    return [
        Table(
            id="p3-table-3-annotators",
            title="Utility by every annotator’s own answers, without a majority, %",
            head=["Dataset", "Type"],
            columns=[TableColumn(name or "All") for name in systems],
            rows=rows,
            notes=[
                f"{count(len(answers.rater), 'judgment')} by {count(len(set(answers.rater)), 'annotator')}."
            ],
        )
    ]


def _title(name: str) -> str:
    return "All" if name == "all" else name


def _figure(found: dict[str, UtilityResult], names: list[str]) -> Figure:
    shown = [name for name in names if all(share.defined for share in found[name].shares.values())]
    return Figure(
        id="p3-table-3-utility",
        title="Utility of rationales by system",
        alt="The shares of P3 Table 3.",
        form="bars",
        data={
            "x": "% of rationales",
            "rows": [_title(name) for name in shown],
            "parts": list(CLASSES),
            "values": [[found[name].shares[part].value for part in CLASSES] for name in shown],
        },
    )


def _flows(found: dict[str, UtilityResult], names: list[str], rule: str) -> Table:
    flows = list(found["all"].flows)
    rows = []
    for name in names:
        one = found[name]
        cells = [
            Cell.of(value, shape="percent", rule=rule)
            for value in (one.right_before, one.right_after, one.gain)
        ]
        rows.append(TableRow([_title(name)], [*cells, *(Cell.count(one.flows[flow]) for flow in flows)]))
    return Table(
        id="p3-utility-flows",
        title="Accuracy before and after the rationale, %, and how many answers it turned",
        head=["System"],
        columns=[
            TableColumn("Right before"),
            TableColumn("Right after"),
            TableColumn("Difference"),
            *(TableColumn(flow, "Rationales") for flow in flows),
        ],
        rows=rows,
    )
