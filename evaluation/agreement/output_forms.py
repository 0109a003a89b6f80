"""The agreement of sets, rankings, spans and preferences as JSON, CSV and tables for people."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotator.core.csv_cells import cell_neutral
from evaluation.agreement.bradley_terry import PairwiseStrengths
from evaluation.agreement.by_form import COUNTED, FormGroup, FormSummary
from evaluation.agreement.span_agreement import SpanAgreement
from evaluation.core.counted import counted
from evaluation.core.estimate import Estimate

_COLUMNS = ("statistic", "who", "a", "b", "value", "low", "high", "n", "reason", "interval")
#: Of more pairs of annotators than this, the table for people shows those with the lowest F1.
_SHOWN_PAIRS = 20


def form_dict(summary: FormSummary) -> dict[str, Any]:
    """Everything as JSON: each group's statistics ``{"value", "low", "high", "n", "reason", ...}`` by name, null where undefined."""
    return {
        "level": summary.form,
        "units": summary.units,
        "groups": [_group(group) for group in summary.groups],
        "left_out": dict(summary.left_out),
        "notes": list(summary.notes),
    }


def _group(group: FormGroup) -> dict[str, Any]:
    found: dict[str, Any] = {"who": group.who, "raters": group.raters, "ratings": group.ratings}
    for figure in group.figures:
        value = figure.estimate.to_dict()
        if figure.about:
            found.setdefault(figure.name, {})[figure.about] = value
        else:
            found[figure.name] = value
    if (spans := group.spans) is not None:
        found |= {
            "spans": spans.spans,
            "ratings_without_spans": spans.empty,
            "pairs": [
                {"a": pair.first, "b": pair.second, "units": pair.units}
                | {"f1_exact": pair.exact.to_dict(), "f1_overlapping": pair.overlapping.to_dict()}
                for pair in spans.pairs
            ],
            "categories": list(spans.categories),
            "confusion": spans.confusion.tolist(),
            "unmatched": spans.unmatched.tolist(),
        }
    if (strengths := group.strengths) is not None:
        found |= {
            "systems": list(strengths.systems),
            "wins": strengths.wins.tolist(),
            "tied": strengths.tied.tolist(),
        }
    return found


def form_json(summary: FormSummary, settings: Mapping[str, Any]) -> str:
    """The summary and the settings that it was made with."""
    return json.dumps(form_dict(summary) | dict(settings), indent=2, allow_nan=False) + "\n"


def form_csv(summary: FormSummary, settings: Mapping[str, Any]) -> str:
    """One row per statistic; ``who`` says whose ratings (a group of ``FormSummary``), ``a`` and ``b`` the category, the system or the pair that it
    is about."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in _csv_rows(summary):
        writer.writerow([cell_neutral(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()


def _csv_rows(summary: FormSummary) -> Iterator[list[Any]]:
    for group in summary.groups:
        for figure in group.figures:
            yield _csv_row(figure.name, group.who, figure.about, "", figure.estimate)
        for pair in group.spans.pairs if group.spans else ():
            yield _csv_row("pair_f1_exact", group.who, pair.first, pair.second, pair.exact)
            yield _csv_row("pair_f1_overlapping", group.who, pair.first, pair.second, pair.overlapping)
        if group.spans:
            for one, row in zip(group.spans.categories, group.spans.confusion.tolist(), strict=True):
                for other, count in zip(group.spans.categories, row, strict=True):
                    yield ["overlapping_spans", group.who, one, other, count, "", "", "", "", ""]
        if group.strengths:
            yield from _csv_comparisons(group.who, group.strengths)


def _csv_comparisons(who: str, found: PairwiseStrengths) -> Iterator[list[Any]]:
    for i, one in enumerate(found.systems):
        for j, other in enumerate(found.systems):
            if i != j:
                yield ["pair_wins", who, one, other, int(found.wins[i, j]), "", "", "", "", ""]
            if i < j:
                yield ["pair_ties", who, one, other, int(found.tied[i, j]), "", "", "", "", ""]


def _csv_row(name: str, who: str, a: str, b: str, found: Estimate) -> list[Any]:
    held = found.to_dict()
    numbers = ["" if held[key] is None else held[key] for key in ("value", "low", "high", "n")]
    return [name, who, a, b, *numbers, found.reason, found.interval]


def form_text(summary: FormSummary, settings: Mapping[str, Any]) -> str:
    """Tables to read; undefined figures have their reason."""
    lines = [f"{counted(summary.units, 'units')}, level {summary.form}"]
    lines += [f"left out: {counted(count, reason)}" for reason, count in summary.left_out.items()]
    blocks = ["\n".join(lines)]
    for group in summary.groups:
        head = f"{group.who}: {counted(group.ratings, 'ratings')} by {counted(group.raters, 'raters')}"
        rows = [_cells(figure.title, figure.estimate) for figure in group.figures]
        blocks.append(f"{head}\n{_table(('statistic', 'value', '95 % interval', 'n', ''), rows)}")
        if group.spans:
            blocks += _span_blocks(group.spans)
        if group.strengths:
            blocks.append(_comparisons(group.strengths))
    blocks.append("\n".join([COUNTED[summary.form], *summary.notes]))
    return "\n\n".join(blocks) + "\n"


def _span_blocks(found: SpanAgreement) -> list[str]:
    lowest = sorted(found.pairs, key=lambda one: (not one.overlapping.defined, one.overlapping.value))
    rows = [
        (one.first, one.second, _number(one.exact.value), _number(one.overlapping.value), str(one.units), str(one.exact.n))
        for one in lowest[:_SHOWN_PAIRS]
    ]  # fmt: skip
    more = f"\nand {len(lowest) - _SHOWN_PAIRS:,} more pairs" if len(lowest) > _SHOWN_PAIRS else ""
    blocks = [
        "pairs of annotators, lowest F1 first\n"
        + _table(("a", "b", "F1 equal", "F1 overlapping", "units", "spans"), rows) + more
    ] if rows else []  # fmt: skip
    if len(found.categories) > 1:
        head = ("overlapping spans", *found.categories, "alone")
        table = [
            (name, *map(str, row), str(alone))
            for name, row, alone in zip(
                found.categories, found.confusion.tolist(), found.unmatched.tolist(), strict=True
            )
        ]
        blocks.append(_table(head, table))
    return blocks


def _comparisons(found: PairwiseStrengths) -> str:
    rows = []
    for i, one in enumerate(found.systems):
        for j, other in enumerate(found.systems[:i]):
            if found.wins[i, j] + found.wins[j, i] + found.tied[i, j]:
                rows.append((other, one, str(found.wins[j, i]), str(found.tied[i, j]), str(found.wins[i, j])))
    return _table(("first", "second", "first wins", "ties", "second wins"), rows)


def _cells(title: str, found: Estimate) -> tuple[str, ...]:
    if not found.defined:
        return title, "not defined", "", f"{found.n:,}", found.reason
    between = f"{_number(found.low)} to {_number(found.high)}" if found.low == found.low else ""
    why = found.interval if found.interval.startswith("none: ") else ""
    return title, _number(found.value), between, f"{found.n:,}", why.removeprefix("none: ")


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    ]
    return "\n".join(lines)
