"""The coverage of agreement's intervals where labels are numbers, on simulated studies with known truth.

    python -m benchmarks.validation.numbers_grid [--runs 2000] [--seed 0] [--again]

Results are stored after each design; a run that was stopped resumes with the next one. ``--again`` starts anew.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.validation.grid_frame import grid_run
from tests.evaluation.agreement.simulate_numbers import NUMBER_DESIGNS, coverage_of_numbers

TARGET = Path(__file__).parent / "numbers_grid.json"
REPLICATES = 400


def main() -> None:
    grid_run(
        __doc__,
        target=TARGET,
        designs=NUMBER_DESIGNS,
        coverage_of=lambda design, runs, seed: coverage_of_numbers(
            design, studies=runs, seed=seed, replicates=REPLICATES
        ),
        runs=2_000,
        replicates=REPLICATES,
    )


if __name__ == "__main__":
    main()
