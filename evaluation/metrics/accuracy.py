"""Task accuracy of the systems themselves, to be compared with precision and utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate
from evaluation.metrics.resample import codes_of, ratio_estimate


@dataclass(frozen=True, eq=False)
class TaskAccuracy:
    """``mean`` is the unweighted mean over systems, ``systems`` each system's accuracy."""

    mean: Estimate
    systems: Mapping[str, Estimate]


def mean_over_systems(
    value: Sequence[float] | np.ndarray,
    instance: Sequence[str],
    system: Sequence[str],
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> TaskAccuracy:
    """Mean of ``value`` for each system, and the unweighted mean of those means.

    ``value`` of shape (N,) is one number for each explanation (precision, or 1 where the output is right),
    nan where not defined: left out and counted. Intervals draw instances. Source: Chen et al. 2024, Table 6.

    >>> mean_over_systems([1, 0, 1], ["x", "y", "x"], ["a", "a", "b"]).mean.value
    0.75
    """
    values = np.asarray(value, dtype=np.float64)
    if not values.shape == (len(instance),) == (len(system),):
        raise ValueError("value, instance, system: expected one length")
    clusters, _ = codes_of(instance)
    codes, names = codes_of(system)
    defined = ~np.isnan(values)
    filled = np.where(defined, values, 0.0)

    def estimate(chosen: npt.NDArray[np.bool_]) -> Estimate:
        missing = int((chosen & ~defined).sum())
        return ratio_estimate(
            filled[chosen],
            defined[chosen],
            clusters[chosen],
            groups=codes[chosen],
            rng=rng,
            replicates=replicates,
            left_out={"not defined": missing} if missing else {},
        )

    each = {name: estimate(codes == i) for i, name in enumerate(names)}
    return TaskAccuracy(mean=estimate(np.ones(len(values), dtype=bool)), systems=each)


def task_accuracy(
    output: Sequence[str | None],
    gold: Sequence[str | None],
    instance: Sequence[str],
    system: Sequence[str],
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> TaskAccuracy:
    """Share of instances on which each system's own output is the gold label, and the mean over systems.

    Unknown outputs and gold labels (None or empty) are left out and counted.

    >>> task_accuracy(["yes", "no"], ["yes", "yes"], ["x", "y"], ["s", "s"]).systems["s"].value
    0.5
    """
    if not len(output) == len(gold) == len(instance) == len(system):
        raise ValueError("output, gold, instance, system: expected one length")
    right = [float(o == g) if o and g else float("nan") for o, g in zip(output, gold, strict=True)]
    return mean_over_systems(right, instance, system, rng=rng, replicates=replicates)
