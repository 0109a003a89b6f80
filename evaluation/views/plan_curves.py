"""The power of a plan as curves: power against instances, a curve for each number of raters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Dot:
    """A point of a curve: its position as shares of the plot, and its row."""

    x: float
    y: float
    row: Mapping[str, Any]


@dataclass(frozen=True)
class Curve:
    """The power with so many raters for each item. ``segments`` are pairs of neighbouring dots; ``planned``: the planned number."""

    raters: int
    dots: tuple[Dot, ...]
    planned: bool

    @property
    def segments(self) -> list[tuple[Dot, Dot]]:
        return list(zip(self.dots, self.dots[1:], strict=False))


@dataclass(frozen=True)
class Plot:
    """The curves of one hypothesis. ``ticks`` are (instances, horizontal position)."""

    hypothesis: str
    curves: tuple[Curve, ...]
    ticks: tuple[tuple[int, float], ...]

    @property
    def says(self) -> str:
        """The planned design's power in words."""
        planned = [curve for curve in self.curves if curve.planned]
        rows = [dot.row for one in planned for dot in one.dots]
        told = [f"{row['power']:.2f} with {row['instances']:,} instances" for row in rows]
        return f"Power with {planned[0].raters} raters for each item: {', '.join(told)}." if planned else ""


def curves(power: Mapping[str, Any]) -> list[Plot]:
    """The plots of a stored power calculation, one for each hypothesis.

    >>> row = {"hypothesis": "H1", "instances": 10, "raters": 3, "power": 0.8}
    >>> (plot,) = curves({"rows": [row, row | {"instances": 20, "power": 0.9}], "structure": {"raters": 3}})
    >>> plot.says
    'Power with 3 raters for each item: 0.80 with 10 instances, 0.90 with 20 instances.'
    >>> round(plot.curves[0].dots[0].y, 2), plot.ticks
    (0.2, ((10, 0.5), (20, 1.0)))
    """
    rows, planned = power["rows"], power["structure"]["raters"]
    most = max((row["instances"] for row in rows), default=1)
    found = []
    for name in dict.fromkeys(row["hypothesis"] for row in rows):
        own = [row for row in rows if row["hypothesis"] == name]
        ticks = sorted({row["instances"] for row in own})
        lines = []
        for raters in sorted({row["raters"] for row in own}):
            dots = [
                Dot(row["instances"] / most, 1 - row["power"], row) for row in own if row["raters"] == raters
            ]
            lines.append(Curve(raters, tuple(sorted(dots, key=lambda dot: dot.x)), raters == planned))
        found.append(Plot(name, tuple(lines), tuple((n, n / most) for n in ticks)))
    return found
