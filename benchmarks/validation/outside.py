"""Which shares of the grids are outside 93-97 %, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.validation.attainable import attainable, mid_p_covers

LEAST, MOST = 0.93, 0.97
#: Of studies with an interval, at least this share, for its coverage to say anything about all studies.
_FEW = 0.1
#: With fewer expected judgments of a kind than this, a share has next to no values.
_EXPECTED = 5.0
#: How the grid of raters like these and of these items is called.
RATERS = "raters and items"


@dataclass(frozen=True)
class Outside:
    """One share: the grid, its design and figure, the coverage and the reason; empty if there is none."""

    grid: str
    design: str
    figure: str
    coverage: float
    reason: str


def limits(runs: int) -> tuple[float, float]:
    """The least share that a true coverage of 93 % shows nineteen times out of twenty, and the most of 97 %.

    >>> [round(one, 4) for one in limits(2_000)]
    [0.9188, 0.9775]
    """
    low, high = (1.96 * (share * (1 - share) / runs) ** 0.5 for share in (LEAST, MOST))
    return LEAST - low, MOST + high


def outside(
    grid: dict[str, Any],
    conger: dict[str, Any],
    numbers: dict[str, Any],
    mixed: dict[str, Any],
    gain: dict[str, Any],
    raters: dict[str, Any],
    finite: dict[str, Any],
) -> list[Outside]:
    """All of them, in the order of the tables."""
    rows: list[tuple[str, dict[str, Any], str, str, dict[str, Any]]] = []
    for title, one in (
        ("agreement", grid),
        ("numbers", numbers),
        ("unbalanced raters", mixed),
        ("gain", gain),
        (RATERS, raters),
        ("prediction-powered", finite),
    ):
        rows += [
            (title, one, name, figure, found)
            for name, row in one["coverage"].items()
            for figure, found in row.items()
            if not figure.startswith("median")
        ]
    rows += [("Conger", conger, name, "conger_kappa", found) for name, found in conger["coverage"].items()]
    return [
        Outside(title, name, figure, found["coverage"], _reason(title, one, name, figure, found))
        for title, one, name, figure, found in rows
        if found["coverage"] is not None and not LEAST <= found["coverage"] <= MOST
    ]


def _reason(title: str, grid: dict[str, Any], name: str, figure: str, found: dict[str, Any]) -> str:
    least, most = limits(grid["about"]["runs"])
    if found["intervals"] < _FEW:
        return f"refused in {1 - found['intervals']:.0%} of the studies; those that are left aren't like the others"
    if title in ("agreement", "Conger"):
        design = grid["designs"][name]
        units, share = design["clusters"] * design["per_cluster"], min(design["prevalence"])
        below, above = attainable(units, share)
        if below < LEAST and above > MOST:
            return (
                f"{units * share:g} unit with the rare label is expected: an interval that includes the truth for up to so many such units and not for more "
                f"covers {100 * below:.1f} or {100 * above:.1f} %, and none between"
            )
    if least <= found["coverage"] <= most:
        return (
            f"within the error of {grid['about']['runs']:,} studies ({100 * least:.1f} to {100 * most:.1f} %)"
        )
    return _of_few(title, grid, name, figure, found)


def _of_few(title: str, grid: dict[str, Any], name: str, figure: str, found: dict[str, Any]) -> str:
    if title == "gain" and figure in ("misled", "helped"):
        design = grid["designs"][name]
        judged = design["instances"] * design["follow_ups"] * design["k"]
        if judged * found["truth"] < _EXPECTED:
            return f"{judged * found['truth']:.1f} such judgments are expected: most studies have none or one"
    if title in ("agreement", "Conger"):
        design = grid["designs"][name]
        units, share = design["clusters"] * design["per_cluster"], min(design["prevalence"])
        exact = mid_p_covers(units, share)
        error = 1.96 * (exact * (1 - exact) / grid["about"]["runs"]) ** 0.5
        if MOST < found["coverage"] <= exact + error:
            return (
                f"{units * share:g} units with the rare label are expected, too few values for an interval nearer to 95 %: the mid-P interval of their share itself covers "
                f"{100 * exact:.1f} %, exactly computed"
            )
    return ""


def outside_table(found: list[Outside]) -> Iterator[str]:
    """Lines of a Markdown table."""
    yield "| table | design | figure | covered, % | why |"
    yield "|---|---|---|---|---|"
    for one in found:
        figure = one.figure.replace("_", " ")
        yield f"| {one.grid} | {one.design} | {figure} | {100 * one.coverage:.1f} | {one.reason} |"
