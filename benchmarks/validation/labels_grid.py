"""The coverage of prediction-powered shares of labels and means of numbers, on simulated studies with known truth.

    python -m benchmarks.validation.labels_grid [--runs 1000] [--seed 0]

People label all units of some instances, drawn at random, and a simulator those of all. ``like``: intervals for units like these, whose
truth is the population's; ``these``: for these units, whose truth is what people's labels on all of them give.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np

from evaluation.core.estimate import Estimate
from evaluation.metrics import prediction_powered_label, prediction_powered_mean

TARGET = Path(__file__).parent / "labels_grid.json"
FIGURES = ("share, like", "share, these", "mean, like", "mean, these")
SCOPES: tuple[Literal["like", "these"], ...] = ("like", "these")


@dataclass(frozen=True)
class LabelDesign:
    """``instances`` of ``units`` each, those of ``labelled`` instances labelled by people.

    People's labels are 1, 2, ... with probabilities ``shares``, from a normal number of which the share ``alike`` of the variance is
    common to an instance. The simulator gives people's label with probability ``agrees``, else one drawn by ``guesses``.
    """

    instances: int
    labelled: int
    units: int
    shares: tuple[float, ...]
    guesses: tuple[float, ...]
    agrees: float = 0.8
    alike: float = 0.3

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """People's labels on all units, the simulator's, each unit's instance, and whether people labelled it."""
        instance = np.arange(self.instances).repeat(self.units)
        common = rng.normal(0, self.alike**0.5, self.instances)[instance]
        number = common + rng.normal(0, (1 - self.alike) ** 0.5, instance.size)
        people = 1 + np.searchsorted(self.cuts, number)
        guessed = rng.choice(len(self.guesses), instance.size, p=self.guesses) + 1
        simulator = np.where(rng.random(instance.size) < self.agrees, people, guessed)
        drawn = rng.permutation(self.instances)[: self.labelled]
        return people, simulator, instance, np.isin(instance, drawn)

    @property
    def cuts(self) -> np.ndarray:
        from scipy.stats import norm

        return np.asarray(norm.ppf(np.cumsum(self.shares)[:-1]))


DESIGNS = {
    "three labels": LabelDesign(200, 60, 3, (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)),
    "three labels, few labelled": LabelDesign(120, 20, 3, (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)),
    "one unit an instance": LabelDesign(300, 100, 1, (0.3, 0.4, 0.3), (0.3, 0.4, 0.3)),
    "a scale of five": LabelDesign(200, 60, 2, (0.1, 0.2, 0.3, 0.25, 0.15), (0.4, 0.3, 0.1, 0.1, 0.1)),
    "a poor simulator": LabelDesign(200, 60, 3, (0.5, 0.3, 0.2), (0.2, 0.3, 0.5), agrees=0.3),
    "nearly all labelled": LabelDesign(100, 90, 3, (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)),
    "a rarer label": LabelDesign(300, 100, 3, (0.12, 0.5, 0.38), (0.5, 0.3, 0.2)),
}


def design_coverage(design: LabelDesign, runs: int, seed: int) -> dict[str, Any]:
    """By figure: the truth (the mean of it for these units), the mean estimate, the coverage and the mean widths with help and alone."""
    found: dict[str, list[tuple[float, Estimate, Estimate]]] = {name: [] for name in FIGURES}
    numbers = np.arange(1, len(design.shares) + 1)
    for number in range(runs):
        people, simulator, instance, labelled = design.draw(np.random.default_rng([seed, number]))
        clusters = [str(code) for code in instance]
        label = ["1" if one == 1 else "other" for one in people]
        given = [one if held else None for one, held in zip(label, labelled, strict=True)]
        guess = ["1" if one == 1 else "other" for one in simulator]
        values = [float(one) if held else None for one, held in zip(people, labelled, strict=True)]
        for items in SCOPES:
            share = prediction_powered_label(given, guess, "1", clusters, items=items)
            mean = prediction_powered_mean(values, simulator.astype(float).tolist(), clusters, items=items)
            these = items == "these"
            truth = float(np.mean(people == 1)) if these else design.shares[0]
            found[f"share, {items}"].append((truth, share.estimate, share.people))
            truth = float(people.mean()) if these else float(numbers @ design.shares)
            found[f"mean, {items}"].append((truth, mean.estimate, mean.people))
    return {name: _summary(rows) for name, rows in found.items()}


def _summary(rows: list[tuple[float, Estimate, Estimate]]) -> dict[str, Any]:
    truth = np.array([true for true, _, _ in rows])
    low, high, value = (
        np.array([getattr(one, end) for _, one, _ in rows]) for end in ("low", "high", "value")
    )
    alone = np.array([(one.low, one.high) for _, _, one in rows])
    kept = ~np.isnan(low)
    return {
        "truth": float(truth.mean()),
        "mean": float(value.mean()),
        "intervals": float(kept.mean()),
        "coverage": float(((low <= truth) & (truth <= high))[kept].mean()),
        "alone": float(((alone[:, 0] <= truth) & (truth <= alone[:, 1]))[kept].mean()),
        "width": float((high - low)[kept].mean()),
        "width alone": float((alone[:, 1] - alone[:, 0])[kept].mean()),
        "holds its estimate": bool(((low <= value) & (value <= high))[kept].all()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    coverage: dict[str, Any] = {}
    for name, design in DESIGNS.items():
        coverage[name] = design_coverage(design, options.runs, options.seed)
        about = {"runs": options.runs, "seed": options.seed, "date": datetime.now(tz=UTC).date().isoformat()}
        designs = {done: vars(DESIGNS[done]) for done in coverage}
        content = {"about": about, "designs": designs, "coverage": coverage}
        TARGET.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
