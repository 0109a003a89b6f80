"""The coverage of agreement's intervals over a grid of designs, on simulated studies with known truth.

    python -m benchmarks.validation.agreement_grid [--runs 1000] [--seed 0] [--processes 2]

Each run draws a study (items, instances, raters, who judges what, prevalence, missing labels) and computes the agreement
summary with its intervals, as the command does. The true value for these raters is computed from their label probabilities.
"""

from __future__ import annotations

import argparse
import json
import platform
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.agreement import summarize
from evaluation.core.estimate import Estimate
from tests.evaluation.agreement.simulate import KAPPA_DESIGNS, PANELS, KappaDesign, coverage_for_new_raters

HERE = Path(__file__).parent
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
        "mean kappa": nominal.mean["all"],
        "weighted mean kappa": nominal.weighted_mean["all"],
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--only-new-raters", action="store_true", help="keep the results of the other designs"
    )
    options = parser.parse_args()
    with ProcessPoolExecutor(options.processes) as pool:
        jobs = {
            name: pool.submit(design_coverage, name, options.runs, options.seed)
            for name in ({} if options.only_new_raters else KAPPA_DESIGNS)
        }
        panels = {
            f"{name}, {statistic}, {'new' if new else 'these'}": pool.submit(
                coverage_for_new_raters,
                panel,
                statistic,
                new_raters=new,
                studies=options.runs,
                seed=options.seed,
            )
            for name, panel in PANELS.items()
            for statistic in ("krippendorff_alpha", "mean kappa")
            for new in (True, False)
        }
        results: dict[str, Any] = {
            "about": {
                "runs": options.runs, "seed": options.seed, "replicates": REPLICATES,
                "date": datetime.now(tz=UTC).date().isoformat(), "python": platform.python_version(), "numpy": np.__version__,
            },
            "designs": {name: vars(KAPPA_DESIGNS[name]) for name in jobs},
            "panels": {name: vars(panel) for name, panel in PANELS.items()},
            "coverage": {name: job.result() for name, job in jobs.items()},
            "new raters": {name: job.result() for name, job in panels.items()},
        }  # fmt: skip
    path = HERE / "agreement_grid.json"
    if options.only_new_raters:
        kept = json.loads(path.read_text("utf-8"))
        results |= {name: kept[name] for name in ("about", "designs", "coverage")}
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
