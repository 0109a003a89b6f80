"""How often a study without any effect is called significant if it is looked at after every 20 judgments.

    python -m benchmarks.validation.sequential_grid [--runs 1000] [--seed 0]

For the plain 95 % interval, alpha spending and the confidence sequence; and how often a real effect is found.
"""

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr

from evaluation.core.interval import LEAST_CLUSTERS
from evaluation.planning.alpha_spending import boundaries
from evaluation.planning.confidence_sequence import confidence_sequence, means_by_cluster

TARGET = Path(__file__).parent / "sequential_grid.json"
EVERY = 20
METHODS = ("plain", "obrien_fleming", "pocock", "confidence_sequence")
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SequentialDesign:
    """A study of ``instances``, each with ``size`` judgments (for ``paired``: pairs of judgments of two systems), whose order is random.

    An instance's own share of right answers is Beta with mean ``share`` and intra-class correlation ``clustering``; ``effect`` is what
    is added to it (for the second system). The null value is ``share``, or a difference of 0."""

    instances: int
    size: int
    share: float
    clustering: float
    paired: bool = False
    effect: float = 0.0


DESIGNS = {
    "share .5, 120 x 5": SequentialDesign(120, 5, 0.5, 0.2),
    "share .8, 120 x 5": SequentialDesign(120, 5, 0.8, 0.2),
    "share .9, 60 x 10, clustering .5": SequentialDesign(60, 10, 0.9, 0.5),
    "difference of two systems, 100 x 5 pairs": SequentialDesign(100, 5, 0.7, 0.2, paired=True),
    "difference of two systems, 300 x 1 pairs": SequentialDesign(300, 1, 0.7, 0.2, paired=True),
    "share .5 and an effect of .1, 120 x 5": SequentialDesign(120, 5, 0.5, 0.2, effect=0.1),
    "difference of .15, 100 x 5 pairs": SequentialDesign(100, 5, 0.7, 0.2, paired=True, effect=0.15),
}


def outcomes_drawn(design: SequentialDesign, rng: np.random.Generator) -> tuple[Floats, list[int]]:
    """The outcomes of one study in the order in which they come in, and their instances. Of a pair, right - right (-1, 0 or 1)."""
    total = 1 / design.clustering - 1
    skill = rng.beta(design.share * total, (1 - design.share) * total, size=design.instances)
    instance = np.repeat(np.arange(design.instances), design.size)
    instance = instance[_nearly_in_order(instance, rng)]
    right = rng.random(instance.size) < skill[instance]
    added = design.effect / max(1 - design.share, 1e-9)
    lifted = rng.random(instance.size) < added
    if not design.paired:
        return (right | lifted).astype(float), instance.tolist()
    other = (rng.random(instance.size) < skill[instance]) | lifted
    return other.astype(float) - right, instance.tolist()


def _nearly_in_order(instance: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """As a study hands out its items: about ten instances are open at a time."""
    return np.argsort(instance + rng.uniform(0, 10, size=instance.size), kind="stable")


def looks(design: SequentialDesign, rng: np.random.Generator) -> dict[str, bool]:
    """Whether each method calls one study significant at any look."""
    outcomes, instance = outcomes_drawn(design, rng)
    judgments = 2 if design.paired else 1
    null = 0.0 if design.paired else design.share
    means, seen = means_by_cluster(outcomes, instance, size=design.size)
    at = [int((seen * judgments <= number).sum()) for number in _moments(outcomes.size * judgments)]
    counts = sorted({count for count in at if count >= LEAST_CLUSTERS})
    z = np.array([_z(means[:count] - null) for count in counts])
    shares = [count / design.instances for count in counts]
    found = {"plain": bool((np.abs(z) >= 1.959964).any())}
    for spending in ("obrien_fleming", "pocock"):
        limits = [look.boundary for look in _cached(tuple(shares), spending)]
        found[spending] = bool((np.abs(z) >= limits).any())
    low = -1.0 if design.paired else 0.0
    sequence = confidence_sequence(means, low=low, high=1.0)
    found["confidence_sequence"] = bool(sequence.excludes(null)[np.array(counts) - 1].any())
    return found


def _moments(judgments: int) -> list[int]:
    return [*range(EVERY, judgments, EVERY), judgments]


def _z(values: Floats) -> float:
    """The t statistic of the clusters' means as a normal one of the same p value; 0 if the means don't vary."""
    error = values.std(ddof=1) / np.sqrt(values.size)
    if error < 1e-12:
        return 0.0
    t = float(values.mean() / error)
    return float(np.sign(t) * -ndtri(stdtr(values.size - 1, -abs(t))))


_KNOWN: dict[tuple[tuple[float, ...], str], Any] = {}


def _cached(shares: tuple[float, ...], spending: Any) -> Any:
    if (shares, spending) not in _KNOWN:
        _KNOWN[shares, spending] = boundaries(shares, spending=spending)
    return _KNOWN[shares, spending]


def shares_significant(design: SequentialDesign, *, studies: int, seed: int) -> dict[str, float]:
    """The share of studies that each method ever calls significant."""
    rng = np.random.default_rng(seed)
    found = [looks(design, rng) for _ in range(studies)]
    return {method: sum(one[method] for one in found) / studies for method in METHODS}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    stored = {
        "about": {
            "runs": options.runs, "seed": options.seed, "every": EVERY, "date": datetime.now(tz=UTC).date().isoformat(),
            "python": platform.python_version(), "numpy": np.__version__,
        },
        "designs": {name: asdict(design) for name, design in DESIGNS.items()},
        "significant": {
            name: shares_significant(design, studies=options.runs, seed=options.seed)
            for name, design in DESIGNS.items()
        },
    }  # fmt: skip
    TARGET.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
