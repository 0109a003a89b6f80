"""The tables of docs/validation.md on studies that are watched and on analysis plans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

WATCHED = {
    "plain": "plain 95 % interval",
    "obrien_fleming": "O'Brien-Fleming spending",
    "pocock": "Pocock spending",
    "confidence_sequence": "confidence sequence",
}


def watched_table(watched: dict[str, Any]) -> Iterator[str]:
    """The lines of the table of null studies that are watched."""
    yield "| design | effect | " + " | ".join(WATCHED.values()) + " |"
    yield "|---|---|" + "---|" * len(WATCHED)
    for name, row in watched["significant"].items():
        effect = watched["designs"][name]["effect"]
        cells = [f"{100 * row[method]:.1f} %" for method in WATCHED]
        yield f"| {name} | {effect or 'none'} | " + " | ".join(cells) + " |"


def planned_table(planned: dict[str, Any]) -> Iterator[str]:
    """The lines of the table of plans' power."""
    yield "| study | power of the plan | studies that find the effect | error of the difference |"
    yield "|---|---|---|---|"
    for name, row in planned["power"].items():
        yield f"| {name} | {row['planned']:.3f} | {row['found']:.3f} | {row['error']:.3f} |"


def ever_text(planned: dict[str, Any]) -> str:
    """How often a watched plan is ever called significant, in words."""
    return "; ".join(
        f"{name.replace('_', ' ')}: {100 * share:.1f} %" for name, share in planned["significant"].items()
    )
