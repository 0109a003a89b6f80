"""What grids of designs share: their arguments, and results that are stored after each design and kept while a design is the same."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np


def grid_run(
    description: str | None,
    *,
    target: Path,
    designs: Mapping[str, Any],
    coverage_of: Callable[[Any, int, int], Any],
    runs: int,
    replicates: int = 0,
) -> None:
    """Simulate the designs that have no results yet, or others than the stored ones, and store the results after each.

    ``coverage_of(design, studies, seed)`` gives a design's results as JSON; designs are dataclasses. ``runs`` is the default of
    ``--runs``. Results of another number of runs, seed or number of ``replicates`` are dropped.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="also the designs that have results")
    options = parser.parse_args()
    asked = {"runs": options.runs, "seed": options.seed, "replicates": replicates}
    stored: dict[str, Any] = (
        json.loads(target.read_text("utf-8")) if target.exists() and not options.again else {}
    )
    if any(stored.get("about", {}).get(key) != value for key, value in asked.items()):
        stored = {}
    coverage: dict[str, Any] = stored.get("coverage", {})
    for name, design in designs.items():
        if coverage.get(name) and stored["designs"].get(name) == json.loads(json.dumps(vars(design))):
            continue
        coverage[name] = coverage_of(design, options.runs, options.seed)
        about = asked | {
            "date": datetime.now(tz=UTC).date().isoformat(), "python": platform.python_version(), "numpy": np.__version__,
        }  # fmt: skip
        stored = {
            "about": about,
            "designs": {name: vars(designs[name]) for name in designs if name in coverage},
            "coverage": {name: coverage[name] for name in designs if name in coverage},
        }
        target.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")
