"""Rows of ratings that are sets, rankings, spans or preferences."""

from __future__ import annotations

from typing import Any

import numpy as np

VALUES = {
    "set": ['["x"]', '["x", "y"]', "[]"],
    "ranking": ['["x", "y", "z"]', '["x", ["y", "z"]]', '["z", "x", "y"]'],
    "span": [
        '[{"start": 0, "end": 4, "category": "wrong", "severity": "major"}]',
        '[{"start": 0, "end": 4, "category": "wrong", "severity": "minor"}, {"start": 5, "end": 8, "category": "style"}]',
        "[]",
    ],
    "pairwise": ["a", '{"choice": "b", "strength": 2}', "equal"],
}


def rows_of(level: str, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    systems = ["owl", "fox", "hen"]
    rows = []
    for unit in range(24):
        shown = [systems[unit % 3], systems[(unit + 1) % 3]]
        liked = int(rng.integers(0, 3))
        for rater in ("ann", "bob", "m1"):
            value = VALUES[level][liked if rng.random() < 0.7 else int(rng.integers(0, 3))]
            rows.append(
                {
                    "rater": rater,
                    "unit": f"u{unit:02}",
                    "value": value,
                    "one": shown[0],
                    "two": shown[1],
                    "size": 20,
                }
            )
    return rows
