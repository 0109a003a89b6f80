"""The coverage of the mixed model's intraclass correlations of unbalanced raters, on simulated studies with known truth.

    python -m benchmarks.validation.mixed_grid [--runs 1000] [--seed 0]

The interval of the model is for raters drawn anew in each study, that of the jackknife for the study's own raters. Results are
stored after each design; a run that was stopped resumes.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.agreement import mixed_correlation
from evaluation.core.estimate import Estimate
from tests.evaluation.agreement.simulate_numbers import NumberDesign

TARGET = Path(__file__).parent / "mixed_grid.json"
#: Units of the study whose correlations are taken for those of an infinite one.
MANY = 60_000
DESIGNS = {
    "20 units, 2 of 4 raters": NumberDesign(20, 1, 4, 2, points=0),
    "60 units, 3 of 6 raters, five labels": NumberDesign(60, 1, 6, 3),
    "60 units, 3 of 6 raters, much noise": NumberDesign(60, 1, 6, 3, points=0, noise=2.0),
    "20 instances of 5 units, 3 of 5 raters": NumberDesign(20, 5, 5, 3, points=0),
    "60 units, 3 of 6 new raters": NumberDesign(60, 1, 6, 3, points=0, new_raters=True),
    # Raters who rate one unit each: their levels are part of the noise, whose variance is 0.8 ** 2 + 0.5 ** 2.
    "60 units, 3 raters of its own each": NumberDesign(60, 1, 3, 3, points=0, bias=0.0, noise=0.89**0.5),
}
#: Designs whose raters have no names: the one-way model alone.
OWN_RATERS = {"60 units, 3 raters of its own each"}
#: Designs in which the one-way model is fitted too, though the same raters rate several units.
ONE_WAY_TOO = {"20 units, 2 of 4 raters"}
#: Figure -> its form, and whether its interval is the model's.
FIGURES = {
    "icc_1_1_mixed": ("ICC(1,1)", False),
    "icc_1_1_mixed_f": ("ICC(1,1)", True),
    "icc_2_1_mixed": ("ICC(2,1)", False),
    "icc_3_1_mixed": ("ICC(3,1)", False),
    "icc_2_1_mixed_f": ("ICC(2,1)", True),
    "icc_3_1_mixed_f": ("ICC(3,1)", True),
}


def truths(name: str) -> dict[str, float]:
    """By figure: of very many units by these raters, or of the population of raters. The model's intervals of ICC(1,1) and ICC(2,1) are for the latter."""
    design = DESIGNS[name]
    rest = design.noise**2
    if name in OWN_RATERS:
        return {"icc_1_1_mixed": 1 / (1 + rest), "icc_1_1_mixed_f": 1 / (1 + rest)}
    if design.new_raters:
        return {"icc_2_1_mixed_f": 1 / (1 + design.bias**2 + rest), "icc_3_1_mixed_f": 1 / (1 + rest)}
    many = replace(design, clusters=MANY // design.per_cluster).draw(np.random.default_rng(5))
    found = mixed_correlation(replace(many, clusters=None), intervals=False).forms
    own = {
        f"icc_{form}_1_mixed": found[f"ICC({form},1)"].value
        for form in ("123" if name in ONE_WAY_TOO else "23")
    }
    return own | {"icc_3_1_mixed_f": found["ICC(3,1)"].value}


def design_coverage(name: str, runs: int, seed: int, done: dict[str, Any]) -> dict[str, Any]:
    """By figure: the share of studies with an interval, and the share of those that includes the truth. ``done`` has figures of earlier runs."""
    design, true = (
        DESIGNS[name],
        {figure: value for figure, value in truths(name).items() if figure not in done},
    )
    one_way = all(figure.startswith("icc_1_") for figure in true)
    found: dict[str, list[Estimate]] = {figure: [] for figure in true}
    for number in range(runs if true else 0):
        one = mixed_correlation(design.draw(np.random.default_rng([seed, number])), named=not one_way)
        for figure in true:
            form, modelled = FIGURES[figure]
            found[figure].append((one.forms if modelled else one.jackknife)[form])
    result = dict(done)
    for figure, value in true.items():
        low, high, point = (
            np.array([getattr(one, end) for one in found[figure]]) for end in ("low", "high", "value")
        )
        given = ~np.isnan(low)
        inside = (low <= value) & (value <= high)
        result[figure] = {
            "truth": value,
            "mean": float(point.mean()),
            "intervals": float(given.mean()),
            "coverage": float(inside[given].mean()) if given.any() else None,
            "below": float((high < value)[given].mean()) if given.any() else None,
            "above": float((low > value)[given].mean()) if given.any() else None,
            "holds its estimate": bool(((low <= point) & (point <= high))[given].all()),
            "refused": next((one.interval for one in found[figure] if np.isnan(one.low)), ""),
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    stored: dict[str, Any] = json.loads(TARGET.read_text("utf-8")) if TARGET.exists() else {}
    asked = {"runs": options.runs, "seed": options.seed}
    as_asked = all(stored.get("about", {}).get(key) == value for key, value in asked.items())
    coverage: dict[str, Any] = stored.get("coverage", {}) if as_asked else {}
    for name, design in DESIGNS.items():
        same = stored.get("designs", {}).get(name) == json.loads(json.dumps(vars(design)))
        coverage[name] = design_coverage(
            name, options.runs, options.seed, coverage.get(name, {}) if same else {}
        )
        stored = {
            "about": asked | {"date": datetime.now(tz=UTC).date().isoformat()},
            "designs": {done: vars(DESIGNS[done]) for done in DESIGNS if done in coverage},
            "coverage": {done: coverage[done] for done in DESIGNS if done in coverage},
        }
        TARGET.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
