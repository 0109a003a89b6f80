"""The coverage of the interval of Conger's kappa over a grid of designs, on simulated studies with known truth.

    python -m benchmarks.validation.conger_grid [--runs 2000] [--seed 0] [--processes 2]

The designs are those of ``agreement_grid`` and, with whole explanations judged by 3 of 8 and by 3 of 40 raters, those in which a
mean of pairwise kappas has no interval.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.agreement import conger_kappa
from tests.evaluation.agreement.simulate import KAPPA_DESIGNS, SKEWED, THREE, KappaDesign

TARGET = Path(__file__).parent / "conger_grid.json"
#: Few of many raters judge each explanation, as in the papers.
CROWDS = {
    "3 of 8 raters": KappaDesign(40, 10, 8, 3, THREE, whole=True),
    "3 of 8 raters, skewed": KappaDesign(40, 10, 8, 3, SKEWED, whole=True),
    "3 of 40 raters": KappaDesign(60, 10, 40, 3, THREE, whole=True),
    "3 of 40 raters, skewed": KappaDesign(60, 10, 40, 3, SKEWED, whole=True),
}
DESIGNS = CROWDS | KAPPA_DESIGNS


def truth(design: KappaDesign) -> float:
    """Conger's kappa in an infinite study, whose raters are drawn in the same way for every unit."""
    labels, shares = len(design.prevalence), np.array(design.prevalence)
    given = np.array([
        np.where(np.eye(labels, dtype=bool), a, (1 - a) / (labels - 1)) for a in design.accuracy
    ])  # fmt: skip
    pairs = ~np.eye(design.raters, dtype=bool)
    agreed = np.einsum("t,ati,bti->ab", shares, given, given)[pairs].mean()
    marginal = np.einsum("t,ati->ai", shares, given)
    by_chance = (marginal @ marginal.T)[pairs].mean()
    return float((agreed - by_chance) / (1 - by_chance))


def design_coverage(name: str, runs: int, seed: int) -> dict[str, Any]:
    """The share of studies with an interval, and the share of those that includes the truth."""
    design = DESIGNS[name]
    found = [
        conger_kappa(design.draw(np.random.default_rng([seed, number])), intervals=True)
        for number in range(runs)
    ]
    value, low, high = (np.array([getattr(one, key) for one in found]) for key in ("value", "low", "high"))
    given, true = ~np.isnan(low), truth(design)
    inside = (low <= true) & (true <= high)
    return {
        "truth": true,
        "mean": float(np.nanmean(value)),
        "intervals": float(given.mean()),
        "coverage": float(inside[given].mean()) if given.any() else None,
        "below": float((high < true)[given].mean()) if given.any() else None,
        "above": float((low > true)[given].mean()) if given.any() else None,
        "width": float((high - low)[given].mean()) if given.any() else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.processes) as pool:
        job = partial(design_coverage, runs=options.runs, seed=options.seed)
        coverage = dict(zip(DESIGNS, pool.map(job, DESIGNS), strict=True))
    about = {"runs": options.runs, "seed": options.seed, "date": datetime.now(tz=UTC).date().isoformat()}
    designs = {name: vars(design) for name, design in DESIGNS.items()}
    content = {"about": about, "designs": designs, "coverage": coverage}
    TARGET.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
