"""Simulatability gain: what an explanation adds to the prediction of a system, against a control arm without it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from annotator.hit_types.base import NEITHER, REFUSAL
from evaluation.agreement.bootstrap import cluster_sums
from evaluation.agreement.new_raters import NEW_RATERS, RaterVariance
from evaluation.core.estimand import CENSUS, THESE_ITEMS
from evaluation.core.estimate import NOT_ASKED, Estimate, undefined
from evaluation.core.interval import AT_MOST_ONE, LEAST_CLUSTERS, SHARE, SIGNED, Bounds, t_interval, too_few
from evaluation.metrics.forward import NO_LABEL, NO_OUTPUT
from evaluation.metrics.over_raters import share_of_sums, sums_over_raters
from evaluation.metrics.paired import PairedDifference, mean_by_instance, paired_difference
from evaluation.metrics.rater_effects import variance_of_effects
from evaluation.metrics.resample import Floats, Ints, codes_of, ratio_estimate
from evaluation.metrics.simulatability import CANNOT_GUESS, REFUSED

Abstained = Literal["wrong", "left_out"]
ONE_ARM = "follow-ups without a judgment in one of the two arms"
NO_PAIR = "no follow-up has judgments in both arms"


@dataclass(frozen=True, eq=False)
class SimulatabilityGain:
    """Accuracy with and without the explanation, and what follows from the two; every estimate has its interval and counts.

    ``gain`` = ``accuracy_with`` - ``accuracy_without``, ``nsg`` is the normalized gain, ``misled`` and ``helped`` are shares
    of follow-ups. ``n`` is everywhere the number of follow-ups with judgments in both arms. ``judgments`` counts those of
    both arms (with, without); ``by_instance`` has each instance's mean gain over its follow-ups, for ``gain_difference``.
    """

    accuracy_with: Estimate
    accuracy_without: Estimate
    gain: Estimate
    nsg: Estimate
    misled: Estimate
    helped: Estimate
    judgments: tuple[int, int]
    by_instance: Mapping[str, float]


def simulatability_gain(
    predicted: Sequence[str | None],
    real: Sequence[str | None],
    follow_up: Sequence[str],
    instance: Sequence[str],
    explained: Sequence[bool],
    *,
    abstain: Collection[str] = (),
    cannot_guess: Abstained = "wrong",
    refusals_left_out: bool = False,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
    raters: Sequence[int] | None = None,
    unjudged: float | None = None,
) -> SimulatabilityGain:
    """What the explanation adds: accuracy with it less accuracy without it, on the same follow-ups.

    All sequences have shape (N,): an entry is one judgment, or one aggregated label. ``predicted`` is the predicted answer,
    None where there is no label; ``real`` the system's real output, None or empty where it isn't known; ``follow_up`` and
    ``instance`` name what was judged, alike in both arms; ``explained`` says whether the explanation was shown. With
    p and q the shares of right predictions of a follow-up with and without the explanation:

    - accuracy_with = mean of p, accuracy_without = mean of q, over the follow-ups that have both; gain = mean of p - q;
    - NSG = (accuracy_with - accuracy_without) / (1 - accuracy_without): the share of the errors that the explanation removes,
      1 at most, negative where it adds errors;
    - misled = share of follow-ups with q > 1/2 > p (most people are right without it and wrong with it), helped = share with
      p > 1/2 > q. A follow-up on which half are right counts as neither.

    A label in ``abstain`` ("cannot guess") is not right, or with ``cannot_guess="left_out"`` left out. A real output that is a
    refusal or neither answer is never predicted, or left out with ``refusals_left_out``. Left out and counted: entries without a
    label or a known output, and follow-ups that have entries in one arm only.

    With ``rng``, 95 % intervals over instances: both arms of an instance are in one cluster. That of NSG is the t interval of
    the logarithm of 1 - NSG, a ratio of two error rates, with the linearised standard error of clusters. NSG is undefined,
    with the reason, where fewer than 8 instances have a wrong prediction without the explanation: then accuracy without it is so near 1
    that the ratio says nothing. It has no interval where fewer than 3 have one with it. With ``raters``, the rater of each entry as a
    whole number, all intervals are for raters like these (``evaluation.metrics.over_raters``, for misled and helped
    ``evaluation.metrics.rater_effects``), or there is none if raters are too few. With ``unjudged``, the share of the study's follow-ups that have not been judged in
    both arms, they are for these items: with the finite-population correction, and the width 0 if all have been. Everything is undefined without a
    follow-up in both arms. Raises ``ValueError`` for unequal lengths, or for a follow-up of two instances. Source: Mayne et al. 2026 (arXiv 2602.02639), Normalized Simulatability Gain; Hase and
    Bansal 2020, section 3.

    >>> found = simulatability_gain(
    ...     ["yes", "yes", "no", "no"], ["yes"] * 4, ["u", "u", "u", "u"], ["x"] * 4, [True, True, False, True]
    ... )
    >>> round(found.accuracy_with.value, 3), found.accuracy_without.value, found.helped.value
    (0.667, 0.0, 1.0)
    """
    shown = np.asarray(explained, dtype=bool)
    if not len(predicted) == len(real) == len(follow_up) == len(instance) == shown.size:
        raise ValueError("predicted, real, follow_up, instance, explained: expected one length")
    counted, right, left = _right(predicted, real, abstain, cannot_guess, refusals_left_out)
    pairs, names = codes_of(follow_up)
    clusters, instances = codes_of(instance)
    own = np.zeros(len(names), dtype=np.int64)
    own[pairs] = clusters
    if (own[pairs] != clusters).any():
        name = names[pairs[np.argmax(own[pairs] != clusters)]]
        raise ValueError(f"follow_up: {name!r} belongs to two instances")
    p, with_it = _share_right(pairs, right, counted & shown, len(names))
    q, without = _share_right(pairs, right, counted & ~shown, len(names))
    both = (with_it > 0) & (without > 0)
    if single := int(((with_it > 0) ^ (without > 0)).sum()):
        left[ONE_ARM] = single
    entries = counted & both[pairs]
    others = (
        _over_raters(np.asarray(raters)[entries], right[entries], shown[entries], pairs[entries], clusters[entries])
        if raters is not None and rng is not None and entries.any()
        else {}
    )  # fmt: skip
    p, q, own = p[both], q[both], own[both]

    def mean(values: npt.ArrayLike, bounds: Bounds = SHARE, name: str = "") -> Estimate:
        return ratio_estimate(
            values, np.ones(p.size), own, rng=rng, replicates=replicates, reason=NO_PAIR, left_out=left, bounds=bounds,
            new_raters=others.get(name), unjudged=unjudged,
        )  # fmt: skip

    return SimulatabilityGain(
        accuracy_with=mean(p, name="with"),
        accuracy_without=mean(q, name="without"),
        gain=mean(p - q, SIGNED, "gain"),
        nsg=normalized_gain(
            p,
            q,
            own,
            intervals=rng is not None and replicates > 0,
            left_out=left,
            new_raters=others.get("nsg"),
            unjudged=unjudged,
        ),
        misled=mean((q > 0.5) & (p < 0.5), name="misled"),
        helped=mean((p > 0.5) & (q < 0.5), name="helped"),
        judgments=(int(with_it[both].sum()), int(without[both].sum())),
        by_instance=mean_by_instance(p - q, [instances[code] for code in own.tolist()]),
    )


def normalized_gain(
    with_it: Floats,
    without: Floats,
    clusters: Ints,
    *,
    intervals: bool = True,
    left_out: Mapping[str, int] | None = None,
    new_raters: RaterVariance | None = None,
    unjudged: float | None = None,
) -> Estimate:
    """NSG = 1 - (sum of 1 - p) / (sum of 1 - q), for shares of right predictions p and q of shape (F,) in [0, 1].

    ``clusters`` are whole-number codes of shape (F,), of instances. See ``simulatability_gain`` for the interval and for where
    NSG is undefined. Its ratio's standard error is linearised (Cochran 1977, section 6.4, equation 6.13), on the scale of the logarithm. ``new_raters`` is the variance of the ratio of errors over raters, where the
    interval is for raters like these, and ``unjudged`` the share of the follow-ups that nobody has judged, where it is for these items.

    >>> normalized_gain(np.full(10, 0.9), np.full(10, 0.5), np.arange(10)).value
    0.8
    """
    left = dict(left_out or {})
    if not with_it.size:
        return undefined(NO_PAIR, left_out=left)
    wrong_with, wrong_without = cluster_sums([1 - with_it, 1 - without], clusters).T
    erring = int((wrong_without > 0).sum())
    census = unjudged == 0 and new_raters is None
    if erring < (1 if census else LEAST_CLUSTERS):
        reason = (
            f"accuracy without the explanation is too near 1: at least {1 if census else LEAST_CLUSTERS} instances with a wrong prediction without it are"
            f" needed, found {erring}"
        )
        return undefined(reason, n=with_it.size, left_out=left)
    ratio = float(wrong_with.sum() / wrong_without.sum())
    value = round(1 - ratio, 15)
    if not intervals:
        return Estimate(value, n=with_it.size, left_out=left, interval=NOT_ASKED)
    if census:
        return Estimate(value, value, value, n=with_it.size, left_out=left, interval=CENSUS)
    number = wrong_with.size
    if not ratio:
        why = "none: no prediction with the explanation is wrong"
    elif not (why := too_few(number, "instances")):
        residual = wrong_with - ratio * wrong_without
        error = float((number / (number - 1) * (residual**2).sum()) ** 0.5 / wrong_without.sum())
        if new_raters is not None and not new_raters.known:
            why = new_raters.none
        elif error > 1e-12:
            degrees: float = number - 1
            how = f"95 % t interval of the logarithm of the ratio of errors, linearised standard error over {number} instances"
            if unjudged is not None:
                error, how = error * unjudged**0.5, f"{how}, finite-population correction, {THESE_ITEMS}"
            if new_raters is not None:
                variance, degrees = new_raters.added_to(error**2, degrees)
                error, how = variance**0.5, f"{how}, {NEW_RATERS}"
            low, high = t_interval(value, error, degrees_of_freedom=degrees, bounds=AT_MOST_ONE)
            return Estimate(value, low, high, n=with_it.size, left_out=left, interval=how)
        else:
            why = "none: the instances do not vary"
    return Estimate(value, n=with_it.size, left_out=left, interval=why)


def _over_raters(
    raters: Ints, right: npt.NDArray[np.bool_], shown: npt.NDArray[np.bool_], pairs: Ints, clusters: Ints
) -> dict[str, RaterVariance]:
    """The variance over raters of both accuracies, the gain, and the ratio of errors; every follow-up counts once in each arm."""
    weight = np.zeros(right.size)
    for arm in (shown, ~shown):
        weight[arm] = 1.0 / np.bincount(pairs[arm])[pairs[arm]]
    columns = [part * arm for arm in (shown, ~shown) for part in (weight * right, weight)]

    def over(statistic: Callable[[Floats], Floats]) -> RaterVariance:
        return sums_over_raters(columns, clusters, raters, statistic)

    return {
        "with": over(lambda sums: share_of_sums(sums[..., :2])),
        "without": over(lambda sums: share_of_sums(sums[..., 2:])),
        "gain": over(lambda sums: share_of_sums(sums[..., :2]) - share_of_sums(sums[..., 2:])),
        "nsg": over(lambda sums: (1 - share_of_sums(sums[..., :2])) / (1 - share_of_sums(sums[..., 2:]))),
        **_majorities_over_raters(raters, right, shown, pairs, clusters),
    }


def _majorities_over_raters(
    raters: Ints, right: npt.NDArray[np.bool_], shown: npt.NDArray[np.bool_], pairs: Ints, clusters: Ints
) -> dict[str, RaterVariance]:
    """The variance over raters of the shares misled and helped, from what each prediction changes with another one in its place."""
    arms = (shown, ~shown)
    hits = [np.bincount(pairs[arm & right], minlength=int(pairs.max()) + 1) for arm in arms]
    sizes = [np.bincount(pairs[arm], minlength=int(pairs.max()) + 1) for arm in arms]
    effects = {"misled": np.zeros(right.size), "helped": np.zeros(right.size)}
    size = np.zeros(right.size, dtype=np.int64)
    for number, arm in enumerate(arms):
        of, own = pairs[arm], right[arm].astype(np.int64)
        rest, half = hits[number][of] - own, sizes[number][of] / 2
        # What another prediction would have been; of a follow-up's only one, any of the arm's.
        several = np.maximum(sizes[number][of] - 1, 1)
        other = np.where(sizes[number][of] > 1, rest / several, own.mean())
        above = (rest + 1 > half).astype(np.int64) - (rest > half)
        below = (rest + 1 < half).astype(np.int64) - (rest < half)
        elsewhere, middle = hits[1 - number][of], sizes[1 - number][of] / 2
        rising, falling = ("helped", "misled") if number == 0 else ("misled", "helped")
        effects[rising][arm] = (own - other) * above * (elsewhere < middle)
        effects[falling][arm] = (own - other) * below * (elsewhere > middle)
        size[arm] = 2 * sizes[number][of] + number
    follow_ups = np.unique(pairs).size
    columns = np.stack(list(effects.values()), axis=1) / follow_ups
    return dict(zip(effects, variance_of_effects(columns, size, clusters, raters), strict=True))


def gain_difference(
    first: SimulatabilityGain,
    second: SimulatabilityGain,
    *,
    names: tuple[str, str] = ("first", "second"),
    rng: np.random.Generator,
    replicates: int = 1_000,
    permutations: int = 10_000,
) -> PairedDifference:
    """Two systems' gains compared on the instances that both have, each instance counting once.

    ``first`` and ``second`` are results of ``simulatability_gain`` on the two systems' follow-ups. The difference is that of
    the instances' mean gains, with the paired bootstrap's interval and a permutation test that swaps the two systems within instances.

    >>> one = simulatability_gain(["a", "b"], ["a", "a"], ["u", "u"], ["x", "x"], [True, False])
    >>> gain_difference(one, one, rng=np.random.default_rng(0)).difference.value
    0.0
    """
    return paired_difference(
        first.by_instance, second.by_instance, names=names, rng=rng, replicates=replicates,
        permutations=permutations, bounds=SIGNED,
    )  # fmt: skip


def _right(
    predicted: Sequence[str | None],
    real: Sequence[str | None],
    abstain: Collection[str],
    cannot_guess: Abstained,
    refusals_left_out: bool,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, int]]:
    """Shape (N,) each: which entries count and which of them are right; and why the others are left out."""

    def mask(values: list[bool]) -> npt.NDArray[np.bool_]:
        return np.array(values, dtype=bool)

    labelled = mask([value is not None for value in predicted])
    known = mask([bool(value) for value in real])
    refused = mask([value in (REFUSAL, NEITHER) for value in real]) & refusals_left_out
    abstained = mask([value in abstain for value in predicted]) & (cannot_guess == "left_out")
    counted = labelled & known & ~refused & ~abstained
    right = mask([p == r and p not in abstain for p, r in zip(predicted, real, strict=True)]) & counted
    numbers = {
        NO_LABEL: int((~labelled).sum()),
        NO_OUTPUT: int((labelled & ~known).sum()),
        REFUSED: int((labelled & refused).sum()),
        CANNOT_GUESS: int((labelled & known & ~refused & abstained).sum()),
    }
    return counted, right, {why: number for why, number in numbers.items() if number}


def _share_right(
    pairs: Ints, right: npt.NDArray[np.bool_], chosen: npt.NDArray[np.bool_], size: int
) -> tuple[Floats, Ints]:
    """Each follow-up's share of right predictions among the chosen entries (0 without any), and how many these are."""
    number = np.bincount(pairs[chosen], minlength=size)
    hits = np.bincount(pairs[chosen & right], minlength=size)
    return hits / np.maximum(number, 1), number
