"""Whether a plan's power is that of simulated studies, and how often a null study that is watched is ever called significant.

    python -m benchmarks.validation.plan_grid [--runs 1000] [--seed 0]

Power: from ``plan_power``, against as many studies that go through ratings, majority and paired test as reports do. Watching: after every
20 judgments, with the interval that the live page shows.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.agreement import paired_t_test
from evaluation.metrics.from_ratings import followups_of
from evaluation.metrics.paired import precision_by_instance
from evaluation.planning.plan_document import Plan, plan_parse
from evaluation.planning.plan_drawn import Assumed, Structure
from evaluation.planning.plan_power import design_of, instance_outcomes, plan_power
from evaluation.planning.sequential import DIFFERENCE, valid_interval
from evaluation.planning.synthetic import StudyDesign, draw_arrays, draw_study

TARGET = Path(__file__).parent / "plan_grid.json"
EVERY = 20
#: Name -> structure of the study, smallest effect, assumptions.
POWER = {
    "40 instances, 3 follow-ups, 2 raters, effect .15": (Structure(40, 3, 2, 2), 0.15, Assumed()),
    "60 instances, 2 follow-ups, 3 raters, effect .2": (Structure(60, 2, 3, 2), 0.2, Assumed(0.6, 0.9, 0.3)),
    "80 instances, 4 follow-ups, 1 rater, effect .1": (Structure(80, 4, 1, 2), 0.1, Assumed(0.75, 0.8, 0.05)),
}
#: Name -> a study without any effect, and the plan's stopping rule with its looks.
NULL = StudyDesign(instances=60, precision=(0.7, 0.7), follow_ups=2, redundancy=3)
WATCHED: dict[str, tuple[str, list[float]]] = {
    "confidence_sequence": ("confidence_sequence", []),
    "obrien_fleming, looks at .5, .75, 1": ("obrien_fleming", [0.5, 0.75, 1.0]),
    "pocock, looks at .5, .75, 1": ("pocock", [0.5, 0.75, 1.0]),
}


def plan_of(effect: float = 0.0, *, stopping: str = "none", looks: list[float] | None = None) -> Plan:
    """A plan with one hypothesis: the first system's precision differs from the second's."""
    one = {"name": "H", "metric": "precision", "of": "a", "against": "b", "smallest_effect": effect}
    one["direction"] = "greater" if effect else "different"
    return plan_parse({"hypotheses": [one], "stopping": stopping, "looks": looks or []})


def power_compared(
    structure: Structure, effect: float, assumed: Assumed, *, runs: int, rng: np.random.Generator
) -> dict[str, float]:
    """The plan's power, the share of simulated studies that found the effect, and the standard error of their difference."""
    plan = plan_of(effect)
    (row,) = plan_power(plan, structure, assumed, rng, raters=[structure.raters], sizes=[1.0], runs=runs)
    design = design_of(
        plan.hypotheses[0], structure, assumed, instances=structure.instances, raters=structure.raters
    )
    share = sum(_finds(design, rng) for _ in range(runs)) / runs
    together = (row.power + share) / 2
    return {"planned": row.power, "found": share, "error": math.sqrt(2 * together * (1 - together) / runs)}


def _finds(design: StudyDesign, rng: np.random.Generator) -> bool:
    """Whether one study, analysed as a report does, finds the first system's precision greater."""
    study = draw_study(design, rng)
    (table,) = followups_of(study.truth, study.ratings.people(), "majority")
    a, b = (precision_by_instance(table.where("system", name)) for name in design.systems)
    both = sorted(a.keys() & b.keys())
    first, second = (np.array([values[x] for x in both]) for values in (a, b))
    return bool(paired_t_test(first, second).p <= 0.05 and first.mean() > second.mean())


def ever_significant(plan: Plan, rng: np.random.Generator) -> bool:
    """Whether a study without an effect, looked at after every 20 judgments, ever has a valid interval without 0."""
    values = instance_outcomes(draw_arrays(NULL, rng), NULL, NULL.redundancy, plan.hypotheses[0])
    each = NULL.judgments // NULL.instances
    complete = sorted({n // each for n in (*range(EVERY, NULL.judgments, EVERY), NULL.judgments)} - {0})
    for n in complete:
        found = valid_interval(values[:n], planned=NULL.instances, plan=plan, limits=DIFFERENCE)
        if found.defined and not math.isnan(found.low) and not found.low <= 0 <= found.high:
            return True
    return False


def share_significant(stopping: str, looks: list[float], *, studies: int, rng: np.random.Generator) -> float:
    """The share of null studies that are ever called significant."""
    plan = plan_of(stopping=stopping, looks=looks)
    return sum(ever_significant(plan, rng) for _ in range(studies)) / studies


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    stored: dict[str, Any] = {
        "about": {
            "runs": options.runs, "seed": options.seed, "every": EVERY, "date": datetime.now(tz=UTC).date().isoformat(),
            "python": platform.python_version(), "numpy": np.__version__,
        },
        "power": {name: power_compared(*given, runs=options.runs, rng=rng) for name, given in POWER.items()},
        "significant": {
            name: share_significant(*given, studies=options.runs, rng=rng) for name, given in WATCHED.items()
        },
    }  # fmt: skip
    TARGET.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
