"""Generated judgments: units rated by m of R raters of different quality, three labels, rows in random order."""

from __future__ import annotations

import numpy as np

from evaluation.core.ratings_table import Ratings

LABELS = ("yes", "no", "cannot guess")


def judgments(ratings: int, per_unit: int, raters: int, seed: int = 0) -> Ratings:
    rng = np.random.default_rng(seed)
    units = ratings // per_unit
    truth = rng.choice(3, units, p=[0.5, 0.3, 0.2]).astype(np.int32)
    quality = rng.beta(8, 3, raters)
    first = rng.integers(0, raters, units)
    step = rng.integers(1, raters // per_unit, units)  # m different raters per unit
    rater = ((first[:, None] + np.arange(per_unit) * step[:, None]) % raters).astype(np.int32).ravel()
    unit = np.repeat(np.arange(units, dtype=np.int32), per_unit)
    value = np.where(rng.random(rater.size) < quality[rater], truth[unit], rng.integers(0, 3, rater.size))
    order = rng.permutation(rater.size)
    names = tuple(map(str, range(units)))
    return Ratings(
        tuple(f"r{r:04}" for r in range(raters)),
        names,
        LABELS,
        rater[order],
        unit[order],
        value[order].astype(np.int32),
    )
