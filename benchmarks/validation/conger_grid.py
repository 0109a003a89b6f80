"""The coverage of the interval of Conger's kappa over a grid of designs, on simulated studies with known truth.

    python -m benchmarks.validation.conger_grid [--runs 2000] [--seed 0] [--again]

The designs are those of ``agreement_grid`` and, with whole explanations judged by 3 of 8 and by 3 of 40 raters, those in which a
mean of pairwise kappas has no interval. Results are stored after each design; a run that was stopped resumes, and designs whose first
studies have other intervals than when they were simulated are simulated again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.validation.grid_frame import FIRST, Ends, ends_of, grid_run
from evaluation.agreement import conger_kappa
from evaluation.core.estimate import Estimate
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


def studies(design: KappaDesign, runs: int, seed: int) -> list[Estimate]:
    """Conger's kappa, with its interval, of each simulated study."""
    return [
        conger_kappa(design.draw(np.random.default_rng([seed, number])), intervals=True)
        for number in range(runs)
    ]


def first(design: KappaDesign, seed: int) -> Ends:
    """The intervals of the first studies."""
    return ends_of([{"conger_kappa": (one.low, one.high)} for one in studies(design, FIRST, seed)])


def design_coverage(design: KappaDesign, runs: int, seed: int) -> dict[str, Any]:
    """The share of studies with an interval, and the share of those that includes the truth."""
    found = studies(design, runs, seed)
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
    grid_run(__doc__, target=TARGET, designs=DESIGNS, coverage_of=design_coverage, runs=2_000, first_of=first)


if __name__ == "__main__":
    main()
