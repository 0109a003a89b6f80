"""Planned and exploratory cells of a report: which ones a sealed plan names, and how content says so.

Content without a sealed plan isn't touched. In content with one, each number's cell has ``analysis``: "planned" or "exploratory".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from evaluation.planning.plan_document import ALL, Hypothesis, Plan
from evaluation.planning.plan_metrics import OF_UTILITY
from evaluation.reports.content import JSON
from evaluation.reports.context import Context
from evaluation.reports.denominators import NAMED
from evaluation.reports.simulating import system_columns
from evaluation.reports.tables.p1_table4 import TOGETHER
from evaluation.reports.words import count, listed

PLANNED, EXPLORATORY = "planned", "exploratory"
#: The section of the planned comparisons, whose values are all planned.
SECTION = "analysis-plan"


@dataclass(frozen=True)
class Ref:
    """A cell of a table, or a point of a figure: patterns (``*`` stands for anything) for its table, row and column.

    A row is named by one of its heads or by all, joined by " | "; a column by its label, after its group and " | " if it has one.
    ``group`` is that of the row; empty: any.
    """

    table: str
    row: str
    column: str = "*"
    group: str = ""

    def is_in(self, row: Mapping[str, Any], column: Mapping[str, Any]) -> bool:
        """Whether a row and a column of a table, as stored, are those of the cell."""
        rows = (*row["head"], " | ".join(row["head"]))
        title = " | ".join(filter(None, (column["group"], column["label"])))
        return (
            (not self.group or self.group == row["group"])
            and any(fnmatchcase(name, self.row) for name in rows)
            and fnmatchcase(title, self.column)
        )


def exactly(name: str) -> str:
    """A pattern that matches this name only.

    >>> exactly("a[1]*")
    'a[[]1][*]'
    """
    return "".join(f"[{ch}]" if ch in "*?[" else ch for ch in name)


def refs_of(ctx: Context, one: Hypothesis) -> list[Ref]:
    """The cells that a hypothesis names in the report; the first is its value. With a comparison, those of both systems."""
    found = list(_refs(ctx, one.metric, one.of, one))
    return found + (list(_refs(ctx, one.metric, one.against, one)) if one.against else [])


def side_of(ctx: Context) -> str:
    """Whose labels planned values are: people's, or those of the one rater whom the rule names."""
    rule = ctx.chosen_rule
    return rule.partition(":")[2] if rule.startswith("single:") else ctx.people.capitalize()


def _refs(ctx: Context, metric: str, name: str, one: Hypothesis) -> Iterator[Ref]:
    side, variable = side_of(ctx), ctx.headline.name
    row = TOGETHER if name == ALL else name
    if metric == "cell":
        table, row, column = one.cell
        yield Ref(exactly(table), row, column)
    elif metric == "precision":
        common = ctx.choices.restriction == "common"
        column = f"Macro precision | {'Common' if common else 'All'} instances"
        yield Ref("p1-table-4-details", exactly(row), column, side)
        if name != ALL:
            (shown,) = system_columns(ctx, [name])
            label = " | ".join(filter(None, (shown.group, shown.label)))
            yield Ref("p1-table-4", exactly(side), exactly(label))
            yield Ref("p1-table-4-precision", exactly(name), group=side)
    elif metric == "simulatable":
        yield Ref("p1-table-4-details", exactly(row), "Simulatable", side)
    elif metric in ("gain", "nsg"):
        shown_row = "All" if name == ALL else name
        yield Ref("simulatability-gain", exactly(shown_row), {"gain": "Gain", "nsg": "NSG"}[metric], side)
    elif metric in ("kappa", "alpha"):
        labels = "All labels" if ctx.choices.labels == "all" else "Without “cannot guess”"
        asked = exactly(one.variable or variable)
        # Weighted kappas have their name in the title: "Cohen’s κ, quadratic weights".
        whom = "with each other" if name == ALL else f"with {exactly(name)}"
        rows = f"*κ*{exactly(ctx.people)} {whom}" if metric == "kappa" else "Krippendorff’s α, *"
        yield Ref(f"agreement-{asked}", rows, f"{labels} | Value")
        if metric == "kappa":
            yield Ref(f"agreement-{asked}-kappa", f"* {whom}")
    elif metric == "accuracy":
        rows = f"{ctx.people.capitalize()}, single labels" if name == ALL else name
        yield Ref(f"accuracy-{exactly(one.variable or variable)}", exactly(rows), "% correct")
    elif metric in OF_UTILITY:
        line = "All" if name == ALL else name
        if metric == "useful":
            yield Ref("p3-table-3", "Useful", f"{exactly(line)} | %")
            yield Ref("p3-table-3-utility", exactly(line))
        else:
            yield Ref("p3-utility-flows", exactly(line), _UTILITY[metric])
    elif metric == "mean":
        line, group = ("All", "") if name == ALL else (name, "By system")
        for column in ("Mean", "Mean rank"):
            yield Ref(f"means-{exactly(one.variable)}", exactly(line), column, group)
        if one.variable == "plausibility" and name != ALL:
            yield Ref("p1-plausibility", exactly(name), "Plausibility")
            yield Ref("p1-plausibility-systems", exactly(name))


