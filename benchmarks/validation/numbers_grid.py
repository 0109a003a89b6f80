"""The coverage of agreement's intervals where labels are numbers, on simulated studies with known truth.

    python -m benchmarks.validation.numbers_grid [--runs 2000] [--seed 0] [--again]

Results are stored after each design; a run that was stopped resumes with the next one, and designs whose first studies have other
intervals than when they were simulated are simulated again. ``--again`` starts anew.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.validation.grid_frame import FIRST, Ends, ends_of, grid_run
from tests.evaluation.agreement.simulate_numbers import (
    NUMBER_DESIGNS,
    NumberDesign,
    coverage_of_numbers,
    studies_of,
)

TARGET = Path(__file__).parent / "numbers_grid.json"
REPLICATES = 400


def first(design: NumberDesign, seed: int) -> Ends:
    """The ends of the intervals of the first studies."""
    found = studies_of(design, studies=FIRST, seed=seed, replicates=REPLICATES)
    return ends_of([{name: (one.low, one.high) for name, one in study.items()} for study in found])


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
        first_of=first,
    )


if __name__ == "__main__":
    main()
