"""Compare explanation systems: on the instances where precision is defined in all of them, and on all instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.followups import FollowUps
from evaluation.metrics.paired import PairedDifference, all_pairs, precision_by_instance
from evaluation.metrics.simulatability import Simulatability, per_explanation, simulatability


@dataclass(frozen=True, eq=False)
class SystemComparison:
    """Each system's figures under the common-instances rule (``common``) and without it (``unrestricted``).

    ``differences`` are those of every two systems on the common instances, tested within instance with Holm's
    correction over them all; empty without an ``rng``. ``instances`` is how many instances the common figures are based on, ``left_out`` how many were seen but have no
    defined precision in at least one system.
    """

    systems: tuple[str, ...]
    common: Mapping[str, Simulatability]
    unrestricted: Mapping[str, Simulatability]
    instances: int
    left_out: int
    differences: tuple[PairedDifference, ...] = ()


def common_instances(followups: FollowUps, systems: Sequence[str]) -> frozenset[str]:
    """Instances in which every one of ``systems`` has an explanation whose precision is defined.

    Raises ``ValueError`` naming a system that has no follow-ups.
    """
    absent = sorted(set(systems) - set(followups.system))
    if absent:
        raise ValueError(f"systems: no follow-ups of {', '.join(absent)}")
    counts = per_explanation(followups)
    defined = counts.known > 0
    found = [set(counts.instance[defined & (counts.system == system)]) for system in systems]
    return frozenset(set.intersection(*found)) if found else frozenset()


def compare_systems(
    followups: FollowUps,
    systems: Sequence[str] = (),
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
    permutations: int = 10_000,
) -> SystemComparison:
    """Simulatability of each system on common instances, together with the unrestricted figures.

    An instance is common when precision is defined in *all* compared systems (by default all there are): the
    rule of Chen et al. 2024. Instances are the clusters of the intervals. With ``rng``, also the difference of every
    two systems: the mean over common instances of the difference between their mean precisions there.

    >>> table = FollowUps(
    ...     unit=["1", "2", "3"], explanation=["a1", "b1", "a2"], instance=["x", "x", "y"],
    ...     system=["a", "b", "a"], simulated=["yes"] * 3, real=["yes", "no", "no"],
    ... )
    >>> result = compare_systems(table)
    >>> result.common["a"].precision.value, result.unrestricted["a"].precision.value, result.instances
    (1.0, 0.5, 1)
    """
    names = tuple(systems) or tuple(sorted(set(followups.system)))
    shared = common_instances(followups, names)
    compared = followups.take(np.isin(np.asarray(followups.system, dtype=str), names))
    inside = compared.take(np.array([instance in shared for instance in compared.instance], dtype=bool))
    everything = set(compared.instance)
    differences: tuple[PairedDifference, ...] = ()
    if rng is not None:
        values = {name: precision_by_instance(inside.where("system", name)) for name in names}
        differences = all_pairs(values, rng=rng, replicates=replicates, permutations=permutations)
    return SystemComparison(
        systems=names,
        common={
            name: simulatability(inside.where("system", name), rng=rng, replicates=replicates)
            for name in names
        },
        unrestricted={
            name: simulatability(compared.where("system", name), rng=rng, replicates=replicates)
            for name in names
        },
        instances=len(shared),
        left_out=len(everything) - len(shared),
        differences=differences,
    )
