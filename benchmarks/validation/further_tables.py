"""Tables of docs/validation.md: labels of any task with a simulator's help, and intervals of the winning rate that don't cover."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.validation.winning_candidates import CANDIDATES

HERE = Path(__file__).parent


def stored(name: str) -> dict[str, Any]:
    """The results of a grid."""
    return dict(json.loads((HERE / f"{name}.json").read_text("utf-8")))


def labels_text(labels: dict[str, Any]) -> str:
    """What the grid of labels is."""
    holds = all(one["holds its estimate"] for row in labels["coverage"].values() for one in row.values())
    return (
        f"{labels['about']['runs']:,} simulated studies a design, last run on {labels['about']['date']}: people label all units of some instances, drawn at random, and a "
        "simulator those of all; labels of an instance are alike (.3 of the variance). The share of the first label and the mean of labels as numbers, with the simulator's help; "
        "in the few studies in which the simulator makes no error on the labelled units, there is no interval for these units. "
        "For units like these the truth is the population's, for these units what people's labels on all of them give. In brackets that of people alone. "
        f"Of a true coverage of 93 or 97 %, so many studies show 91.4 to 98.1 %. Widths are of the share for units like these. Every interval includes its estimate: {'yes' if holds else 'NO'}."
    )


def labels_table(labels: dict[str, Any]) -> Iterator[str]:
    """A row for each design."""
    names = ("share, like", "share, these", "mean, like", "mean, these")
    yield f"| design | labelled instances | share | {' | '.join(f'{name} these' if name.endswith('like') else name for name in names)} | width | width alone |"
    yield "|---|---|---|" + "---|" * (len(names) + 2)
    for name, row in labels["coverage"].items():
        design = labels["designs"][name]
        cells = " | ".join(
            f"{row[one]['coverage']:.1%} ({row[one]['alone']:.1%})".replace("%", "") for one in names
        )
        first = row["share, like"]
        yield (
            f"| {name} | {design['labelled']} of {design['instances']} x {design['units']} | {first['truth']:g} | {cells} "
            f"| {first['width']:.3f} | {first['width alone']:.3f} |"
        )


def winning_text(tried: dict[str, Any]) -> str:
    """Why the winning rate has no interval."""
    shares = [one["coverage"] for row in tried["coverage"].values() for one in row.values()]
    return (
        f"Intervals of the winning rate that were tried, {tried['about']['runs']:,} studies a panel, last run on {tried['about']['date']}: the share of studies, in %, whose interval "
        "includes the true share, and in brackets the mean width. Wilson's interval is of the tests' rate over people; the others are the middle 95 % of the "
        "share of people whose worth is below epsilon, with units drawn anew, with people and units drawn anew, and with each person's worth drawn from a normal "
        f"distribution around its estimate. They cover {100 * min(shares):.0f} to {100 * max(shares):.0f} %, none of them 93 to 97 % in every panel, because the share jumps by one person where a person is about "
        "epsilon apart; where they cover, some are as wide as everything that is possible. So the winning rate stays without one."
    )


def winning_table(tried: dict[str, Any]) -> Iterator[str]:
    """A row for each panel."""
    yield f"| panel | {' | '.join(CANDIDATES.values())} |"
    yield "|---|" + "---|" * len(CANDIDATES)
    for name, row in tried["coverage"].items():
        cells = " | ".join(
            f"{100 * row[one]['coverage']:.1f} ({row[one]['width']:.2f})" for one in CANDIDATES
        )
        yield f"| {name} | {cells} |"
