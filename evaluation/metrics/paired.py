"""Two systems (or conditions) compared instance by instance, and normal against forced explanations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.agreement import holm, paired_bootstrap, paired_permutation_test, paired_t_test
from evaluation.agreement.bootstrap import bounds_of
from evaluation.core.estimate import NAN, Estimate
from evaluation.core.interval import Bounds
from evaluation.metrics.followups import FollowUps
from evaluation.metrics.resample import Floats, codes_of, ratio_estimate
from evaluation.metrics.simulatability import per_explanation


@dataclass(frozen=True)
class PairedDifference:
    """``first`` minus ``second`` over the instances where both are defined.

    ``first_mean`` and ``second_mean`` are based on the same instances as ``difference``, whose interval is the paired
    bootstrap's. ``p_permutation`` swaps the two within instances; ``p_t`` is the paired t-test's (P1's), ``p_holm``
    the permutation p after Holm's correction over the family it was tested in. A p is nan where not defined.
    """

    first: str
    second: str
    first_mean: Estimate
    second_mean: Estimate
    difference: Estimate
    p_permutation: float
    p_t: float
    p_holm: float


def paired_difference(
    first: Mapping[str, float],
    second: Mapping[str, float],
    *,
    names: tuple[str, str] = ("first", "second"),
    rng: np.random.Generator,
    replicates: int = 1_000,
    permutations: int = 10_000,
    bounds: Bounds | None = None,
) -> PairedDifference:
    """Mean of first - second over the instances that have both values, with its interval and p values.

    The mappings go from an instance to its value (a system's mean precision on it), nan or absent where not
    defined: such an instance is left out and counted. ``bounds`` are the least and the greatest value, 0 and 1 where all
    lie between them; the intervals keep to them. Undefined without an instance that has both.

    >>> found = paired_difference({"x": 1.0, "y": 0.5}, {"x": 0.5, "z": 1.0}, rng=np.random.default_rng(0))
    >>> found.difference.value, found.difference.n, dict(found.difference.left_out)
    (0.5, 1, {'instances that one of the two lacks': 2})
    """
    instances = sorted({*first, *second})
    a, b = (np.array([values.get(x, NAN) for x in instances], dtype=np.float64) for values in (first, second))
    both = ~(np.isnan(a) | np.isnan(b))
    left = {"instances that one of the two lacks": int((~both).sum())} if not both.all() else {}
    if bounds is None:
        values = np.concatenate((a[both], b[both]))
        bounds = bounds_of(values, np.ones(values.size))
    least, most = bounds
    difference = paired_bootstrap(
        a[both],
        b[both],
        rng=rng,
        replicates=replicates,
        bounds=(least - most, most - least),
        word="instances",
    ).difference
    p = paired_permutation_test(a[both], b[both], rng=rng, permutations=permutations).p

    def mean(values: Floats) -> Estimate:
        return ratio_estimate(
            values[both], np.ones(int(both.sum())), np.arange(int(both.sum())), rng=rng, replicates=replicates,
            reason="no instance has both values", left_out=left, bounds=bounds,
        )  # fmt: skip

    return PairedDifference(
        first=names[0],
        second=names[1],
        first_mean=mean(a),
        second_mean=mean(b),
        difference=replace(difference, left_out=left),
        p_permutation=p,
        p_t=paired_t_test(a[both], b[both]).p,
        p_holm=p,
    )


def all_pairs(
    values: Mapping[str, Mapping[str, float]],
    *,
    rng: np.random.Generator,
    replicates: int = 1_000,
    permutations: int = 10_000,
) -> tuple[PairedDifference, ...]:
    """``paired_difference`` of every two systems, with Holm's correction over them all.

    ``values`` maps a system to its values by instance. Each pair is based on its own shared instances: to compare on
    instances that all share, pass only those.
    """
    names = list(values)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    found = [
        paired_difference(
            values[a], values[b], names=(a, b), rng=rng, replicates=replicates, permutations=permutations
        )
        for a, b in pairs
    ]
    return holm_corrected(found)


def holm_corrected(found: Sequence[PairedDifference]) -> tuple[PairedDifference, ...]:
    """The same differences with Holm's correction of the permutation's p values over them all."""
    adjusted = holm([one.p_permutation for one in found])
    return tuple(replace(one, p_holm=float(p)) for one, p in zip(found, adjusted, strict=True))


def mean_by_instance(values: Floats, instance: Sequence[str]) -> dict[str, float]:
    """The mean of the values that are not nan, for each instance that has one.

    >>> mean_by_instance(np.array([1.0, 0.0, np.nan]), ["x", "x", "y"])
    {'x': 0.5}
    """
    codes, names = codes_of(instance)
    known = ~np.isnan(values)
    counts = np.bincount(codes[known], minlength=len(names))
    sums = np.bincount(codes[known], weights=values[known], minlength=len(names))
    return {name: float(sums[i] / counts[i]) for i, name in enumerate(names) if counts[i]}


def averaged_over_systems(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean over several systems' values on each instance that all of them have: a model's over its explanation methods.

    >>> averaged_over_systems([{"x": 1.0, "y": 0.0}, {"x": 0.5}])
    {'x': 0.75}
    """
    shared = set.intersection(*(set(found) for found in values)) if values else set()
    return {name: sum(found[name] for found in values) / len(values) for name in sorted(shared)}


def precision_by_instance(followups: FollowUps) -> dict[str, float]:
    """Each instance's mean precision over its explanations, where one is defined."""
    counts = per_explanation(followups)
    return mean_by_instance(counts.precision, counts.instance.tolist())


def normal_against_forced(
    followups: FollowUps,
    normal: str,
    forced: str,
    answered_right: Collection[str],
    *,
    rng: np.random.Generator,
    replicates: int = 1_000,
    permutations: int = 10_000,
) -> PairedDifference:
    """Precision of normal explanations against those forced to defend the answer that the system did not choose.

    Only instances in ``answered_right``, which the system answers correctly under normal prompting: there the
    forced explanation defends a wrong answer. ``normal`` and ``forced`` name the two systems of ``followups``.
    A metric that can tell explanations apart gives a clear difference. Instances where precision is not defined
    under both are left out and counted, and so are those not answered correctly. Source: Chen et al. 2024, Table 2.

    Raises ``ValueError`` naming a system without follow-ups.
    """
    absent = sorted({normal, forced} - followups.distinct("system"))
    if absent:
        raise ValueError(f"normal, forced: no follow-ups of {', '.join(absent)}")
    kept = set(answered_right)
    compared = followups.take(followups.among("system", (normal, forced)))
    inside = compared.take(compared.among("instance", kept))
    found = paired_difference(
        precision_by_instance(inside.where("system", normal)),
        precision_by_instance(inside.where("system", forced)),
        names=(normal, forced),
        rng=rng,
        replicates=replicates,
        permutations=permutations,
    )
    lacking = len(inside.distinct("instance")) - found.difference.n
    left = {
        "instances not answered correctly under normal prompting": len(compared.distinct("instance") - kept),
        "instances without a precision under both": lacking,
    }
    left = {why: number for why, number in left.items() if number}
    return replace(
        found,
        first_mean=replace(found.first_mean, left_out=left),
        second_mean=replace(found.second_mean, left_out=left),
        difference=replace(found.difference, left_out=left),
    )
