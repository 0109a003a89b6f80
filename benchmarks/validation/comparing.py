"""What both modules of checks share: the result of a check, and the random tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.evaluation.agreement.tables import random_matrices


@dataclass(frozen=True)
class Check:
    """``difference`` is the largest absolute one over ``cases`` cases."""

    statistic: str
    against: str
    cases: int
    difference: float


def compared(statistic: str, against: str, pairs: Iterator[tuple[float, float]]) -> Check:
    """Where one side is not defined, the other must not be either."""
    cases, largest = 0, 0.0
    for mine, theirs in pairs:
        if np.isnan(mine) != np.isnan(theirs):
            raise AssertionError(f"{statistic}: {mine} against {theirs}")
        if not np.isnan(mine):
            cases, largest = cases + 1, max(largest, abs(mine - theirs))
    return Check(statistic, against, cases, largest)


def tables(count: int, *, seed: int, missing: bool = True) -> Iterator[np.ndarray]:
    yield from random_matrices(count, seed=seed, missing=missing, lowest=1)
