"""Coverage of the intervals of strengths from pairwise preferences (:func:`bradley_terry`): do they hold for raters of common items?

    python -m benchmarks.validation.preferences

Each item compares two of four systems; its raters share an effect of the item, so that their preferences are alike. The truth is the strength
in a very large study of the same design. Writes ``preferences.json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.agreement import bradley_terry

OUT = Path(__file__).with_suffix(".json")
SYSTEMS = ("a", "b", "c", "d")
STRENGTH = np.array([0.6, 0.2, -0.2, -0.6])
TIES = 0.5
#: (items, raters of each, standard deviation of an item's effect)
DESIGNS = ((30, 3, 0.7), (60, 3, 0.7), (200, 3, 0.7), (60, 3, 0.0), (60, 1, 0.0))
STUDIES, REPLICATES, LARGE = 400, 200, 400_000


def study(items: int, raters: int, effect: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """(first, second, choice, item) of every comparison."""
    first = rng.integers(0, 4, items)
    second = (first + rng.integers(1, 4, items)) % 4
    shift = rng.normal(0, effect, items)
    item = np.repeat(np.arange(items), raters)
    a = np.exp(STRENGTH[first] + shift)[item]
    b = np.exp(STRENGTH[second])[item]
    tie = TIES * np.sqrt(a * b)
    drawn = rng.random(item.size) * (a + b + tie)
    return first[item], second[item], np.where(drawn < a, 0, np.where(drawn < a + b, 1, 2)), item


def coverage(items: int, raters: int, effect: float, studies: int = STUDIES, seed: int = 1) -> dict[str, Any]:
    """Of the strengths with an interval: the share of intervals that hold the truth, and how many strengths had none."""
    rng = np.random.default_rng(seed)
    first, second, choice, _ = study(LARGE // raters, raters, effect, rng)
    truth = [one.value for one in bradley_terry(first, second, choice, systems=SYSTEMS).strengths]
    held = made = 0
    for number in range(studies):
        first, second, choice, item = study(items, raters, effect, rng)
        found = bradley_terry(
            first, second, choice, systems=SYSTEMS, clusters=item, rng=np.random.default_rng(number), replicates=REPLICATES,
        )  # fmt: skip
        for one, true in zip(found.strengths, truth, strict=True):
            if one.low == one.low:
                made += 1
                held += one.low <= true <= one.high
    return {
        "items": items, "raters": raters, "item_effect": effect, "studies": studies, "intervals": made,
        "none": 4 * studies - made, "coverage": round(held / max(made, 1), 4),
    }  # fmt: skip


if __name__ == "__main__":
    results = [coverage(*design) for design in DESIGNS]
    OUT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for result in results:
        print(result)
