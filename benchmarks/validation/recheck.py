"""Part of the simulated coverage again, on the present code and with other studies: does it agree with the stored results?

    python -m benchmarks.validation.recheck [--runs 200] [--seed 1] [--only NAME ...]

Every design of ``agreement_grid`` and every case of ``coverage`` is simulated anew, with fewer studies than the full run. Two
shares of simulated studies differ by chance; ``recheck.json`` says by how many standard errors each of them does.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.validation.agreement_grid import design_coverage, panel_coverage
from benchmarks.validation.coverage import cases, covered, level, tests
from tests.evaluation.agreement.simulate import KAPPA_DESIGNS, PANELS

HERE = Path(__file__).parent
TARGET = HERE / "recheck.json"
LEVELS = ("type I error at .05", "at .01")


def apart(first: float, first_runs: int, second: float, second_runs: int) -> float:
    """How many standard errors two shares differ by, pooled as in a test that they are the same.

    >>> round(apart(0.95, 1_000, 0.90, 200), 2)
    2.75
    """
    pooled = (first * first_runs + second * second_runs) / (first_runs + second_runs)
    error = math.sqrt(pooled * (1 - pooled) * (1 / first_runs + 1 / second_runs))
    return abs(first - second) / error if error else 0.0


def metric(name: str, runs: int, seed: int) -> dict[str, float]:
    """One case of ``coverage``, or one of its tests, by name."""
    if name in cases():
        return covered(cases()[name], runs, seed)
    return level(tests()[name], runs, seed)


def jobs() -> dict[str, Callable[[int, int], Any]]:
    """Every simulation by name, to be called with the number of studies and the seed."""
    found: dict[str, Callable[[int, int], Any]] = {
        f"grid/{name}": partial(design_coverage, name) for name in KAPPA_DESIGNS
    }
    for name, panel in PANELS.items():
        for statistic in ("krippendorff_alpha", "mean kappa"):
            found[f"panel/{name}, {statistic}, new"] = partial(panel_coverage, panel, statistic, "new")
    return found | {f"metric/{name}": partial(metric, name) for name in [*cases(), *tests()]}


def cells(results: dict[str, Any], runs: int) -> Iterator[dict[str, Any]]:
    """Each share that was simulated twice: stored, again, and how far apart."""
    grid, metrics = (
        json.loads((HERE / f"{name}.json").read_text("utf-8")) for name in ("agreement_grid", "coverage")
    )
    stored_runs = {
        "grid": grid["about"]["runs"],
        "panel": grid["about"]["runs"],
        "metric": metrics["about"]["runs"],
    }

    def cell(
        name: str, stored: float, again: float, sizes: tuple[float, float] = (1.0, 1.0)
    ) -> dict[str, Any]:
        before, now = (round(n * share) for n, share in zip((stored_runs[kind], runs), sizes, strict=True))
        z = apart(stored, before, again, now)
        return {
            "name": name,
            "stored": stored,
            "again": again,
            "studies": now,
            "standard errors": round(z, 2),
        }

    for name, found in results.items():
        kind, _, rest = name.partition("/")
        if kind == "grid":
            for statistic, one in found.items():
                stored = grid["coverage"][rest][statistic]
                if one["coverage"] is not None and stored["coverage"] is not None:
                    sizes = stored["intervals"], one["intervals"]
                    yield cell(f"{rest}: {statistic}", stored["coverage"], one["coverage"], sizes)
        elif kind == "panel":
            yield cell(rest, grid["new raters"][rest], found)
        else:
            for key in ("coverage",) if "coverage" in found else LEVELS:
                yield cell(f"{rest}: {key}", metrics["cases"][rest][key], found[key])


def add_design(name: str, runs: int, seed: int) -> None:
    """Simulate one design of the grid with more studies, and keep its shares under ``larger``."""
    found = list(cells({f"grid/{name}": design_coverage(name, runs, seed)}, runs))
    content = json.loads(TARGET.read_text("utf-8"))
    content["larger"] = [one for one in content.get("larger", []) if one["design"] != name]
    content["larger"] += [one | {"design": name, "seed": seed} for one in found]
    TARGET.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=sorted(jobs()),
        metavar="NAME",
        help="keep the other results (grid/few, ...)",
    )
    parser.add_argument(
        "--design", choices=sorted(KAPPA_DESIGNS), help="simulate only this one, and add it to the results"
    )
    options = parser.parse_args()
    if options.design:
        return add_design(options.design, options.runs, options.seed)
    stored = json.loads(TARGET.read_text("utf-8")) if options.only else {"cells": []}
    results = {
        name: job(options.runs, options.seed)
        for name, job in jobs().items()
        if name in (options.only or jobs())
    }
    again = list(cells(results, options.runs))
    simulated = {name.partition("/")[2] for name in results}
    about = {"runs": options.runs, "seed": options.seed, "date": datetime.now(tz=UTC).date().isoformat()}
    holds = all(
        one["holds its estimate"]
        for name, found in results.items()
        if name.startswith("grid/")
        for one in found.values()
    )
    content = stored | {
        "about": about,
        "every interval holds its estimate": holds and stored.get("every interval holds its estimate", True),
        "cells": [one for one in stored["cells"] if one["name"].partition(":")[0] not in simulated] + again,
    }
    TARGET.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
