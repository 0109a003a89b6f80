"""The table of the coverage of intervals for raters like these and for these items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

FIGURES = {
    "precision": "precision",
    "share": "share",
    "median": "median",
    "accuracy with": "accuracy with",
    "gain": "gain",
    "nsg": "NSG",
    "misled": "misled",
    "helped": "helped",
    "useful": "useful",
    "right after": "right after",
    "utility gain": "utility gain",
}

ABOUT = (
    "k of the raters on each follow-up, with skills drawn anew from a population in each study; the truth is that of the population of raters and "
    "instances. Gains are of single predictions, precision and utility of majority labels (precision macro; pooled, it covers as often), shares and medians of "
    "single ratings. Where not all instances are judged, intervals are for these items: the judged instances are drawn at random, and the truth is what the "
    "same raters' labels on all of the study's items give."
)


def raters_table(grid: dict[str, Any], share: Callable[[dict[str, Any] | None], str]) -> Iterator[str]:
    """Lines of a Markdown table; ``share`` shows the coverage of one figure."""
    yield "| instances x follow-ups | raters | skill | judged | " + " | ".join(FIGURES.values()) + " |"
    yield "|---|---|---|---|" + "---|" * len(FIGURES)
    for name, row in grid["coverage"].items():
        design = grid["designs"][name]
        cells = [share(row.get(figure)) for figure in FIGURES]
        judged = "all" if design["judged"] == 1 else f"{design['judged']:.0%}"
        yield (
            f"| {design['instances']} x {design['follow_ups']} | {design['k']} of {design['raters']} | {design['skill']:g} ± {design['spread']:g} | {judged} | "
            f"{' | '.join(cells)} |"
        )
