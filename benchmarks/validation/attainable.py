"""Which coverages an interval can have where few values are possible: exact, without simulation."""

from __future__ import annotations

import numpy as np


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