_UTILITY = {"right_before": "Right before", "right_after": "Right after", "right_gain": "Difference"}


def marked(content: JSON, refs: Sequence[Ref]) -> JSON:
    """The content with ``analysis`` in each number's cell and each figure's point, and a sentence on it below each table and figure."""
    sections = [
        {**section, "blocks": [_block(block, refs, section["id"] == SECTION) for block in section["blocks"]]}
        for section in content["sections"]
    ]
    return {**content, "sections": sections}


def _block(block: JSON, refs: Sequence[Ref], all_planned: bool) -> JSON:
    own = [ref for ref in refs if fnmatchcase(str(block["id"]), ref.table)]
    if block["kind"] == "figure":
        return _figure(block, own)
    planned: list[str] = []
    values = 0
    rows = []
    for row in block["rows"]:
        cells = []
        for column, cell in zip(block["columns"], row["cells"], strict=True):
            if cell["kind"] == "number" and cell["shape"] != "count":
                values += 1
                yes = all_planned or any(ref.is_in(row, column) for ref in own)
                cell = {**cell, "analysis": PLANNED if yes else EXPLORATORY}
                if yes:
                    where = " ".join(filter(None, (column["group"], column["label"])))
                    planned.append(f"{' · '.join(row['head'])}, {where}")
            cells.append(cell)
        rows.append({**row, "cells": cells})
    said = [*block["denominators"], *_sentence(planned, values)]
    return {**block, "rows": rows, "denominators": said}


def _figure(block: JSON, refs: Sequence[Ref]) -> JSON:
    points = block["data"].get("points")
    if not points:
        return {**block, "denominators": [*block["denominators"], "Every value is exploratory."]}
    planned, told = [], []
    for point in points:
        group = str(point.get("group", ""))
        yes = any(
            fnmatchcase(str(point["label"]), ref.row) and (not ref.group or group in ("", ref.group))
            for ref in refs
        )
        told.append({**point, "analysis": PLANNED if yes else EXPLORATORY})
        if yes:
            planned.append(str(point["label"]))
    said = [*block["denominators"], *_sentence(planned, len(points))]
    return {**block, "data": {**block["data"], "points": told}, "denominators": said}


def _sentence(planned: Sequence[str], values: int) -> list[str]:
    if not values:
        return []
    if not planned:
        return ["Every value is exploratory."]
    if len(planned) == values:
        return ["Every value was planned."]
    named = listed(list(dict.fromkeys(planned))) if len(planned) <= NAMED else count(len(planned), "value")
    return [f"Planned: {named}. Every other value is exploratory."]


def plan_refs(ctx: Context, plan: Plan) -> list[Ref]:
    """The cells of all hypotheses."""
    return [ref for hypothesis in plan.hypotheses for ref in refs_of(ctx, hypothesis)]
