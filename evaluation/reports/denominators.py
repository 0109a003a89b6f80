"""Sentences on the denominators of a table or figure, on what was left out, on intervals that there are none of, and on what the
others are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.core.estimand import Estimand, estimand_of
from evaluation.reports.words import count, left_out, listed

#: More different denominators or exclusions than this are summarised instead of listed.
MOST = 24
#: More different exclusions than this make a note that nobody reads: it says how many values are concerned, and where the rest stands.
MOST_EXCLUSIONS = 4
#: More values than this without an interval for the same reason are counted instead of listed.
NAMED = 8


@dataclass(frozen=True)
class Basis:
    """One value's row and column, its denominator, and how many were left out, by reason.

    ``shown``: a column of the table has the denominator. ``no_interval`` says why the value has no interval, if it has none;
    ``estimand`` what its interval is about, if it has one.
    """

    row: str
    column: str
    n: int
    left_out: dict[str, int] = field(default_factory=dict)
    shown: bool = False
    no_interval: str = ""
    estimand: Estimand | None = None


def denominator_notes(values: Sequence[Basis]) -> list[str]:
    """At most four sentences: how many each value is based on, unless the table shows it, what was left out, and which values have
    no interval, with the reason; and which items and raters the intervals are about.

    >>> denominator_notes([Basis("robot-a", "Precision", 4, {"tie": 1}), Basis("robot-b", "Precision", 4)])
    ['n = 4 for every value.', 'Left out: 1 tie (robot-a).']
    """
    counted = [value for value in values if value.n]
    if not counted:
        return estimand_notes(values)
    return [*_sizes(counted), *_left_out(values), *_no_intervals(values), *estimand_notes(values)]


def estimand_notes(values: Sequence[Basis]) -> list[str]:
    """A sentence on what the intervals are about; none without intervals. Where they differ, most of them come first.

    >>> estimand_notes([Basis("a", "Precision", 4, estimand=estimand_of("95 % Wilson interval over 9 instances"))])
    ['Intervals are for items like these, judged by these raters.']
    """
    by: dict[Estimand, list[str]] = {}
    for value in values:
        if value.estimand is not None:
            by.setdefault(value.estimand, []).append(_where(value, values))
    if not by:
        return []
    usual, *others = sorted(by, key=lambda one: (-len(by[one]), one))
    more = [f"; for {one}: {_places(by[one])}" for one in others]
    return [f"Intervals are for {usual}{''.join(more)}."]


def estimand_in(cell: Mapping[str, Any]) -> Estimand | None:
    """The estimand of a stored value with an interval; None without one.

    >>> str(estimand_in({"low": 0.4, "interval": "95 % t interval"}))
    'items like these, judged by these raters'
    """
    return estimand_of(str(cell.get("interval") or "")) if cell.get("low") is not None else None


def _sizes(values: Sequence[Basis]) -> list[str]:
    if len({value.n for value in values}) == 1:
        return [f"n = {values[0].n:,} for every value."]
    values = [value for value in values if not value.shown]
    sizes = {value.n for value in values}
    by = _grouped(values)
    if len(by) > MOST:
        return [f"n is from {min(sizes):,} to {max(sizes):,}."]
    return [f"n: {'; '.join(f'{where} {n:,}' for where, n in by.items())}."] if by else []


def _grouped(values: Sequence[Basis]) -> dict[str, int]:
    """Denominators by column if each column has one, else by row, else for each value."""
    for name in ("column", "row"):
        found: dict[str, set[int]] = {}
        for value in values:
            found.setdefault(getattr(value, name), set()).add(value.n)
        if all(len(sizes) == 1 for sizes in found.values()) and "" not in found:
            return {where: sizes.pop() for where, sizes in found.items()}
    return {_where(value, values): value.n for value in values}


def _left_out(values: Sequence[Basis]) -> list[str]:
    by: dict[str, list[str]] = {}
    for value in values:
        said = left_out(value.left_out)
        if said:
            by.setdefault(said, []).append(_where(value, values))
    if not by:
        return []
    if len(by) == 1 and len(next(iter(by.values()))) == len(values):
        return [f"Left out of every value: {next(iter(by))}."]
    if len(by) > MOST_EXCLUSIONS:
        total = sum(map(len, by.values()))
        return [
            f"Something was left out of {count(total, 'value')}; the details of each value, and the CSV and JSON files, list it."
        ]
    return [f"Left out: {'; '.join(f'{said} ({_places(where)})' for said, where in by.items())}."]


def _no_intervals(values: Sequence[Basis]) -> list[str]:
    by: dict[str, list[str]] = {}
    for value in values:
        if value.no_interval:
            by.setdefault(value.no_interval, []).append(_where(value, values))
    if not by:
        return []
    if len(by) == 1 and len(next(iter(by.values()))) == len(values):
        return [f"No value has an interval: {next(iter(by))}."]
    if len(by) > MOST:
        total = sum(map(len, by.values()))
        return [f"{count(total, 'value')} have no interval; the CSV and JSON files say why for each."]
    said = [f"{why} ({_places(where)})" for why, where in by.items()]
    return [f"No interval: {'; '.join(said)}."]


def _places(where: Sequence[str]) -> str:
    """Where values are, or how many they are if there are many."""
    distinct = list(dict.fromkeys(where))
    return listed(distinct) if len(distinct) <= NAMED else count(len(where), "value")


def _where(one: Basis, values: Sequence[Basis]) -> str:
    """A short description of a value's position: its row, its column, or both if needed."""
    rows, columns = {v.row for v in values}, {v.column for v in values}
    parts = [one.row if len(rows) > 1 else "", one.column if len(columns) > 1 else ""]
    return ", ".join(filter(None, parts)) or one.row or one.column
