"""The coverage of agreement's intervals over a grid of designs, on simulated studies with known truth.

    python -m benchmarks.validation.agreement_grid [--runs 2000] [--seed 0] [--again]

Each run draws a study (items, instances, raters, who judges what, prevalence, missing labels) and computes the agreement
summary with its intervals, as the command does. The true value for these raters is computed from their label probabilities.
Results are stored after each design; a run that was stopped resumes with the next one, and designs whose first studies have other
intervals than when they were simulated are simulated again. ``--again`` starts anew.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.validation.grid_frame import FIRST, Ends, ends_of, same_ends
from evaluation.agreement import summarize
from evaluation.core.estimate import Estimate
from tests.evaluation.agreement.simulate import (
    KAPPA_DESIGNS,
    PANELS,
    KappaDesign,
    Panel,
    coverage_for_new_raters,
    panel_estimates,
)

TARGET = Path(__file__).parent / "agreement_grid.json"
REPLICATES = 400
STATISTICS = ("percent_agreement", "krippendorff_alpha", "gwet_ac1", "mean kappa", "weighted mean kappa")


def truths(design: KappaDesign) -> dict[str, float]:
    """Percent agreement, alpha and AC1 of an infinite study, whose raters are drawn in the same way for every unit."""
    labels, shares = len(design.prevalence), np.array(design.prevalence)
    given = np.array([
        np.where(np.eye(labels, dtype=bool), a, (1 - a) / (labels - 1)) for a in design.accuracy
    ])  # fmt: skip
    joint = np.einsum("t,ati,btj->abij", shares, given, given)
    pairs = ~np.eye(design.raters, dtype=bool)
    agreed = float(np.einsum("abii->ab", joint)[pairs].mean())
    marginal = np.einsum("t,ati->i", shares, given) / design.raters
    by_chance = float((marginal**2).sum())
    hard = float((marginal * (1 - marginal)).sum() / (labels - 1))
    return {
        "percent_agreement": agreed,
        "krippendorff_alpha": (agreed - by_chance) / (1 - by_chance),
        "gwet_ac1": (agreed - hard) / (1 - hard),
    }


def one_run(
    name: str, seed: int, number: int, replicates: int = REPLICATES
) -> dict[str, tuple[float, float, float, float]]:
    """(value, low, high, truth) of each statistic in one study."""
    design = KAPPA_DESIGNS[name]
    rng = np.random.default_rng([seed, number])
    found = summarize(design.draw(rng), rng=rng, replicates=replicates)
    nominal, true = found.kappa["nominal"], truths(design)
    pairs = nominal.pairs
    kappas = design.kappas()[pairs.sums.a, pairs.sums.b][pairs.averaged]
    if kappas.size:
        true["mean kappa"] = float(kappas.mean())
        true["weighted mean kappa"] = float(np.average(kappas, weights=pairs.sums.n[pairs.averaged]))
    estimates: dict[str, Estimate] = {
        "percent_agreement": found.everyone.percent_agreement,
        "krippendorff_alpha": found.everyone.krippendorff_alpha,
        "gwet_ac1": found.everyone.gwet_ac1,
        "mean kappa": nominal.corrected.get("all", nominal.mean["all"]),
        "weighted mean kappa": nominal.weighted_corrected.get("all", nominal.weighted_mean["all"]),
    }
    return {k: (e.value, e.low, e.high, true.get(k, np.nan)) for k, e in estimates.items()}


def design_coverage(name: str, runs: int, seed: int, replicates: int = REPLICATES) -> dict[str, Any]:
    """For each statistic: the share of studies with an interval, and the share of those that includes the truth."""
    results = [one_run(name, seed, number, replicates) for number in range(runs)]
    found: dict[str, Any] = {}
    for statistic in STATISTICS:
        value, low, high, truth = np.array([result[statistic] for result in results]).T
        given = ~np.isnan(low)
        inside = (low <= truth) & (truth <= high)
        found[statistic] = {
            "intervals": float(given.mean()),
            "coverage": float(inside[given].mean()) if given.any() else None,
            "holds its estimate": bool(((low <= value) & (value <= high))[given].all()),
        }
    return found


def first(name: str, seed: int) -> Ends:
    """The ends of the intervals of a design's first studies."""
    studies = [one_run(name, seed, number) for number in range(FIRST)]
    return ends_of([{key: (one[1], one[2]) for key, one in study.items()} for study in studies])


def panel_coverage(panel: Panel, statistic: str, whose: str, runs: int, seed: int) -> float:
    """The share of studies whose interval, for ``new`` raters or for ``these``, includes the value of all raters."""
    return coverage_for_new_raters(panel, statistic, new_raters=whose == "new", studies=runs, seed=seed)


def panel_first(panel: Panel, statistic: str, whose: str, seed: int) -> Ends:
    """The ends of the intervals of a panel's first studies."""
    found = panel_estimates(panel, statistic, new_raters=whose == "new", studies=FIRST, seed=seed)
    return ends_of([{statistic: (one.low, one.high)} for one in found])


def jobs() -> dict[str, tuple[Callable[[int], Ends], Callable[[int, int], Any]]]:
    """Every design, and every panel with a statistic: the first studies' intervals by seed, and the results by runs and seed."""
    designs: dict[str, tuple[Callable[[int], Ends], Callable[[int, int], Any]]] = {
        name: (partial(first, name), partial(design_coverage, name)) for name in KAPPA_DESIGNS
    }
    return designs | {
        f"{name}, {statistic}, {whose}": (
            partial(panel_first, panel, statistic, whose), partial(panel_coverage, panel, statistic, whose),
        )
        for name, panel in PANELS.items()
        for statistic in ("krippendorff_alpha", "mean kappa")
        for whose in ("new", "these")
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="also the designs that have results")
    parser.add_argument(
        "--only", nargs="+", choices=sorted(jobs()), metavar="DESIGN", help="no other designs"
    )
    options = parser.parse_args()
    asked = {"runs": options.runs, "seed": options.seed, "replicates": REPLICATES}
    stored: dict[str, Any] = {}
    if TARGET.exists() and not options.again:
        stored = json.loads(TARGET.read_text("utf-8"))
    if any(stored.get("about", {}).get(key) != value for key, value in asked.items()):
        stored = {}
    coverage, new_raters, firsts = (stored.get(key, {}) for key in ("coverage", "new raters", "first"))
    for name, (first_of, results_of) in jobs().items():
        if options.only and name not in options.only:
            continue
        ends = first_of(options.seed)
        if same_ends(firsts.get(name), ends):
            continue
        found = results_of(options.runs, options.seed)
        if name in KAPPA_DESIGNS:
            coverage[name] = found
        else:
            new_raters[name] = found
        firsts[name] = ends
        about = asked | {
            "date": datetime.now(tz=UTC).date().isoformat(), "python": platform.python_version(), "numpy": np.__version__,
        }  # fmt: skip
        content = {
            "about": about,
            "designs": {name: vars(design) for name, design in KAPPA_DESIGNS.items() if name in coverage},
            "panels": {name: vars(panel) for name, panel in PANELS.items()},
            "coverage": {name: coverage[name] for name in KAPPA_DESIGNS if name in coverage},
            "new raters": new_raters,
            "first": {name: firsts[name] for name in jobs() if name in firsts},
        }
        TARGET.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
