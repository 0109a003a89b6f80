"""The coverage of the intervals of strengths from pairwise preferences (:func:`bradley_terry`), on simulated studies with known truth.

    python -m benchmarks.validation.preferences [--runs 1000] [--seed 0] [--again]

Each item compares two of the systems, drawn at random, and several raters judge it. They share an effect of the item, so that their preferences
are alike; the interval resamples items. The truth is what the model gives for all items that there could be: the chances of each pair of
systems, averaged over the item's effect by Gauss and Hermite's quadrature. Results are stored after each design; a run that was
stopped resumes with the next one. ``--again`` starts anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.validation.grid_frame import grid_run
from evaluation.agreement import bradley_terry
from evaluation.agreement.bradley_terry_fit import Counts, fit
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Floats, Ints

TARGET = Path(__file__).with_suffix(".json")
REPLICATES = 400
_NODES = 41


@dataclass(frozen=True)
class Design:
    """``spread``: half the distance between the strongest and the weakest system's log strengths, the others evenly between them; ``ties``:
    Davidson's parameter; ``effect``: the standard deviation of an item's effect, added to the log strength of its first system."""

    items: int = 60
    raters: int = 3
    systems: int = 4
    spread: float = 0.6
    ties: float = 0.5
    effect: float = 0.7

    @property
    def strengths(self) -> Floats:
        return np.linspace(self.spread, -self.spread, self.systems)


DESIGNS = {
    "15 items": Design(items=15),
    "30 items": Design(items=30),
    "60 items": Design(),
    "200 items": Design(items=200),
    "no effect of the item": Design(effect=0.0),
    "one rater, 60 items": Design(raters=1, effect=0.0),
    "one rater, 200 items": Design(items=200, raters=1, effect=0.0),
    "two systems, 20 items": Design(items=20, systems=2),
    "two systems": Design(systems=2),
    "eight systems": Design(items=160, systems=8),
    "twelve systems": Design(items=300, systems=12),
    "equal systems": Design(spread=0.0),
    "no ties": Design(ties=0.0),
    "few ties": Design(ties=0.05),
    "many ties": Design(ties=4.0),
    "many ties, 200 items": Design(items=200, ties=4.0),
    "near separation, 60 items": Design(spread=2.5),
    "near separation, 200 items": Design(items=200, spread=2.5),
    "near separation, no ties": Design(items=200, spread=2.5, ties=0.0),
}


def chances(design: Design, first: Ints, second: Ints, shift: Floats) -> Floats:
    """The chances that the first system is better, that the second one is, and of a tie; of shape (..., 3)."""
    a = np.exp(design.strengths[first] + shift)
    b = np.exp(design.strengths[second])
    parts = np.stack(np.broadcast_arrays(a, b, design.ties * np.sqrt(a * b)), axis=-1)
    return np.asarray(parts / parts.sum(axis=-1, keepdims=True))


def truth(design: Design) -> tuple[Floats, float]:
    """The strengths and the parameter of ties that the model has with infinitely many items."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    first, second = np.nonzero(~np.eye(design.systems, dtype=bool))
    shares = chances(design, first[:, None], second[:, None], design.effect * nodes)
    mean = (shares * (weights / weights.sum())[:, None]).sum(axis=1) * 1000
    wins, ties = np.zeros((2, 1, design.systems, design.systems))
    np.add.at(wins, (0, first, second), mean[:, 0])
    np.add.at(wins, (0, second, first), mean[:, 1])
    np.add.at(ties, (0, first, second), mean[:, 2])
    strengths, tie = fit(Counts(wins, ties + ties.transpose(0, 2, 1)))
    return strengths[0], float(tie[0])


def study(design: Design, rng: np.random.Generator) -> tuple[Ints, Ints, Ints, Ints]:
    """The first and second system, the choice, and the item of every comparison."""
    first = rng.integers(0, design.systems, design.items)
    second = (first + rng.integers(1, design.systems, design.items)) % design.systems
    shares = chances(design, first, second, rng.normal(0, design.effect, design.items))
    item = np.repeat(np.arange(design.items), design.raters)
    drawn = rng.random(item.size)[:, None] > np.cumsum(shares, axis=1)[item]
    return first[item], second[item], np.minimum(drawn.sum(axis=1), 2), item


def coverage_of(design: Design, studies: int, seed: int) -> dict[str, Any]:
    """Of all strengths, of the strongest system's, and of the parameter of ties: how often there is an interval and how often it holds the
    truth."""
    strengths, tie = truth(design)
    names = tuple(f"s{number:02}" for number in range(design.systems))
    found: list[tuple[tuple[Estimate, ...], Estimate]] = []
    for number in range(studies):
        first, second, choice, item = study(design, np.random.default_rng((seed, number)))
        made = bradley_terry(
            first, second, choice, systems=names, clusters=item, rng=np.random.default_rng((seed, number, 1)), replicates=REPLICATES,
        )  # fmt: skip
        found.append((made.strengths, made.ties))
    every = [pair for made, _ in found for pair in zip(made, strengths, strict=True)]
    row = {
        "strengths": _told(every),
        "strongest": _told((made[0], strengths[0]) for made, _ in found),
    }
    return row | ({"ties": _told((made, tie) for _, made in found)} if design.ties else {})


def _told(pairs: Iterable[tuple[Estimate, float]]) -> dict[str, Any]:
    made, true = zip(*pairs, strict=True)
    value, low, high = (np.array([getattr(one, name) for one in made]) for name in ("value", "low", "high"))
    known = np.isfinite(low) & np.isfinite(high)
    held = (low <= true) & (np.array(true) <= high)
    inside = (low <= value + 1e-9) & (value <= high + 1e-9)
    return {
        "estimates": round(float(np.isfinite(value).mean()), 4),
        "intervals": round(float(known.mean()), 4),
        "coverage": round(float(held[known].mean()), 4) if known.any() else None,
        "width": round(float(np.median((high - low)[known])), 4) if known.any() else None,
        "holds its estimate": bool(inside[known].all()),
    }


def main() -> None:
    grid_run(
        __doc__, target=TARGET, designs=DESIGNS, coverage_of=coverage_of, runs=1_000, replicates=REPLICATES
    )


if __name__ == "__main__":
    main()
