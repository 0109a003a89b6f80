"""Studies with a simulator of known sensitivity and specificity, and labels by people on a part of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evaluation.core.estimate import Estimate
from evaluation.metrics import judge_corrected_rate


@dataclass(frozen=True)
class Judge:
    """``labelled`` rows by people, ``others`` by the simulator alone; ``rate`` of them are yes. ``per_cluster`` rows of an instance
    are alike, with a correlation of .3."""

    labelled: int
    others: int
    rate: float
    sensitivity: float
    specificity: float
    per_cluster: int = 1

    def draw(
        self, rng: np.random.Generator, *, hidden: bool = True
    ) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Labels by people (nan where they gave none, if ``hidden``), the simulator's, and clusters."""
        clusters = (self.labelled + self.others) // self.per_cluster
        rates = np.full(clusters, self.rate)
        if self.per_cluster > 1:
            strength = 0.7 / 0.3
            rates = rng.beta(self.rate * strength, (1 - self.rate) * strength, clusters)
        true = rng.random(clusters * self.per_cluster) < rates.repeat(self.per_cluster)
        said = np.where(true, self.sensitivity, 1 - self.specificity)
        predicted = (rng.random(true.size) < said).astype(float)
        kept = np.arange(true.size) < self.labelled if hidden else np.ones(true.size, dtype=bool)
        names = [f"x{number}" for number in np.arange(clusters).repeat(self.per_cluster)]
        return np.where(kept, true, np.nan), predicted, names


JUDGES = {
    "even": Judge(100, 1_000, 0.5, 0.9, 0.8),
    "few labels": Judge(60, 240, 0.7, 0.97, 0.9),
    "poor judge": Judge(200, 800, 0.3, 0.8, 0.7),
    "follow-ups": Judge(200, 1_000, 0.8, 0.85, 0.85, per_cluster=5),
    "follow-ups, few labels": Judge(100, 400, 0.65, 0.9, 0.9, per_cluster=5),
}


def coverage_cases() -> dict[str, tuple[Callable[[np.random.Generator], Estimate], float]]:
    """The cases of ``coverage``."""

    def measured(judge: Judge) -> Callable[[np.random.Generator], Estimate]:
        return lambda rng: judge_corrected_rate(*judge.draw(rng)).estimate

    return {f"judge-corrected rate, {name}": (measured(judge), judge.rate) for name, judge in JUDGES.items()}
