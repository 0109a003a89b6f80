"""The next study: how many items by how many raters the same money buys, with this study's own components of variance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evaluation.core.estimand import Raters
from evaluation.core.estimate import NAN, Estimate
from evaluation.core.ratings_table import Ratings
from evaluation.metrics import FollowUps
from evaluation.planning.by_money import Components, DesignRow, best_of, components_of, plan_money
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.words import count

#: With fewer judged items, components of variance say too little.
LEAST_ITEMS = 8
#: The figure shows widths of up to this many times the narrowest.
SHOWN = 5
WHOSE: dict[Raters, str] = {"like": "raters like these", "these": "these raters"}


@section(order=110, title="The next study: items by raters")
def next_study(ctx: Context) -> Section | None:
    """A table and a figure of the interval's width with up to 20 raters on each item, for the same money; None without two raters on items."""
    if ctx.only_simulators or not ctx.named:
        return None
    what, ratings, judged = _numbers_of(ctx)
    if ratings is None or int((ratings.grouped.sizes > 0).sum()) < LEAST_ITEMS:
        return None
    components, _ = components_of(ratings)
    if components is None or not components.total > 0:
        return None
    pay = float(ctx.study.pay_per_item)
    money = float(ctx.choices.money) or judged * (pay or 1.0)
    # Judgments without a number are paid too.
    price = (pay or 1.0) * judged / len(ratings)
    rows = {whose: plan_money(components, money, price=price, raters=whose) for whose in WHOSE}
    spent = f"{money:,.2f} {ctx.study.currency}" if pay else count(round(money), "judgment")
    return Section(
        id="next-study",
        title="The next study: items by raters for the same money",
        prose=[_sentence(what, rows)],
        blocks=[
            _components(what, components, ratings),
            _table(rows, spent, pay, _without(judged, len(ratings))),
            _figure(rows, what, spent),
        ],
        notes=[
            "The components of variance are estimated from this study's judgments by restricted maximum likelihood of number = mean + item "
            "+ rater + rest. They are estimates themselves, from few raters above all. Items are taken as independent: with several items of one "
            "instance, intervals are wider. Raters who each judge a part of the items only count as more raters."
        ],
    )


def _numbers_of(ctx: Context) -> tuple[str, Ratings | None, int]:
    """What the mean is of; people's judgments as numbers: 1 for a right prediction, a label's own number, or 1 for the most
    frequent label; and how many judgments there are, with those that give no number. None if there is nothing to take a mean of."""
    name = ctx.headline.name
    ratings = replace(ctx.of_raters(ctx.ratings(name)), clusters=None)
    judged = len(ratings)
    if not judged:
        return "", None, 0
    if "simulatability" in ctx.hit_type.measures:
        (base,) = ctx.follow_ups(name, "majority")
        ratings = ratings.without_abstain()
        real, outputs = _real_outputs(ctx, base)
        ratings = ratings.where(real[ratings.unit] >= 0)
        if not len(ratings):
            return "", None, judged
        wanted = np.array([outputs.get(label, -2) for label in ratings.labels], dtype=real.dtype)
        right = _as_share(ratings, wanted[ratings.value] == real[ratings.unit])
        return "the share of right predictions", right, judged
    if set(ratings.labels) <= set(ratings.scores) or ratings.level in ("interval", "ratio"):
        return f"the mean of “{ctx.headline.title}”", ratings, judged
    most = int(np.bincount(ratings.value, minlength=len(ratings.labels)).argmax())
    label = ctx.label_words(ratings.labels[most])
    return f"the share of “{label}”", _as_share(ratings, ratings.value == most), judged


def _real_outputs(ctx: Context, base: FollowUps) -> tuple[np.ndarray, dict[str, int]]:
    """Each unit's real output as a code, -1 where none is known, and the outputs' codes."""
    units, real = ctx.data.table(ctx.headline.name).units, base.column("real")
    codes = {name: code for code, name in enumerate(real.names) if name}
    kind = real.codes.dtype
    known = np.array([*(codes.get(name, -1) for name in real.names), -1], dtype=kind)
    by_item = np.full(len(ctx.data.judgments.items), -1, dtype=kind)
    by_item[base.column("unit").codes] = known[real.codes]
    return np.where(units.suffix.among({""}), by_item[units.item], kind.type(-1)), codes


