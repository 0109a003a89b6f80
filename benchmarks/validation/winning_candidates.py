"""Why the winning rate of the alternative annotator test has no 95 % interval: the coverage of those that were tried.

    python -m benchmarks.validation.winning_candidates [--runs 1000] [--seed 0]

The truth is the share of these people who are worth less than epsilon more than the simulator, as for the bounds
(``alternative_grid``). Results are stored after each design.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.validation.panels import PANELS, SIMULATOR, Panel
from evaluation.agreement import alternative_annotator_test
from evaluation.agreement.alternative import _advantages
from evaluation.agreement.counts import cluster_codes
from evaluation.core.interval import wilson_interval
from evaluation.core.ratings_table import Floats, Ratings

TARGET = Path(__file__).parent / "winning_candidates.json"
REPLICATES = 400
#: Candidate -> its column in docs/validation.md.
CANDIDATES = {
    "wilson": "Wilson's over people",
    "units": "units drawn anew",
    "both": "people and units drawn anew",
    "normal": "each person's worth normal",
}


def worth(ratings: Ratings) -> tuple[Floats, Floats]:
    """Sums of the person's advantage minus the simulator's, and how many units, of shape (clusters, people)."""
    code = ratings.raters.index(SIMULATOR)
    own = np.full(len(ratings.units), -1, dtype=np.int64)
    of_simulator = ratings.rater == code
    own[ratings.unit[of_simulator]] = ratings.value[of_simulator]
    people = ratings.where(~ratings.is_simulator[ratings.rater])
    people = people.where(((people.grouped.sizes >= 2) & (own >= 0))[people.unit])
    for_person, for_simulator = _advantages(people, own, ratings.level)
    codes, _ = cluster_codes(people)
    _, cluster = np.unique(codes[people.unit], return_inverse=True)
    _, person = np.unique(people.rater, return_inverse=True)
    shape = (int(cluster.max()) + 1, int(person.max()) + 1)
    sums, counts = (np.zeros(shape) for _ in range(2))
    np.add.at(sums, (cluster, person), for_person.astype(float) - for_simulator)
    np.add.at(counts, (cluster, person), 1.0)
    return sums, counts


def intervals(
    rate: float, sums: Floats, counts: Floats, epsilon: float, rng: np.random.Generator
) -> Iterator[tuple[str, float, float]]:
    """Each candidate's name and ends."""
    clusters, people = sums.shape
    yield "wilson", *wilson_interval(rate, people)
    weights = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=REPLICATES).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (weights @ sums) / (weights @ counts)
    below = means < epsilon
    yield "units", *np.quantile(below.mean(axis=1), (0.025, 0.975))
    drawn = rng.integers(0, people, below.shape)
    yield "both", *np.quantile(np.take_along_axis(below, drawn, axis=1).mean(axis=1), (0.025, 0.975))
    mean = sums.sum(axis=0) / counts.sum(axis=0)
    error = np.sqrt(((sums - counts * mean) ** 2).sum(axis=0)) / counts.sum(axis=0)
    normal = mean + error * rng.standard_normal((REPLICATES, people))
    yield "normal", *np.quantile((normal < epsilon).mean(axis=1), (0.025, 0.975))


def panel_coverage(panel: Panel, runs: int, seed: int) -> dict[str, dict[str, float]]:
    """By candidate: the share of studies whose interval includes the truth, and its mean width."""
    true = panel.truth()[0]
    ends: dict[str, list[tuple[float, float]]] = {name: [] for name in CANDIDATES}
    for number in range(runs):
        rng = np.random.default_rng([seed, number])
        ratings = panel.draw(rng)
        rate = alternative_annotator_test(ratings, SIMULATOR, epsilon=panel.epsilon).winning_rate.value
        for name, low, high in intervals(rate, *worth(ratings), panel.epsilon, rng):
            ends[name].append((low, high))
    found = {}
    for name in CANDIDATES:
        low, high = np.array(ends[name]).T
        inside = (low <= true + 1e-9) & (true <= high + 1e-9)
        found[name] = {"coverage": float(inside.mean()), "width": float((high - low).mean())}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    coverage: dict[str, Any] = {}
    for name, panel in PANELS.items():
        coverage[name] = panel_coverage(panel, options.runs, options.seed)
        about = {
            "runs": options.runs, "seed": options.seed, "replicates": REPLICATES,
            "date": datetime.now(tz=UTC).date().isoformat(),
        }  # fmt: skip
        designs = {done: vars(PANELS[done]) for done in coverage}
        content = {"about": about, "designs": designs, "coverage": coverage}
        TARGET.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
