"""The coverage of the intervals of simulatability gain, on simulated studies with known truth.

    python -m benchmarks.validation.gain_grid [--runs 1000] [--seed 0] [--again]

Results are stored after each design; a run that was stopped goes on with the next one. ``--again`` starts anew.
"""

from __future__ import annotations

import argparse
import json
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tests.evaluation.metrics.simulate_gain import DESIGNS, coverage_of_gain

TARGET = Path(__file__).parent / "gain_grid.json"
REPLICATES = 400


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1_000)
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
    for name, design in DESIGNS.items():
        if coverage.get(name) and stored["designs"].get(name) == vars(design):
            continue
        coverage[name] = coverage_of_gain(
            design, studies=options.runs, seed=options.seed, replicates=REPLICATES
        )
        about = asked | {
            "date": datetime.now(tz=UTC).date().isoformat(), "python": platform.python_version(), "numpy": np.__version__,
        }  # fmt: skip
        stored = {
            "about": about,
            "designs": {name: vars(DESIGNS[name]) for name in DESIGNS if name in coverage},
            "coverage": {name: coverage[name] for name in DESIGNS if name in coverage},
        }
        TARGET.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
