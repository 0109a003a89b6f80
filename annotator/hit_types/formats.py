"""The format of a piece of material, as its row declares it: text, Markdown, code, a table or an image."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal, get_args

from annotator.hit_types.images import each_text, image_fault
from annotator.hit_types.reading import Row, clean_text, is_blank
from annotator.hit_types.shapes import FieldErrors

Format = Literal["text", "markdown", "code", "table", "image"]
FORMATS: tuple[Format, ...] = get_args(Format)
#: The payload's key for the formats of its texts; absent if all are plain text.
FORMATS_KEY = "formats"


def format_of(payload: Mapping[str, Any], column: str) -> Format:
    """The declared format of a column's text.

    >>> format_of({"formats": {"input": "code"}}, "input"), format_of({}, "input")
    ('code', 'text')
    """
    found: Format = payload.get(FORMATS_KEY, {}).get(column, "text")
    return found


def read_formats(row: Row, payload: dict[str, Any], columns: set[str]) -> None:
    """Check the column ``formats`` and what it declares, and put both into the payload.

    A list, such as the explanations of plausibility or atomic units, has one format for all its texts. The text of code
    is read from the row again, because its first line may be indented. Errors go to the row.
    """
    declared = row.json(FORMATS_KEY)
    if is_blank(declared) or declared == {}:
        return
    if not isinstance(declared, dict):
        row.errors.setdefault(FORMATS_KEY, 'expected a JSON object such as {"input": "code"}')
        return
    allowed = sorted(name for name in columns if _is_shown(payload.get(name)))
    for name, kind in declared.items():
        if name not in allowed:
            row.errors[FORMATS_KEY] = (
                f"{name!r} is not a text that is shown; expected one of: {', '.join(allowed)}"
            )
        elif kind not in FORMATS:
            row.errors[FORMATS_KEY] = f"{name}: {kind!r} is not one of: {', '.join(FORMATS)}"
        elif kind == "code":
            written = _as_written(row.json(name))
            payload[name] = each_text(payload[name], lambda text, known=written: known.get(text, text))
        elif kind in _FAULTS and (fault := _first_fault(payload[name], _FAULTS[kind])):
            row.errors[name] = fault
    formats = {name: kind for name, kind in declared.items() if kind != "text"}
    if formats and FORMATS_KEY not in row.errors:
        payload[FORMATS_KEY] = formats


def _is_shown(value: Any) -> bool:
    """Whether a part of an item is a text, or a list of objects with a text each."""
    if isinstance(value, list):
        return bool(value) and all(
            isinstance(one, dict) and isinstance(one.get("text"), str) for one in value
        )
    return isinstance(value, str)


def _as_written(value: Any) -> dict[str, str]:
    """Each text of a cell without the white space around it -> the same with the first line's indentation."""
    written: dict[str, str] = {}

    def keep(text: str) -> str:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").rstrip().split("\n")
        first = next((number for number, line in enumerate(lines) if line.strip()), 0)
        with suppress(FieldErrors):
            written[clean_text(text)] = "\n".join(lines[first:])
        return text

    each_text(value, keep)
    return written


def _first_fault(value: Any, check: Callable[[str], str]) -> str:
    faults: list[str] = []

    def look(text: str) -> str:
        if text and (fault := check(text)):
            faults.append(fault)
        return text

    each_text(value, look)
    return faults[0] if faults else ""


def table_rows(text: str) -> list[list[str]]:
    """The rows of a table, the header first: one per line, with cells separated by tabs or vertical bars.

    >>> table_rows("| name | age |\\n|---|---|\\n| Ada | 36 |")
    [['name', 'age'], ['Ada', '36']]
    """
    rows: list[list[str]] = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        cells = line.split("\t") if "\t" in line else line.strip().strip("|").split("|")
        cells = [cell.strip() for cell in cells]
        if not (
            rows and all(cell and set(cell) <= set(":-") for cell in cells)
        ):  # the line below the header of a Markdown table
            rows.append(cells)
    return rows


def table_fault(text: str) -> str:
    """What is wrong with a table; empty if nothing is.

    >>> table_fault("a|b\\n1|2|3")
    'row 2 of the table has 3 cells; its head has 2'
    """
    rows = table_rows(text)
    if len(rows) < 2 or len(rows[0]) < 2:
        return "is not a table: expected a head and rows, a line each, with tabs or | between the cells"
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            return f"row {number} of the table has {len(row)} cells; its head has {len(rows[0])}"
    return ""


#: Format -> what is wrong with a text of it.
_FAULTS: Mapping[str, Callable[[str], str]] = {"table": table_fault, "image": image_fault}
