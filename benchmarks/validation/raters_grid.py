"""The coverage of intervals for *raters like these* and for *these items* (metrics), on simulated studies.

    python -m benchmarks.validation.raters_grid [--runs 1000] [--seed 0] [--again]

Raters' skills are drawn anew in each study, so that the truth of raters like these is that of the population of raters; an instance's answers are
correlated. With ``judged`` below 1, people judge that share of the instances, drawn at random, and the truth is what the same raters would have
given for all of the study's items: each item's label doesn't depend on whether it is judged. Results are stored after each design.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.validation.grid_frame import grid_run
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings
from evaluation.metrics import FollowUps, simulatability, simulatability_gain, utility
from evaluation.metrics.from_ratings import followups_of
from evaluation.metrics.medians import median_estimate
from evaluation.metrics.over_raters import mean_over_raters, simulatability_over_raters
from evaluation.metrics.resample import ratio_estimate
from evaluation.metrics.utility_over_raters import utility_over_raters

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


DESIGNS = {
    "these: 12 of 24": RatersDesign(instances=24, judged=0.5),
    "these: 54 of 60": RatersDesign(judged=0.9),
    "8 raters": RatersDesign(raters=8),
    "12 apart": RatersDesign(spread=0.17),
    "10 raters judge all": RatersDesign(instances=40, follow_ups=1, raters=10, k=10),
    "30 raters": RatersDesign(raters=30),
    "20 raters, 20 instances": RatersDesign(instances=20, raters=20),
    "these: 30 of 60": RatersDesign(judged=0.5),
    "these: 60 of 300": RatersDesign(instances=300, judged=0.2),
    "12 raters": RatersDesign(),
    "12 alike": RatersDesign(spread=0.02),
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
        # Without the explanation raters know the model's answer less often.
        known = np.where(rng.random(items) < 0.6, self.label, 1 - self.label)
        self.before, self.value = self.given(known), self.given(self.label)
        self.alone_rater = np.argsort(rng.random((items, people)), axis=1)[:, : design.k]
        self.alone = self.given(known, self.alone_rater)
        # Numbers from 0 to 100: raters who know more give higher ones.
        mean = 50 + 20 * rng.normal(size=self.instances)[self.instance, None] + 60 * (self.skill - design.skill)[self.rater]  # fmt: skip
        self.score = np.clip(np.round(mean + rng.normal(0, 10, self.rater.shape)), 0, 100).astype(np.int64)

    def given(self, label: np.ndarray, rater: np.ndarray | None = None) -> np.ndarray:
        who = self.rater if rater is None else rater
        right = self.rng.random(who.shape) < self.skill[who]
        return np.where(right, label[:, None], 1 - label[:, None])


def truth_of(design: RatersDesign) -> dict[str, float]:
    """The values of the population of raters and instances."""
    found: dict[str, list[float]] = {}
    for number in range(20):
        rng = np.random.default_rng([54321, number])
        large = _Population(design, rng, raters=300, instances=2_000)
        for name, one in _figures(large, np.ones(large.label.size, dtype=bool)):
            found.setdefault(name, []).append(one.value)
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
    chosen = rng.permutation(design.instances)[: round(design.judged * design.instances)]
    kept, every = np.isin(drawn.instance, chosen), np.ones(drawn.label.size, dtype=bool)
    values = truth or {name: one.value for name, one in _figures(drawn, every)}
    return {name: (one, values[name]) for name, one in _figures(drawn, kept, rng)}


def _figures(
    drawn: _Population, kept: np.ndarray, rng: np.random.Generator | None = None
) -> Iterator[tuple[str, Estimate]]:
    """Each figure of the items that are kept: with ``rng`` for raters like these if all are, and else for these items."""
    design, items = drawn.design, drawn.label.size
    like = rng is not None and design.judged == 1
    unjudged = 1 - design.judged if design.judged < 1 else None
    draws: dict[str, Any] = {"rng": rng, "replicates": REPLICATES}
    units = tuple(f"u{n:05}" for n in range(items))
    names = [f"x{n:05}" for n in drawn.instance]
    real = [LABELS[code] for code in drawn.real]
    table = FollowUps(
        unit=units, explanation=names, instance=names, system=["s"] * items, simulated=[None] * items, real=real,
    )  # fmt: skip
    unit = np.repeat(np.arange(items), design.k)
    who = tuple(f"r{n}" for n in range(drawn.skill.size))

    def ratings(values: np.ndarray, labels: tuple[str, ...], level: Any) -> Ratings:
        return Ratings(
            raters=who, units=units, labels=labels, rater=drawn.rater.ravel().astype(np.int32), unit=unit.astype(np.int32),
            value=values.ravel().astype(np.int32), level=level, clusters=drawn.instance.astype(np.int32),
        ).where(kept[unit])  # fmt: skip

    given = ratings(drawn.value, LABELS, "nominal")
    (labelled,) = followups_of(table, given)
    figures = simulatability(
        labelled,
        items="these" if unjudged is not None else "like",
        new_raters=simulatability_over_raters(labelled, given) if like else None,
        **draws,
    )
    yield from (("precision", figures.precision), ("micro", figures.precision_micro))

    part, shown = kept[unit], unit[kept[unit]]
    yes, rater = drawn.value.ravel()[part], drawn.rater.ravel()[part]
    clusters = drawn.instance[shown]
    yield "share", ratio_estimate(
        yes, np.ones(yes.size), clusters, unjudged=unjudged,
        new_raters=mean_over_raters(yes, clusters, rater) if like else None, **draws,
    )  # fmt: skip
    scores = ratings(drawn.score, tuple(map(str, range(101))), "interval")
    yield "median", median_estimate(scores, new_raters=like, unjudged=unjudged, **draws)

    alone, alone_rater = drawn.alone.ravel()[part], drawn.alone_rater.ravel()[part]
    both = np.tile(shown, 2)
    gain = simulatability_gain(
        [LABELS[code] for code in (*yes, *alone)],
        [real[code] for code in both],
        [units[code] for code in both],
        [names[code] for code in both],
        [True] * yes.size + [False] * yes.size,
        raters=[*rater.tolist(), *alone_rater.tolist()] if like else None,
        unjudged=unjudged,
        **draws,
    )
    yield from (
        ("accuracy with", gain.accuracy_with), ("gain", gain.gain), ("nsg", gain.nsg),
        ("misled", gain.misled), ("helped", gain.helped),
    )  # fmt: skip

    before, after = ([LABELS[code] for code in one.ravel()[part]] for one in (drawn.before, drawn.value))
    answers = ratings(drawn.before, LABELS, "nominal")
    first = followups_of(table, answers)[0]
    chosen = np.flatnonzero(kept)
    others = (
        utility_over_raters(
            before, after, [real[n] for n in shown], [units[n] for n in shown], [names[n] for n in shown], rater.tolist()
        )
        if like
        else None
    )  # fmt: skip
    found = utility(
        first.simulated[chosen].tolist(), labelled.simulated[chosen].tolist(), [real[n] for n in chosen],
        [names[n] for n in chosen], unjudged=unjudged, new_raters=others, **draws,
    )  # fmt: skip
    yield from (
        ("useful", found.shares["useful"]),
        ("right after", found.right_after),
        ("utility gain", found.gain),
    )


def main() -> None:
    grid_run(
        __doc__,
        target=TARGET,
        designs=DESIGNS,
        coverage_of=coverage_of_raters,
        runs=1_000,
        replicates=REPLICATES,
    )


if __name__ == "__main__":
    main()
