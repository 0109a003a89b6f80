"""Cells of CSV files that people open in a spreadsheet."""

from __future__ import annotations

import re
from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def cell_neutral(value: Any) -> Any:
    """A CSV cell that no spreadsheet will run as a formula: an apostrophe before ``= + - @``, tab and CR. A number stays.

    >>> cell_neutral("=1+1"), cell_neutral("yes"), cell_neutral("-1"), cell_neutral(-1.5)
    ("'=1+1", 'yes', '-1', -1.5)
    """
    if isinstance(value, str) and value.startswith(FORMULA_STARTS) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def cell_restored(value: Any) -> Any:
    """The value of a cell that ``cell_neutral`` has written.

    >>> cell_restored("'=1+1"), cell_restored("'tis"), cell_restored(None)
    ('=1+1', "'tis", None)
    """
    if isinstance(value, str) and value[:1] == "'" and value[1:].startswith(FORMULA_STARTS):
        return value[1:]
    return value
