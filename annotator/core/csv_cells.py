"""Cells of CSV files that people open in a spreadsheet."""

from __future__ import annotations

from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def cell_neutral(value: Any) -> Any:
    """A CSV cell that no spreadsheet will run as a formula: an apostrophe before ``= + - @``, tab and CR.

    >>> cell_neutral("=1+1"), cell_neutral("yes"), cell_neutral(-1.5)
    ("'=1+1", 'yes', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
