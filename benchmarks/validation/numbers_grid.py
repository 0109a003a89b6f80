"""The coverage of agreement's intervals where labels are numbers, on simulated studies with known truth.

    python -m benchmarks.validation.numbers_grid [--runs 2000] [--seed 0] [--again]

Results are stored after each design; a run that was stopped resumes with the next one. ``--again`` starts anew.
"""

from __future__ import annotations

import argparse
import json
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tests.evaluation.agreement.simulate_numbers import NUMBER_DESIGNS, coverage_of_numbers

TARGET = Path(__file__).parent / "numbers_grid.json"
REPLICATES = 400


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="also the designs that have results")
    options = parser.parse_args()
    asked = {"runs": options.runs, "seed": options.seed, "replicates": REPLICATES}
    stored: dict[str, Any] = (
        json.loads(TARGET.read_text("utf-8")) if TARGET.exists() and not options.again else {}
    )
    if any(stored.get("about", {}).get(key) != value for key, value in asked.items()):
        stored = {}
    coverage: dict[str, Any] = stored.get("coverage", {})
    for name, design in NUMBER_DESIGNS.items():
        if coverage.get(name) and stored["designs"].get(name) == json.loads(json.dumps(vars(design))):
            continue
        coverage[name] = coverage_of_numbers(
            design, studies=options.runs, seed=options.seed, replicates=REPLICATES
        )
        about = asked | {
            "date": datetime.now(tz=UTC).date().isoformat(), "python": platform.python_version(), "numpy": np.__version__,
        }  # fmt: skip
        stored = {
            "about": about,
            "designs": {name: vars(NUMBER_DESIGNS[name]) for name in NUMBER_DESIGNS if name in coverage},
            "coverage": {name: coverage[name] for name in NUMBER_DESIGNS if name in coverage},
        }
        TARGET.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