def _without(judged: int, numbers: int) -> list[str]:
    """What the table leaves out: judgments that give no number."""
    if judged == numbers:
        return []
    return [
        f"Of this study’s {count(judged, 'judgment')}, {numbers:,} give a number; “cannot guess” and follow-ups without a known real "
        f"output give none. The others cost as much, so that {100 * numbers / judged:.0f} % of the money buys numbers, as in this study. "
        "Items and judgments of the table are those with numbers."
    ]


def _as_share(ratings: Ratings, hit: np.ndarray) -> Ratings:
    return replace(
        ratings,
        labels=("0", "1"),
        value=hit.astype(np.int32),
        level="interval",
        scores={},
        abstain=frozenset(),
    )


def _sentence(what: str, rows: dict[Raters, list[DesignRow]]) -> str:
    best = best_of(rows["like"])
    if best is None:
        return f"For this money, no number of raters gives an interval of {what}."
    return (
        f"For the same money, the interval of {what} for raters like these is narrowest with {count(best.raters, 'rater')} on each of "
        f"{count(best.items, 'item')}. For these raters, fewer raters on more items are narrower. The table has the widths."
    )


def _components(what: str, found: Components, ratings: Ratings) -> Table:
    n = len(ratings)
    parts = {"Items": found.items, "Raters": found.raters, "Rest": found.rest}
    return Table(
        id="next-study-components",
        title=f"Components of variance of {what}",
        head=["Between"],
        columns=[TableColumn("Variance"), TableColumn("Share, %")],
        rows=[
            TableRow(
                [name], [Cell.number(value, n=n), Cell.number(value / found.total, shape="percent", n=n)]
            )
            for name, value in parts.items()
        ],
    )


def _table(rows: dict[Raters, list[DesignRow]], spent: str, pay: float, notes: list[str]) -> Table:
    why = "one rater, or one item, does not show how much others differ"
    return Table(
        id="next-study",
        title=f"Items by raters for {spent}",
        head=["Raters on each item"],
        columns=[
            TableColumn("Items"),
            TableColumn("Judgments"),
            *([TableColumn("Cost")] if pay else []),
            *(TableColumn(f"Width, {whose}") for whose in WHOSE.values()),
        ],
        rows=[
            TableRow(
                [str(first.raters)],
                [
                    Cell.count(first.items),
                    Cell.count(first.judgments),
                    *([Cell.number(first.cost, shape="money")] if pay else []),
                    *(Cell.number(row.width, reason=why, n=row.judgments) for row in (first, second)),
                ],
            )
            for first, second in zip(rows["like"], rows["these"], strict=True)
        ],
        notes=["Width: of the 95 % interval to expect, for items like these.", *notes],
    )


def _figure(rows: dict[Raters, list[DesignRow]], what: str, spent: str) -> Figure:
    narrowest = min((row.width for found in rows.values() for row in found if row.width > 0), default=1.0)
    points = [
        {
            "label": f"{count(row.raters, 'rater')} × {count(row.items, 'item')}",
            "group": WHOSE[whose].capitalize(),
            **Estimate(row.width, NAN, NAN, row.judgments).to_dict(),
        }
        for whose in WHOSE
        for row in rows[whose]
        if row.width <= SHOWN * narrowest or row.width == 0  # not nan
    ]
    widest = max((point["value"] for point in points), default=1.0)
    return Figure(
        id="next-study-widths",
        title=f"Width of the 95 % interval of {what}, for {spent}",
        alt="The values of the table of items by raters.",
        form="intervals",
        notes=[f"Only widths of up to {SHOWN} times the narrowest; the table has all."],
        data={
            "x": "Width of the 95 % interval",
            "shape": "number",
            "domain": [0.0, widest],
            "points": points,
        },
    )
