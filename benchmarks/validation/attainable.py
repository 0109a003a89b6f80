"""Which coverages an interval can have where few values are possible: exact, without simulation."""

from __future__ import annotations

import numpy as np

from evaluation.core.interval import mid_p_interval
from evaluation.core.ratings_table import Floats


def attainable(units: int, share: float, level: float = 0.95) -> tuple[float, float]:
    """The coverages nearest to the level, below and above it, that an interval can have if what it says depends on a count.

    The count is that of the units that have a rare label, each with probability ``share`` and independently. For one truth, an interval
    includes it for some counts and not for others; for those that include it to be consecutive, its coverage must be the probability of
    such a range. Both are 0 or 1 where there is none.

    >>> below, above = attainable(200, 0.005)  # one unit is expected: at most two, or at most three
    >>> round(below, 3), round(above, 3)
    (0.92, 0.981)
    """
    from scipy.stats import binom

    up_to = np.concatenate(([0.0], binom.cdf(np.arange(units + 1), units, share)))
    ranges = (up_to[None, :] - up_to[:, None])[np.triu_indices(up_to.size, 1)]
    below, above = ranges[ranges <= level], ranges[ranges >= level]
    return float(below.max(initial=0.0)), float(above.min(initial=1.0))


def mid_p_covers(n: int, share: float) -> float:
    """The exact coverage, at one share, of the mid-P interval of n cases.

    >>> round(mid_p_covers(40, 0.05), 3)  # two cases are expected, and it includes the share for up to five
    0.986
    """
    from scipy.stats import binom

    ends = [mid_p_interval(count, n) for count in range(n + 1)]
    inside = np.array([low <= share <= high for low, high in ends])
    return float((binom.pmf(np.arange(n + 1), n, share) * inside).sum())


def mid_p_coverage(n: int, points: int = 401) -> Floats:
    """Shape (points,): the exact coverage of the mid-P interval of n cases, at shares with three expected of either kind or more.

    >>> found = mid_p_coverage(20)
    >>> round(float(found.min()), 3), round(float(found.mean()), 3)
    (0.929, 0.954)
    """
    from scipy.stats import binom

    low, high = np.array([mid_p_interval(count, n) for count in range(n + 1)]).T
    shares = np.linspace(3 / n, 1 - 3 / n, points)[:, None]
    inside = (low <= shares) & (shares <= high)
    return np.asarray((binom.pmf(np.arange(n + 1), n, shares) * inside).sum(axis=1), dtype=np.float64)
