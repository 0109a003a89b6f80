"""Ratings tables for the tests: random ones, and the published examples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evaluation.core.ratings_table import Ratings

LEVELS = ("nominal", "ordinal", "interval", "ratio")
NAN = float("nan")

#: Krippendorff (2011): four observers, twelve units, one of them rated once.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]

#: Shrout and Fleiss (1979), Table 2: four judges, six targets.
SHROUT_FLEISS = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]


def ratings_of(matrix, *, labels=None, level="nominal", **more) -> Ratings:
    """From raters x units with nan for a missing rating; labels are whole numbers in order."""
    matrix = np.asarray(matrix, dtype=float)
    if labels is None:
        labels = [str(int(v)) for v in np.unique(matrix[~np.isnan(matrix)])]
    rows = [
        (f"r{r:03}", f"u{u:04}", str(int(matrix[r, u])))
        for r in range(matrix.shape[0])
        for u in range(matrix.shape[1])
        if not np.isnan(matrix[r, u])
    ]
    return Ratings.from_rows(rows, labels=labels, level=level, **more)


def rows_of(ratings: Ratings) -> list[tuple[str, str, str]]:
    return [
        (ratings.raters[r], ratings.units[u], ratings.labels[v])
        for r, u, v in zip(ratings.rater, ratings.unit, ratings.value, strict=True)
    ]


def random_matrices(count: int, *, seed: int, missing: bool = True, lowest: int = 0) -> Iterator[np.ndarray]:
    """Tables of 2-6 raters, 2-30 units and 2-5 labels, from chance to near agreement, some with missing ratings."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        raters, units, labels = rng.integers(2, 7), rng.integers(2, 31), rng.integers(2, 6)
        truth = rng.integers(0, labels, units)
        matrix = np.where(
            rng.random((raters, units)) < rng.choice([0.0, 0.4, 0.9]),
            truth,
            rng.integers(0, labels, (raters, units)),
        ).astype(float)
        if missing:
            matrix[rng.random(matrix.shape) < rng.choice([0.0, 0.2, 0.6])] = np.nan
        yield matrix + lowest
