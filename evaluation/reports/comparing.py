"""Paired comparisons as rows of a table: both means, their difference, its p values and what it rests on."""

from __future__ import annotations

from evaluation.metrics import PairedDifference
from evaluation.reports.content import Cell, TableColumn

#: The columns of ``difference_cells``.
DIFFERENCE_COLUMNS = [
    TableColumn("First"),
    TableColumn("Second"),
    TableColumn("Difference"),
    TableColumn("p (Holm)"),
    TableColumn("p (t-test)"),
    TableColumn("Instances"),
]
UNTESTED = "no difference that could be tested"


def means_cells(one: PairedDifference, rule: str) -> list[Cell]:
    """Both means and their difference, in percent."""
    return [
        Cell.of(value, shape="percent", rule=rule)
        for value in (one.first_mean, one.second_mean, one.difference)
    ]


def p_cell(value: float, n: int) -> Cell:
    return Cell.number(value, shape="p", n=n, reason=UNTESTED)


def difference_cells(one: PairedDifference, rule: str) -> list[Cell]:
    """One row under ``DIFFERENCE_COLUMNS``."""
    n = one.difference.n
    return [*means_cells(one, rule), p_cell(one.p_holm, n), p_cell(one.p_t, n), Cell.count(n)]
