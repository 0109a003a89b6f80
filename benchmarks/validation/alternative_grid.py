"""The coverage of the alternative annotator test's intervals, on simulated panels with known truth.

    python -m benchmarks.validation.alternative_grid [--runs 1000] [--seed 0]

The winning rate (omega in the paper) has no interval but simultaneous bounds, the advantage probability (rho) an interval. Results are stored after each design.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.validation.panels import PANELS, SIMULATOR, Panel
from evaluation.agreement import alternative_annotator_test

TARGET = Path(__file__).parent / "alternative_grid.json"
REPLICATES = 200
FIGURES = ("winning_rate", "advantage_probability")


def panel_coverage(panel: Panel, runs: int, seed: int) -> dict[str, Any]:
    """By figure: its truth, mean, and the share of studies whose interval (or bounds) includes the truth, lies below or above it."""
    ends: dict[str, list[tuple[float, float, float]]] = {name: [] for name in FIGURES}
    for number in range(runs):
        rng = np.random.default_rng([seed, number])
        found = alternative_annotator_test(
            panel.draw(rng), SIMULATOR, epsilon=panel.epsilon, rng=rng, replicates=REPLICATES
        )
        for name in FIGURES:
            one, bounds = getattr(found, name), found.winning_bounds
            if name == "winning_rate" and bounds is not None:
                assert np.isnan(one.low), "the winning rate has bounds, and no interval"
                one = replace(one, low=bounds.at_least, high=bounds.at_most)
            ends[name].append((one.low, one.value, one.high))
    result = {}
    for name, true in zip(FIGURES, panel.truth(), strict=True):
        low, value, high = np.array(ends[name]).T
        given, slack = ~np.isnan(low), 1e-9
        inside = (low <= true + slack) & (true <= high + slack)
        result[name] = {
            "truth": true,
            "mean": float(value.mean()),
            "intervals": float(given.mean()),
            "coverage": float(inside[given].mean()) if given.any() else None,
            "below": float((high + slack < true)[given].mean()) if given.any() else None,
            "above": float((low > true + slack)[given].mean()) if given.any() else None,
            "width": float((high - low)[given].mean()) if given.any() else None,
            "holds its estimate": bool(((low <= value) & (value <= high))[given].all()),
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    coverage: dict[str, Any] = {}
    for name, panel in PANELS.items():
        coverage[name] = panel_coverage(panel, options.runs, options.seed)
        about = {
            "runs": options.runs, "seed": options.seed, "replicates": REPLICATES,
            "date": datetime.now(tz=UTC).date().isoformat(),
        }  # fmt: skip
        designs = {done: vars(PANELS[done]) for done in coverage}
        content = {"about": about, "designs": designs, "coverage": coverage}
        TARGET.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
