"""The section of docs/validation.md on strengths from pairwise preferences, from ``preferences.json``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FIGURES = {"strengths": "all strengths", "strongest": "the strongest system's", "ties": "parameter of ties"}


def preferences_text(grid: dict[str, Any]) -> str:
    """What was simulated, and what to make of it."""
    about = grid["about"]
    rows = list(grid["coverage"].values())
    hold = all(found["holds its estimate"] for row in rows for found in row.values())
    return (
        f"{about['runs']:,} simulated studies a design, last run on {about['date']}: each item compares two systems, drawn at random, and its raters share an effect "
        "of the item (standard deviation .7 on the log scale unless the design says otherwise). Log strengths lie evenly between the two ends that are given; the truth is "
        "what Davidson's model has with infinitely many items. The intervals resample items. The share in brackets is that of the studies with an interval, where it isn't all: "
        "there is none if more than 5 % of the resamples have no finite strengths, or no ties. Widths are medians. With few comparisons of each system, "
        "some resamples are nearly separated, and the intervals are too wide and cover more than 97 %: "
        f"{_above(grid)}. Every interval includes its estimate: {'yes' if hold else 'NO'}."
    )


def _above(grid: dict[str, Any]) -> str:
    named = [
        f"{name} ({', '.join(FIGURES[figure] for figure in found)})"
        for name, row in grid["coverage"].items()
        if (
            found := [
                figure
                for figure, one in row.items()
                if one["coverage"] is not None and one["coverage"] > 0.97
            ]
        )
    ]
    return "; ".join(named) or "nowhere"


def preferences_table(grid: dict[str, Any]) -> Iterator[str]:
    """The lines of the table, one for each design."""
    yield (
        "| design | systems | items x raters | log strengths | ties | "
        + " | ".join(f"{title}, %" for title in FIGURES.values())
        + " | width, all strengths |"
    )
    yield "|---|---|---|---|---|" + "---|" * (len(FIGURES) + 1)
    for name, row in grid["coverage"].items():
        design = grid["designs"][name]
        cells = [_share(row.get(figure)) for figure in FIGURES]
        spread = f"±{design['spread']:g}" if design["spread"] else "equal"
        yield (
            f"| {name} | {design['systems']} | {design['items']} x {design['raters']} | {spread} | {design['ties']:g} | "
            f"{' | '.join(cells)} | {row['strengths']['width']:.2f} |"
        )


def _share(found: dict[str, Any] | None) -> str:
    if found is None:
        return "no ties"
    if found["coverage"] is None:
        return "none"
    some = f" ({found['intervals']:.0%})" if found["intervals"] < 0.995 else ""
    return f"{100 * found['coverage']:.1f}{some}"
