"""Cells of CSV files that people open in a spreadsheet."""

from __future__ import annotations

import re
from typing import Any

#: What a spreadsheet takes for a formula, possibly after trimming it. Apostrophes before it are kept apart from ours.
_FORMULA = re.compile("'* *[=+@\\t\\r\\n\uff1d\uff0b\uff0d\uff20-]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def cell_neutral(value: Any) -> Any:
    """A CSV cell that no spreadsheet will run as a formula: an apostrophe before ``= + - @``, tab and line breaks, also after
    spaces. A number stays.

    >>> cell_neutral("=1+1"), cell_neutral("  @x"), cell_neutral("yes"), cell_neutral("-1"), cell_neutral(-1.5)
    ("'=1+1", "'  @x", 'yes', '-1', -1.5)
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def cell_restored(value: Any) -> Any:
    """The value of a cell that ``cell_neutral`` has written.

    >>> cell_restored("'=1+1"), cell_restored("'  @x"), cell_restored("'tis"), cell_restored(None)
    ('=1+1', '  @x', "'tis", None)
    """
    if isinstance(value, str) and value[:1] == "'" and _FORMULA.match(value[1:]):
        return value[1:]
    return value
