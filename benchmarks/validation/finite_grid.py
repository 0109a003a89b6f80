"""The coverage of prediction-powered intervals for *these items*, on simulated studies whose items are all known.

    python -m benchmarks.validation.finite_grid [--runs 1000] [--seed 0] [--again]

People label all follow-ups of some instances, drawn at random, and a simulator those of all. The truth is what people's labels on all
items of the same study give, and not that of a population of items. Results are stored after each design.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.validation.coverage import DESIGN
from benchmarks.validation.grid_frame import grid_run
from evaluation.core.estimand import Items
from evaluation.metrics import (
    PredictionPowered,
    prediction_powered_precision,
    prediction_powered_simulatable,
    simulatability,
)
from evaluation.metrics.from_ratings import followups_of
from evaluation.planning.synthetic import draw_study

TARGET = Path(__file__).parent / "finite_grid.json"


@dataclass(frozen=True)
class FiniteDesign:
    """People label ``labelled`` of the ``instances``; the simulator is right on a share ``simulator`` of the items."""

    instances: int
    labelled: int
    follow_ups: int = 5
    simulator: float = 0.85
    precision: float = 0.8


DESIGNS = {
    "a fifth": FiniteDesign(300, 60),
    "three fifths": FiniteDesign(100, 60),
    "nine tenths": FiniteDesign(100, 90),
    "few instances": FiniteDesign(40, 20),
    "one follow-up": FiniteDesign(200, 100, follow_ups=1),
    "poor simulator": FiniteDesign(100, 50, simulator=0.55),
    "precision .95": FiniteDesign(150, 75, precision=0.95),
}


def coverage_of_finite(design: FiniteDesign, studies: int, seed: int) -> dict[str, Any]:
    """By figure: the share of studies whose interval includes what all items of the study show, and the mean widths of the intervals
    for these items and for items like these."""
    ends: dict[str, list[tuple[float, ...]]] = {}
    for number in range(studies):
        for name, values in _one_study(design, np.random.default_rng([seed, number])).items():
            ends.setdefault(name, []).append(values)
    found = {}
    for name, rows in ends.items():
        low, value, high, truth, wide = np.array(rows).T
        given = ~np.isnan(low)
        inside = (low <= truth) & (truth <= high)
        found[name] = {
            "intervals": float(given.mean()),
            "coverage": float(inside[given].mean()) if given.any() else None,
            "below": float((high < truth)[given].mean()) if given.any() else None,
            "above": float((low > truth)[given].mean()) if given.any() else None,
            "width": float((high - low)[given].mean()) if given.any() else None,
            "width for items like these": float(np.nanmean(wide)),
            "holds its estimate": bool(((low <= value) & (value <= high))[given].all()),
        }
    return found


def _one_study(design: FiniteDesign, rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
    drawn = draw_study(
        replace(
            DESIGN,
            instances=design.instances,
            follow_ups=design.follow_ups,
            precision=(design.precision,),
            simulators={"simulator": design.simulator},
        ),
        rng,
    )
    table = drawn.truth
    simulator = followups_of(table, drawn.ratings, "single:simulator")[0]
    chosen = set(rng.choice(sorted(set(table.instance)), design.labelled, replace=False))
    columns = zip(table.unit, table.instance, table.simulated, strict=True)
    people = table.with_labels({unit: label for unit, instance, label in columns if instance in chosen})
    whole = simulatability(table)

    def figures(items: Items) -> dict[str, tuple[PredictionPowered, float]]:
        return {
            "precision": (
                prediction_powered_precision(people, simulator, items=items), whole.precision.value
            ),
            "micro": (
                prediction_powered_precision(people, simulator, micro=True, items=items),
                whole.precision_micro.value,
            ),
            "simulatable": (
                prediction_powered_simulatable(people, simulator, items=items), whole.simulatable.value
            ),
        }  # fmt: skip

    these, like = figures("these"), figures("like")
    rows = {}
    for name, (one, truth) in these.items():
        wide = like[name][0]
        for kind in ("estimate", "people"):
            mine, theirs = getattr(one, kind), getattr(wide, kind)
            rows[f"{name}, {kind}"] = (mine.low, mine.value, mine.high, truth, theirs.high - theirs.low)
    return rows


def main() -> None:
    grid_run(__doc__, target=TARGET, designs=DESIGNS, coverage_of=coverage_of_finite, runs=1_000)


if __name__ == "__main__":
    main()
