"""The coverage of the intervals of simulatability gain, on simulated studies with known truth.

    python -m benchmarks.validation.gain_grid [--runs 1000] [--seed 0] [--again]

Results are stored after each design; a run that was stopped resumes with the next one. ``--again`` starts anew.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.validation.grid_frame import grid_run
from tests.evaluation.metrics.simulate_gain import DESIGNS, coverage_of_gain

TARGET = Path(__file__).parent / "gain_grid.json"
REPLICATES = 400


def main() -> None:
    grid_run(
        __doc__,
        target=TARGET,
        designs=DESIGNS,
        coverage_of=lambda design, runs, seed: coverage_of_gain(
            design, studies=runs, seed=seed, replicates=REPLICATES
        ),
        runs=1_000,
        replicates=REPLICATES,
    )


if __name__ == "__main__":
    main()
