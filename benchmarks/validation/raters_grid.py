"""The coverage of intervals for *raters like these* (metrics) and of precision's for *these items*, on simulated studies.

    python -m benchmarks.validation.raters_grid [--runs 2000] [--seed 0] [--again]

Raters' skills are drawn anew in each study, so that the truth of raters like these is that of the population of raters; an instance's answers are
correlated. With ``judged`` below 1, people judge that share of the instances, drawn at random, and the truth is what the same raters would have
given for all of the study's items: each item's label doesn't depend on whether it is judged. Results are stored after each design.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.validation.grid_frame import grid_run
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings
from evaluation.metrics import FollowUps, simulatability, simulatability_gain
from evaluation.metrics.from_ratings import followups_of
from evaluation.metrics.over_raters import mean_over_raters, simulatability_over_raters
from evaluation.metrics.resample import ratio_estimate

TARGET = Path(__file__).parent / "raters_grid.json"
REPLICATES = 200
LABELS = ("yes", "no")


@dataclass(frozen=True)
class RatersDesign:
    """``k`` of ``raters`` on each follow-up; skills are Beta with the mean ``skill`` and a ``spread`` (its standard deviation)."""

    instances: int = 60
    follow_ups: int = 3
    raters: int = 12
    k: int = 3
    skill: float = 0.8
    spread: float = 0.1
    precision: float = 0.75
    judged: float = 1.0
    gain: bool = True


DESIGNS = {
    "these: 12 of 24": RatersDesign(instances=24, judged=0.5, gain=False),
    "8 raters": RatersDesign(raters=8),
    "12 raters": RatersDesign(),
    "30 raters": RatersDesign(raters=30),
    "12 alike": RatersDesign(spread=0.02),
    "12 apart": RatersDesign(spread=0.17),
    "20 raters, 20 instances": RatersDesign(instances=20, raters=20),
    "10 raters judge all": RatersDesign(instances=40, follow_ups=1, raters=10, k=10),
    "these: 30 of 60": RatersDesign(judged=0.5, gain=False),
    "these: 54 of 60": RatersDesign(judged=0.9, gain=False),
    "these: 60 of 300": RatersDesign(instances=300, judged=0.2, gain=False),
}


class _Population:
    """Draws studies of a design."""

    def __init__(self, design: RatersDesign, rng: np.random.Generator, *, raters: int = 0, instances: int = 0) -> None:  # fmt: skip
        self.design, self.rng = design, rng
        people, self.instances = raters or design.raters, instances or design.instances
        strength = design.skill * (1 - design.skill) / design.spread**2 - 1
        self.skill = rng.beta(design.skill * strength, (1 - design.skill) * strength, people)
        items = self.instances * design.follow_ups
        self.instance = np.repeat(np.arange(self.instances), design.follow_ups)
        share = rng.beta(3, 3, self.instances)[self.instance]
        self.label = (rng.random(items) < share).astype(np.int64)
        fits = rng.beta(8 * design.precision, 8 * (1 - design.precision), self.instances)[self.instance]
        self.real = np.where(rng.random(items) < fits, self.label, 1 - self.label)
        self.rater = np.argsort(rng.random((items, people)), axis=1)[:, : design.k]
        self.value = self.given(self.label)
        # Without the explanation raters know the model's answer less often.
        known = np.where(rng.random(items) < 0.6, self.label, 1 - self.label)
        self.alone_rater = np.argsort(rng.random((items, people)), axis=1)[:, : design.k]
        self.alone = self.given(known, self.alone_rater)

    def given(self, label: np.ndarray, rater: np.ndarray | None = None) -> np.ndarray:
        who = self.rater if rater is None else rater
        right = self.rng.random(who.shape) < self.skill[who]
        return np.where(right, label[:, None], 1 - label[:, None])

    def majority_precision(self, kept: np.ndarray) -> float:
        """Macro precision of majority labels on the items that are kept."""
        votes = self.value.mean(axis=1)
        known, right = kept & (votes != 0.5), (votes > 0.5) == (self.real == 1)
        counts = np.bincount(self.instance, weights=known)
        hits = np.bincount(self.instance, weights=known & right)
        return float((hits[counts > 0] / counts[counts > 0]).mean())


def truth_of(design: RatersDesign) -> dict[str, float]:
    """The values of the population of raters and instances."""
    found: dict[str, list[float]] = {}
    for number in range(60):
        rng = np.random.default_rng([54321, number])
        large = _Population(design, rng, raters=100, instances=2_000)
        correct, alone = (large.value == large.real[:, None]).mean(), (large.alone == large.real[:, None]).mean()  # fmt: skip
        for name, value in {
            "precision": large.majority_precision(np.ones(large.label.size, dtype=bool)),
            "share": float(large.value.mean()),
            "accuracy with": float(correct),
            "gain": float(correct - alone),
            "nsg": float((correct - alone) / (1 - alone)),
        }.items():
            found.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def coverage_of_raters(design: RatersDesign, studies: int, seed: int) -> dict[str, Any]:
    """By figure: the share of studies whose interval includes the truth."""
    truth = truth_of(design) if design.judged == 1 else {}
    rows: dict[str, list[tuple[float, ...]]] = {}
    for number in range(studies):
        rng = np.random.default_rng([seed, number])
        for name, (one, own_truth) in _one_study(design, rng, truth).items():
            rows.setdefault(name, []).append((one.low, one.value, one.high, own_truth))
    found = {}
    for name, values in rows.items():
        low, value, high, true = np.array(values).T
        given = ~np.isnan(low)
        inside = (low <= true) & (true <= high)
        found[name] = {
            "truth": float(true.mean()),
            "intervals": float(given.mean()),
            "coverage": float(inside[given].mean()) if given.any() else None,
            "below": float((high < true)[given].mean()) if given.any() else None,
            "above": float((low > true)[given].mean()) if given.any() else None,
            "width": float((high - low)[given].mean()) if given.any() else None,
            "holds its estimate": bool(((low <= value) & (value <= high))[given].all()),
        }
    return found


def _one_study(
    design: RatersDesign, rng: np.random.Generator, truth: dict[str, float]
) -> dict[str, tuple[Estimate, float]]:
    drawn = _Population(design, rng)
    items = drawn.label.size
    chosen = rng.permutation(design.instances)[: round(design.judged * design.instances)]
    kept = np.isin(drawn.instance, chosen)
    units = tuple(f"u{n}" for n in range(items))
    names = [f"x{n}" for n in drawn.instance]
    table = FollowUps(
        unit=units, explanation=names, instance=names, system=["s"] * items, simulated=[None] * items,
        real=[LABELS[code] for code in drawn.real],
    )  # fmt: skip
    unit = np.repeat(np.arange(items), design.k)
    ratings = Ratings(
        raters=tuple(f"r{n}" for n in range(design.raters)), units=units, labels=LABELS,
        rater=drawn.rater.ravel().astype(np.int32), unit=unit.astype(np.int32), value=drawn.value.ravel().astype(np.int32),
        clusters=drawn.instance.astype(np.int32),
    ).where(kept[unit])  # fmt: skip
    (labelled,) = followups_of(table, ratings)
    draws = {"rng": rng, "replicates": REPLICATES}
    if design.judged < 1:
        figures = simulatability(labelled, items="these", **draws)  # type: ignore[arg-type]
        return {"precision": (figures.precision, drawn.majority_precision(np.ones(items, dtype=bool)))}
    figures = simulatability(labelled, new_raters=simulatability_over_raters(labelled, ratings), **draws)  # type: ignore[arg-type]
    yes, rater = drawn.value.ravel(), drawn.rater.ravel()
    share = ratio_estimate(
        yes, np.ones(yes.size), drawn.instance[unit], new_raters=mean_over_raters(yes, drawn.instance[unit], rater), **draws  # type: ignore[arg-type]
    )  # fmt: skip
    found = {"precision": (figures.precision, truth["precision"]), "share": (share, truth["share"])}
    if design.gain:
        gain = simulatability_gain(
            [LABELS[code] for code in (*yes, *drawn.alone.ravel())],
            [LABELS[code] for code in np.tile(np.repeat(drawn.real, design.k), 2)],
            [units[code] for code in np.tile(unit, 2)],
            [names[code] for code in np.tile(unit, 2)],
            [True] * yes.size + [False] * yes.size,
            raters=[*rater.tolist(), *drawn.alone_rater.ravel().tolist()],
            **draws,  # type: ignore[arg-type]
        )
        found |= {
            "accuracy with": (gain.accuracy_with, truth["accuracy with"]),
            "gain": (gain.gain, truth["gain"]),
            "nsg": (gain.nsg, truth["nsg"]),
        }
    return found


def main() -> None:
    grid_run(
        __doc__,
        target=TARGET,
        designs=DESIGNS,
        # Those with raters drawn anew take ten times as long.
        coverage_of=lambda design, runs, seed: coverage_of_raters(
            design, runs if design.judged < 1 else runs // 8, seed
        ),
        runs=2_000,
        replicates=REPLICATES,
    )


if __name__ == "__main__":
    main()
