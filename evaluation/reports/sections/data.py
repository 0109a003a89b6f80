"""What was judged, by whom, and what was left out: the denominators for all other sections."""

from __future__ import annotations

import numpy as np

from evaluation.core.estimate import Estimate, undefined
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.words import count, listed


@section(order=10, title="Counting what was judged")
def data(ctx: Context) -> Section:
    """Raters, judgments and items; judgments set aside, by reason; replies that could not be parsed."""
    blocks = [_raters(ctx)]
    blocks += [_left_out(ctx)] if ctx.data.judgments.left_out else []
    blocks += [_unparsable(ctx)] if ctx.data.judgments.unparsable else []
    return Section(id="data", title="What was judged", prose=_prose(ctx), blocks=blocks)


def _prose(ctx: Context) -> list[str]:
    judgments = ctx.data.judgments
    items, raters = judgments.items, judgments.raters
    if not len(judgments):
        return ["No judgment counts yet, so no figure below is defined."]
    human = ~raters.is_simulator
    groups = (
        (human & ~raters.is_rehearsal & ~raters.is_imported, "person", "people"),
        (human & raters.is_imported, "imported rater", ""),
        (human & raters.is_rehearsal, "rehearsal rater", ""),
    )
    who = [count(int(group.sum()), one, many) for group, one, many in groups if group.any()]
    who += [count(len(ctx.simulators), "simulator")] if ctx.simulators else []
    about = [count(int(judgments.in_play.sum()), "item")]
    for column, one in ((items.instance_names, "instance"), (items.explanation_names, "explanation")):
        number = np.unique(column.codes[judgments.in_play & (column.codes >= 0)]).size
        about += [count(number, one)] if number else []
    systems = np.unique(items.system.codes[judgments.in_play & (items.system.codes >= 0)]).size
    about += [count(systems, "system")] if systems else []
    left = sum(judgments.left_out.values())
    aside = f" {count(left, 'more judgment')} left out; the table below says why." if left else ""
    return [
        f"{listed(who)} made {count(len(judgments), 'judgment')} that {'count' if len(judgments) > 1 else 'counts'}, "
        f"on {listed(about)}.{aside}",
        _redundancy(ctx),
        *_collected_again(ctx),
    ]


def _redundancy(ctx: Context) -> str:
    """The range of the number of people per item, and how many items have fewer than the study's k."""
    judgments = ctx.data.judgments
    human = ~judgments.raters.is_simulator[judgments.rater]
    per_item = np.bincount(judgments.item[human], minlength=len(judgments.items))[judgments.in_play]
    if not per_item.size or not per_item.any():
        return f"No item was judged by {'people' if ctx.only_simulators else ctx.people}."
    low, high, k = int(per_item.min()), int(per_item.max()), ctx.study.redundancy
    divided = ctx.study.shared_items is not None
    short = int((per_item < k).sum())
    each = f"{low}" if low == high else f"{low} to {high}"
    who = ctx.people
    if low == high == 1:
        who = {"people": "person", "imported raters": "imported rater"}.get(who, who.removesuffix("s"))
    text = f"Each item was judged by {each} {who}; the study asks for {ctx.study.raters_words}."
    if divided:  # which items those are is in the places, and imported judgments have none
        return text
    return f"{text} {count(short, 'item has', 'items have')} fewer." if short else text


def _collected_again(ctx: Context) -> list[str]:
    """What other people were asked to make up for, and the items that have more people than the study asks for since."""
    again, found = ctx.all_data.judgments.again, []
    if again.replaced:
        found.append(
            f"Others were asked instead of excluded people: {count(again.replaced, 'excluded judgment has', 'excluded judgments have')}"
            " one of another person in its place."
        )
    if again.over:
        why = (
            "exclusions were lifted after others had been asked instead, and both are kept"
            if ctx.choices.exclusions
            else "others were asked instead of people whom this report counts"
        )
        found.append(
            f"{count(again.over, 'item has', 'items have')} more people than the study asks for: {why}."
        )
    return found


def _raters(ctx: Context) -> Table:
    judgments = ctx.data.judgments
    simulator = judgments.raters.is_simulator
    human = np.flatnonzero(~simulator)
    rows = [] if ctx.only_simulators else [_row(ctx.people.capitalize(), ctx, human)]
    rows += [_row(judgments.raters.names[n], ctx, np.array([n])) for n in np.flatnonzero(simulator)]
    return Table(
        id="data-raters",
        title="Judgments that count",
        head=["Group"],
        columns=[
            TableColumn("Raters"),
            TableColumn("Judgments"),
            TableColumn("Items judged"),
            TableColumn("Judgments per item"),
        ],
        rows=rows,
    )


def _row(name: str, ctx: Context, raters: np.ndarray) -> TableRow:
    judgments = ctx.data.judgments
    mine = np.isin(judgments.rater, raters)
    items = int((np.bincount(judgments.item[mine], minlength=len(judgments.items)) > 0).sum())
    number = int(mine.sum())
    mean = Estimate(number / items, n=items) if items else undefined("no item was judged")
    return TableRow([name], [Cell.count(raters.size), Cell.count(number), Cell.count(items), Cell.of(mean)])


def _left_out(ctx: Context) -> Table:
    found = ctx.data.judgments.left_out
    return Table(
        id="data-left-out",
        title="Judgments left out, each counted under the first reason that applies",
        head=["Reason"],
        columns=[TableColumn("Judgments")],
        rows=[TableRow([reason], [Cell.count(number)]) for reason, number in found.items()],
        notes=[]
        if ctx.choices.exclusions
        else ["As chosen, this report counts what researchers have excluded."],
    )


def _unparsable(ctx: Context) -> Table:
    found = ctx.data.judgments.unparsable
    return Table(
        id="data-unparsable",
        title="Simulators' calls that gave no response; they are missing, not wrong",
        head=["Simulator", "What happened"],
        columns=[TableColumn("Calls")],
        rows=[
            TableRow([name, kind], [Cell.count(number)])
            for name, kinds in found.items()
            for kind, number in kinds.items()
        ],
    )
