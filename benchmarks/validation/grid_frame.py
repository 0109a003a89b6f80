"""What grids of designs share: their arguments, and results that are stored after each design and kept while a design is the same."""

from __future__ import annotations

import argparse
import json
import math
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

#: So many studies of each design are simulated anew to tell if its results are those of the present code.
FIRST = 3
#: By statistic, the ends of its intervals in the first studies, such as ``0.250000 to 0.500000, none``.
Ends = dict[str, str]


def ends_of(studies: Sequence[Mapping[str, tuple[float, float]]]) -> Ends:
    """The lower and upper ends in each study, by statistic, as they are stored.

    >>> ends_of([{"alpha": (0.25, 0.5)}, {"alpha": (math.nan, math.nan)}])
    {'alpha': '0.250000 to 0.500000, none'}
    """
    return {
        name: ", ".join(
            "none" if math.isnan(study[name][0]) else " to ".join(f"{end:.6f}" for end in study[name])
            for study in studies
        )
        for name in studies[0]
    }


def same_ends(stored: Ends | None, found: Ends) -> bool:
    """Whether stored ends are those that the present code finds, but for the rounding of another machine.

    >>> same_ends({"alpha": "0.250000 to 0.500000, none"}, {"alpha": "0.250001 to 0.500000, none"})
    True
    >>> same_ends({"alpha": "none"}, {"alpha": "0.250000 to 0.500000"}), same_ends(None, {})
    (False, False)
    """
    if stored is None or stored.keys() != found.keys():
        return False
    return all(
        _numbers(stored[name])[0] == _numbers(one)[0]
        and np.allclose(_numbers(stored[name])[1], _numbers(one)[1], rtol=0, atol=5e-6)
        for name, one in found.items()
    )


def mark(grid: Mapping[str, Any], name: str) -> str:
    """A star for results of earlier intervals than the present code's, which are to be simulated again.

    >>> mark({"first": {"few": {}}}, "few"), mark({"first": {}}, "few")
    ('', '\\\\*')
    """
    return "" if name in grid.get("first", {}) else "\\*"


def starred(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a table, and what a star in it means, if there is one.

    >>> list(starred(["| 95.0 |"]))
    ['| 95.0 |']
    """
    any_star = False
    for line in lines:
        any_star |= "\\*" in line
        yield line
    if any_star:
        yield "\n\\* Simulated with an earlier version of these intervals, and not again yet."


def _numbers(ends: str) -> tuple[list[bool], list[float]]:
    """In which studies there is an interval, and all ends."""
    studies = ends.split(", ")
    given = [study != "none" for study in studies]
    return given, [float(end) for study in studies if study != "none" for end in study.split(" to ")]


def grid_run(
    description: str | None,
    *,
    target: Path,
    designs: Mapping[str, Any],
    coverage_of: Callable[[Any, int, int], Any],
    runs: int,
    replicates: int = 0,
    first_of: Callable[[Any, int], Ends] | None = None,
    seed: int = 0,
) -> None:
    """Simulate the designs that have no results yet, or others than the stored ones, and store the results after each.

    ``coverage_of(design, studies, seed)`` gives a design's results as JSON; designs are dataclasses. ``runs`` is the default of
    ``--runs``, ``seed`` that of ``--seed``. Results of another number of runs, seed or number of ``replicates`` are dropped; with
    ``first_of(design, seed)``, which gives the ends of the intervals of the first studies, those too whose first studies have other
    intervals now.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--again", action="store_true", help="also the designs that have results")
    parser.add_argument(
        "--only", nargs="+", choices=sorted(designs), metavar="DESIGN", help="no other designs"
    )
    options = parser.parse_args()
    asked = {"runs": options.runs, "seed": options.seed, "replicates": replicates}
    stored: dict[str, Any] = (
        json.loads(target.read_text("utf-8")) if target.exists() and not options.again else {}
    )
    if any(stored.get("about", {}).get(key, 0) != value for key, value in asked.items()):
        stored = {}
    coverage: dict[str, Any] = stored.get("coverage", {})
    firsts: dict[str, Ends] = stored.get("first", {})
    for name, design in designs.items():
        if options.only and name not in options.only:
            continue
        first = first_of(design, options.seed) if first_of is not None else None
        same = first is None or same_ends(firsts.get(name), first)
        if (
            same
            and coverage.get(name)
            and stored["designs"].get(name) == json.loads(json.dumps(vars(design)))
        ):
            continue
        coverage[name] = coverage_of(design, options.runs, options.seed)
        if first is not None:
            firsts[name] = first
        about = asked | {
            "date": datetime.now(tz=UTC).date().isoformat(), "python": platform.python_version(), "numpy": np.__version__,
        }  # fmt: skip
        stored = {
            "about": about,
            "designs": {name: vars(designs[name]) for name in designs if name in coverage},
            "coverage": {name: coverage[name] for name in designs if name in coverage},
        }
        if first_of is not None:
            stored["first"] = {name: firsts[name] for name in designs if name in firsts}
        target.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")
