"""A report as CSV: one line per cell, with all its context."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from annotator.core.csv_cells import cell_neutral
from evaluation.reports import words
from evaluation.reports.denominators import estimand_in
from evaluation.reports.exports.json import NOT_AGGREGATED, provenance

COLUMNS = (
    "section",
    "number",
    "table",
    "title",
    "row_group",
    "row",
    "column_group",
    "column",
    "text",
    "value",
    "low",
    "high",
    "n",
    "reason",
    "left_out",
    "rule",
    "interval",
    "estimand",
    "exclusions",
    "inputs",
    "software",
)


def render(content: Mapping[str, Any]) -> str:
    """The whole report as CSV text (RFC 4180). Values aren't rounded; undefined ones are empty, with a reason. Where the study has a
    sealed plan, a last column says whether a value was planned or is exploratory."""
    out = io.StringIO()
    writer = csv.writer(out)
    width = len(COLUMNS) + bool(content.get("plan"))
    writer.writerow([*COLUMNS, "analysis"][:width])
    for line in _lines(content):
        writer.writerow(map(cell_neutral, [*line, ""][:width]))
    return out.getvalue()


def _lines(content: Mapping[str, Any]) -> Iterator[list[Any]]:
    same = list(provenance(content).values())
    for name, value in content["facts"]:
        yield ["facts", "", "", "", "", name, "", "", value, *[""] * 12]
    for name, value in content["choices"].items():
        yield ["choices", "", "", "", "", name, "", "", str(value), *[""] * 12]
    for section in content["sections"]:
        for block in section["blocks"]:
            if block["kind"] == "table":
                yield from _table(section["id"], block, same)
                place = [section["id"], block["number"], block["id"], block["title"]]
                for note in block["notes"]:
                    yield [*place, "", "note", "", "", note, *[""] * 12]
        for note in section["notes"]:
            yield [section["id"], "", "", "", "", "note", "", "", note, *[""] * 12]
    for warning in content["warnings"]:
        yield ["warnings", "", "", "", "", "", "", "", warning, *[""] * 12]


def _table(section: str, table: Mapping[str, Any], same: list[str]) -> Iterator[list[Any]]:
    for row in table["rows"]:
        for column, cell in zip(table["columns"], row["cells"], strict=True):
            place = [section, table["number"], table["id"], table["title"], row["group"]]
            place += [" | ".join(row["head"]), column["group"], column["label"]]
            if cell["kind"] == "text":
                yield [*place, cell["text"], *[""] * 9, *same]
            else:
                values = ["" if cell[key] is None else cell[key] for key in ("value", "low", "high")]
                left = words.left_out(cell["left_out"])
                yield [
                    *place,
                    "",
                    *values,
                    cell["n"],
                    cell["reason"],
                    left,
                    cell["rule"] or NOT_AGGREGATED,
                    cell["interval"],
                    str(estimand_in(cell) or ""),
                    *same,
                    *([cell["analysis"]] if "analysis" in cell else []),
                ]
