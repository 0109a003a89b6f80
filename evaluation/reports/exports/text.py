"""A report as plain text, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.reports import words


def render(content: Mapping[str, Any]) -> str:
    """The report as aligned columns of text; control characters of a terminal are taken out."""
    lines = [content["title"], "=" * len(content["title"]), ""]
    lines += [f"{name}: {value}" for name, value in content["facts"]]
    lines += ["", *(f"! {warning}" for warning in content["warnings"])]
    for section in content["sections"]:
        title = f"{section['title']} ({section['number']})" if section["number"] else section["title"]
        lines += ["", title, "-" * len(title), *section["prose"]]
        for block in section["blocks"]:
            if block["kind"] == "table":
                lines += ["", *_table(block)]
        lines += [f"  {note}" for note in section["notes"]]
    return "".join(ch for ch in "\n".join(lines) if ch == "\n" or ch.isprintable()) + "\n"


def _table(table: Mapping[str, Any]) -> list[str]:
    heads = [*table["head"], *(" ".join(filter(None, [c["group"], c["label"]])) for c in table["columns"])]
    rows = [[*row["head"], *(words.cell(cell) for cell in row["cells"])] for row in table["rows"]]
    widths = [max(len(row[n]) for row in [heads, *rows]) for n in range(len(heads))]
    title = f"{table['number']}. {table['title']}" if table["number"] else table["title"]

    def line(cells: list[str]) -> str:
        left = len(table["head"])
        parts = [
            cell.ljust(w) if n < left else cell.rjust(w)
            for n, (cell, w) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return [title, line(heads), rule, *(line(row) for row in rows), *(f"  {note}" for note in table["notes"])]
