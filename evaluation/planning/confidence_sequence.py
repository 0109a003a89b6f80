"""An interval of a mean that may be looked at after every judgment: a confidence sequence for bounded outcomes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
#: The largest bet: below 1, where the penalty of one becomes infinite.
_MOST = 0.5


@dataclass(frozen=True, eq=False)
class ConfidenceSequence:
    """Anytime-valid limits, all of shape (T,): entry t is the interval after t + 1 outcomes.

    ``mean`` is the running mean; ``low`` and ``high`` only ever come closer. With probability 1 - alpha, the true mean is in all of the
    intervals at once, so one may stop at any of them for any reason.
    """

    mean: Floats
    low: Floats
    high: Floats

    def excludes(self, value: float) -> npt.NDArray[np.bool_]:
        """Shape (T,): whether a value is outside, which would be significant however often one looked."""
        return np.asarray((value < self.low) | (value > self.high))

    def __len__(self) -> int:
        return int(self.mean.size)


def confidence_sequence(
    outcomes: npt.ArrayLike, *, low: float = 0.0, high: float = 1.0, alpha: float = 0.05
) -> ConfidenceSequence:
    """The empirical-Bernstein confidence sequence of the mean of outcomes that lie between ``low`` and ``high``.

    ``outcomes`` has shape (T,), in the order in which they were observed; each must have the same mean given those before it, as
    independent ones have. Outcomes of one instance depend on one another: pass each instance's mean (``means_by_cluster``). With outcomes scaled to [0, 1], running
    mean m_t = (1/2 + sum X) / (t + 1) and variance s_t^2 = (1/4 + sum (X_i - m_i)^2) / (t + 1), the bets are
    l_t = min(sqrt(2 ln(2 / alpha) / (s_{t-1}^2 t ln(1 + t))), 1/2), and the limits are

        sum(l X) / sum(l) -+ (ln(2 / alpha) + sum((X_i - m_{i-1})^2 (-ln(1 - l_i) - l_i))) / sum(l),

    intersected over time. An interval that would be empty (the means drift) is that of the last look before. No outcome may be missing:
    raises ``ValueError`` for one that is, or is outside the limits, or an ``alpha`` outside (0, 1). It has no further
    assumptions and is wider than the interval of one look; without outcomes it is empty.
    Source: Waudby-Smith and Ramdas 2024, Journal of the Royal Statistical Society B 86(1), 1-27, theorem 2, equations 13-15.

    >>> found = confidence_sequence([1, 0, 1, 1] * 100)
    >>> round(float(found.low[-1]), 2), round(float(found.high[-1]), 2), bool(found.excludes(0.5)[-1])
    (0.67, 0.83, True)
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha: expected a number between 0 and 1, got {alpha}")
    if not low < high:
        raise ValueError(f"low, high: expected low < high, got {low} and {high}")
    values = np.asarray(outcomes, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"outcomes: expected one dimension, got shape {values.shape}")
    bad = np.flatnonzero(~((values >= low) & (values <= high)))
    if bad.size:
        at = int(bad[0])
        raise ValueError(f"outcomes: entry {at} is {values[at]:g}; expected numbers from {low:g} to {high:g}")
    scaled = (values - low) / (high - low)
    times = np.arange(1, values.size + 1)
    mean = (0.5 + np.cumsum(scaled)) / (times + 1)
    variance = (0.25 + np.cumsum((scaled - mean) ** 2)) / (times + 1)
    mean_before = np.concatenate(([0.5], mean[:-1])) if values.size else mean
    variance_before = np.concatenate(([0.25], variance[:-1])) if values.size else variance
    needed = math.log(2 / alpha)
    bets = np.minimum(np.sqrt(2 * needed / (variance_before * times * np.log1p(times))), _MOST)
    penalty = np.cumsum((scaled - mean_before) ** 2 * (-np.log1p(-bets) - bets))
    total = np.cumsum(bets)
    centre, half = np.cumsum(bets * scaled) / total, (needed + penalty) / total
    lower = np.maximum.accumulate(np.maximum(centre - half, 0.0))
    upper = np.minimum.accumulate(np.minimum(centre + half, 1.0))
    lower, upper = _kept_apart(lower, upper)
    running = np.cumsum(values) / times
    return ConfidenceSequence(running, low + lower * (high - low), low + upper * (high - low))


def _kept_apart(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """The limits, where those that have crossed are replaced by the last that had not."""
    crossed = np.flatnonzero(lower > upper)
    if crossed.size:
        first = int(crossed[0])
        last = max(first - 1, 0)
        lower, upper = lower.copy(), upper.copy()
        lower[first:], upper[first:] = lower[last], upper[last]
    return lower, upper


def means_by_cluster(
    outcomes: npt.ArrayLike, clusters: Sequence[Hashable], *, size: int
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Each cluster's mean, in the order in which clusters were completed, and how many outcomes had been observed by then.

    ``outcomes`` and ``clusters`` have shape (T,), in the order of observation. A cluster (instance) is complete with its ``size``-th
    outcome; that number must be planned, not depend on the outcomes. Further outcomes of it and incomplete clusters aren't used. Returns
    two arrays of shape (complete clusters,). Raises ``ValueError`` for other shapes or a size below 1.

    >>> means, seen = means_by_cluster([1, 0, 1, 1, 0], ["a", "b", "a", "b", "c"], size=2)
    >>> means.tolist(), seen.tolist()
    ([1.0, 0.5], [3, 4])
    """
    values = np.asarray(outcomes, dtype=np.float64)
    if values.shape != (len(clusters),):
        raise ValueError(f"outcomes, clusters: expected one length, got {values.shape} and {len(clusters)}")
    if size < 1:
        raise ValueError(f"size: expected 1 or more, got {size}")
    sums: dict[Hashable, float] = {}
    counts: dict[Hashable, int] = {}
    means: list[float] = []
    seen: list[int] = []
    for number, (value, cluster) in enumerate(zip(values.tolist(), clusters, strict=True), 1):
        counts[cluster] = counts.get(cluster, 0) + 1
        if counts[cluster] <= size:
            sums[cluster] = sums.get(cluster, 0.0) + value
        if counts[cluster] == size:
            means.append(sums[cluster] / size)
            seen.append(number)
    return np.array(means, dtype=np.float64), np.array(seen, dtype=np.int64)
