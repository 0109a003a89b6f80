"""Tables of ratings whose units lie in clusters."""

from __future__ import annotations

import numpy as np

from evaluation.agreement import Ratings
from tests.evaluation.agreement.tables import ratings_of


def clustered(matrix, seed: int, level="nominal", **more) -> Ratings:
    """A random table whose units lie in about half as many clusters."""
    table = ratings_of(matrix, level=level, **more)
    codes = (
        np.random.default_rng(seed)
        .integers(0, max(len(table.units) // 2, 1), len(table.units))
        .astype(np.int32)
    )
    return Ratings(
        table.raters,
        table.units,
        table.labels,
        table.rater,
        table.unit,
        table.value,
        level=level,
        clusters=codes,
    )
