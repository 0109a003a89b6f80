"""A report as plain text, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.reports import words


def render(content: Mapping[str, Any]) -> str:
    """The report as aligned columns of text; terminal control characters are removed, and a text is one line."""
    content = _lines(content)
    title = content["title"]
    lines = [title, "=" * len(title), ""]
    lines += [f"{name}: {value}" for name, value in content["facts"]]
    lines += ["", *(f"! {warning}" for warning in content["warnings"])] if content["warnings"] else []
    for section in content["sections"]:
        title = f"{section['title']} ({section['number']})" if section["number"] else section["title"]
        lines += ["", "", title, "-" * len(title), *section["prose"]]
        for block in section["blocks"]:
            lines += ["", *(_table(block) if block["kind"] == "table" else _figure(block))]
        lines += [f"  {note}" for note in section["notes"]]
    return "".join(ch for ch in "\n".join(lines) if ch == "\n" or ch.isprintable()) + "\n"


def _figure(figure: Mapping[str, Any]) -> list[str]:
    """The figure's title and its description in words."""
    title = f"{figure['number']}. {figure['title']}" if figure["number"] else figure["title"]
    said = [figure["alt"], *figure["notes"], *figure.get("denominators", ())]
    return [f"Figure: {title}", *(f"  {note}" for note in said)]


def _table(table: Mapping[str, Any]) -> list[str]:
    """The title, the head (two lines if columns have groups), rows under their groups, reasons and notes."""
    reasons: dict[str, int] = {}
    left = len(table["head"])
    above = [""] * left + [column["group"] for column in table["columns"]]
    above = [name if n == left or name != above[n - 1] else "" for n, name in enumerate(above)]
    heads = [[*table["head"], *(column["label"] for column in table["columns"])]]
    heads = [above, *heads] if any(above) else heads
    rows = [[*row["head"], *(_cell(cell, reasons) for cell in row["cells"])] for row in table["rows"]]
    widths = [max(len(row[n]) for row in [*heads, *rows]) for n in range(len(heads[0]))]

    def line(cells: list[str]) -> str:
        padded = zip(cells, widths, strict=True)
        return "  ".join(c.ljust(w) if n < left else c.rjust(w) for n, (c, w) in enumerate(padded)).rstrip()

    lines = [f"{table['number']}. {table['title']}" if table["number"] else table["title"]]
    lines += [*map(line, heads), "  ".join("-" * width for width in widths)]
    group = ""
    for row, cells in zip(table["rows"], rows, strict=True):
        lines += [f"[{row['group']}]"] if row["group"] != group else []
        group = row["group"]
        lines.append(line(cells))
    lines += [f"  ({number}) not defined: {reason}" for reason, number in reasons.items()]
    return [*lines, *(f"  {note}" for note in [*table["notes"], *table.get("denominators", ())])]


def _cell(cell: Mapping[str, Any], reasons: dict[str, int]) -> str:
    planned = " planned" if cell.get("analysis") == "planned" else ""
    if cell["kind"] == "number" and cell["value"] is None:
        return f"n.d. ({reasons.setdefault(cell['reason'], len(reasons) + 1)}){planned}"
    return words.cell(cell) + planned


def _lines(value: Any) -> Any:
    """Content whose texts have no line breaks, which would break a table's lines."""
    if isinstance(value, str):
        return " ".join(value.splitlines())
    if isinstance(value, Mapping):
        return {name: _lines(one) for name, one in value.items()}
    return [_lines(one) for one in value] if isinstance(value, list | tuple) else value
