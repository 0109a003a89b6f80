"""A simulator's rate corrected by how often it errs: sensitivity and specificity against people, each with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import NAN, Estimate, undefined
from evaluation.core.interval import t_quantile, too_few, wilson_interval
from evaluation.metrics.followups import FollowUps
from evaluation.metrics.ppi import precision_columns, simulatable_columns
from evaluation.metrics.resample import Floats, Ints, codes_of

NOTHING = "people's labels have nothing to average"
EVERYTHING = "people labelled every row, so there is no rate of the simulator alone to correct"


@dataclass(frozen=True, eq=False)
class JudgeCorrected:
    """``estimate`` is the corrected rate, ``simulator`` the rate that it corrects: that of the rows without a label by people.

    ``sensitivity`` is the simulator's share of yes on rows where people say yes, ``specificity`` its share of no where they say no;
    both of the numerator.
    """

    estimate: Estimate
    simulator: float
    sensitivity: Estimate
    specificity: Estimate
    labelled: int
    unlabelled: int


@dataclass(frozen=True, eq=False)
class _Rate:
    """A corrected share with added rows. ``influence`` is how much each cluster moves it, ``of_added`` how much each added row does.

    ``usable``: the simulator is better than chance. ``shift``, times the square of t's quantile, moves an interval's centre.
    """

    value: float
    influence: Floats
    of_added: Floats
    usable: bool
    shift: float


def judge_corrected_rate(
    labels: npt.ArrayLike, predicted: npt.ArrayLike, clusters: Sequence[str]
) -> JudgeCorrected:
    """A share of yes by people, from a simulator's share corrected by its errors (Rogan and Gladen).

    ``labels`` and ``predicted`` of shape (N,) are 1 for yes and 0 for no; ``labels`` is nan where people gave none. See
    :func:`judge_corrected_ratio` for formula and interval.

    >>> labels = [1] * 8 + [0] * 8 + [float("nan")] * 10
    >>> found = judge_corrected_rate(labels, [1] * 6 + [0] * 10 + [1] * 3 + [0] * 7, [str(n) for n in range(26)])
    >>> round(found.estimate.value, 3)  # (.3 + 1 - 1) / (.75 + 1 - 1)
    0.4
    """
    found = np.asarray(labels, dtype=np.float64)
    ones = np.ones(np.shape(predicted))
    return judge_corrected_ratio(found, np.where(np.isnan(found), np.nan, 1.0), predicted, ones, clusters)


def judge_corrected_ratio(
    top: npt.ArrayLike,
    bottom: npt.ArrayLike,
    predicted_top: npt.ArrayLike,
    predicted_bottom: npt.ArrayLike,
    clusters: Sequence[str],
) -> JudgeCorrected:
    """The ratio of two shares by people, P[top] / P[bottom], from a simulator's shares corrected by its errors.

    All arrays have shape (N,) and hold 0 and 1; ``top`` and ``bottom`` are nan where people gave no label. Each share is, with the
    simulator's share of yes p on rows without a label, its sensitivity q1 and specificity q0 on those with one::

        theta = (p + q0 - 1) / (q0 + q1 - 1),  put between 0 and 1
        d theta = (dp + (1 - theta) dq0 - theta dq1) / (q0 + q1 - 1)

    A denominator that is 1 in every row stays 1: the ratio is then a rate. The variance counts that of all three, over ``clusters``
    (instances), in estimates to which one yes and one no more are added for q0 and q1 each and two for p, as Lang and Reiczigel add them;
    the centre of a rate's interval is moved as theirs is. The interval has t's quantile for the labelled clusters, and is cut at 0 and 1.

    It holds where the simulator errs as often on rows without a label as on those with one: where the labelled are a random sample.
    Undefined without a label, without a row that has none, where people never say yes or never no, and where q0 + q1 isn't clearly above 1
    (the simulator then says next to nothing). Sources: Rogan and Gladen, 1978; Lang and Reiczigel, 2014; Lee et al., 2025,
    *How to correctly report LLM-as-a-judge evaluations*, arXiv 2511.21140.
    """
    arrays = [np.asarray(v, dtype=np.float64) for v in (top, bottom, predicted_top, predicted_bottom)]
    if any(a.shape != (len(clusters),) for a in arrays):
        raise ValueError("top, bottom, predicted_top, predicted_bottom, clusters: expected one length")
    if any((~np.isin(a[~np.isnan(a)], (0.0, 1.0))).any() for a in arrays):
        raise ValueError("top, bottom, predicted_top, predicted_bottom: expected 0 and 1")
    if np.isnan(arrays[2]).any() or np.isnan(arrays[3]).any():
        raise ValueError("predicted_top, predicted_bottom: expected a number for every row")
    labelled = ~np.isnan(arrays[0])
    if (labelled != ~np.isnan(arrays[1])).any():
        raise ValueError("top, bottom: expected nan in the same rows")
    codes, _ = codes_of(clusters)
    n, others = int(labelled.sum()), int((~labelled).sum())
    rest = arrays[3][~labelled].sum()
    simulator = float(arrays[2][~labelled].sum() / rest) if rest else NAN
    sensitivity, specificity = (
        _share(arrays[2] == said, labelled & (arrays[0] == said), codes, word)
        for said, word in ((1.0, "yes"), (0.0, "no"))
    )
    estimate = _estimate(arrays, labelled, codes)
    return JudgeCorrected(estimate, simulator, sensitivity, specificity, n, others)


def judge_corrected_precision(people: FollowUps, simulator: FollowUps) -> JudgeCorrected:
    """Pooled precision (micro) by people where they rated, from a simulator that rated everything; the rows are those of
    :func:`evaluation.metrics.ppi.prediction_powered_precision`."""
    return judge_corrected_ratio(*precision_columns(people, simulator))


def judge_corrected_simulatable(people: FollowUps, simulator: FollowUps) -> JudgeCorrected:
    """Pooled simulatable share |C*| / |C| in the same way."""
    return judge_corrected_ratio(*simulatable_columns(people, simulator))


def _share(right: npt.NDArray[np.bool_], rows: npt.NDArray[np.bool_], codes: Ints, word: str) -> Estimate:
    """A share with Wilson's interval, for as many rows as the clusters' sandwich variance is worth."""
    n = int(rows.sum())
    if not n:
        return undefined(f"people never say {word}")
    value = float(right[rows].mean())
    found = int(np.unique(codes[rows]).size)
    if why := too_few(found, "labelled instances"):
        return Estimate(value, n=n, interval=why)
    sums = np.bincount(codes[rows], weights=(right[rows] - value) / n)
    plain = value * (1 - value) / n
    effect = max(float(sums @ sums) / plain, 1.0) if plain > 0 else n / found
    low, high = wilson_interval(value, max(round(n / effect), 2))
    how = f"95 % Wilson interval, sandwich variance over {found} instances"
    return Estimate(value, low, high, n=n, interval=how)


def _estimate(arrays: list[Floats], labelled: npt.NDArray[np.bool_], codes: Ints) -> Estimate:
    n = int(labelled.sum())
    if not n or np.nansum(arrays[1]) <= 0:
        return undefined(NOTHING, n=n)
    if labelled.all():
        return undefined(EVERYTHING, n=n)
    whole = bool((arrays[1][labelled] == 1).all() and (arrays[3] == 1).all())
    shares = [(arrays[0], arrays[2])] if whole else [(arrays[0], arrays[2]), (arrays[1], arrays[3])]
    for own, _ in shares:
        for said, word in ((1.0, "yes"), (0.0, "no")):
            if not (own[labelled] == said).any():
                return undefined(
                    f"people never say {word}, so how often the simulator errs there is unknown", n=n
                )
    adjusted = [_adjusted(own, guess, labelled, codes) for own, guess in shares]
    if not all(one.usable for one in adjusted):
        why = "the simulator's sensitivity and specificity add up to hardly more than 1, as by chance"
        return undefined(why, n=n)
    plain = [_corrected(own, guess, labelled) for own, guess in shares]
    if not plain[-1] > 0 and not whole:
        return undefined("the corrected denominator is 0", n=n)
    value = min(max(plain[0] if whole else plain[0] / plain[1], 0.0), 1.0)
    clusters = int(np.unique(codes[labelled]).size)
    if why := too_few(clusters, "labelled instances"):
        return Estimate(value, n=n, interval=why)
    centre, error = _centre(adjusted, clusters)
    low, high = max(centre - error, 0.0), min(centre + error, 1.0)
    if not low <= value <= high:
        return Estimate(value, n=n, interval="none: too few labels tell how often the simulator errs")
    how = f"95 % adjusted t interval, sandwich variance over instances, {clusters} labelled"
    return Estimate(value, low, high, n=n, interval=how)


def _centre(adjusted: list[_Rate], clusters: int) -> tuple[float, float]:
    """The middle of an interval and half its width: of a rate, or of the ratio of two."""
    quantile = t_quantile(clusters - 1)
    top = adjusted[0]
    centre, influence = top.value, np.concatenate([top.influence, top.of_added])
    if len(adjusted) == 1:
        centre += quantile**2 * top.shift
    else:
        bottom = adjusted[1]
        centre = top.value / bottom.value
        of_rows = top.influence - centre * bottom.influence
        influence = np.concatenate([of_rows, top.of_added, centre * bottom.of_added]) / bottom.value
    error = float(np.sqrt(influence @ influence * clusters / (clusters - 1)))
    return centre, quantile * error


def _corrected(own: Floats, guess: Floats, labelled: npt.NDArray[np.bool_]) -> float:
    yes, no = labelled & (own == 1), labelled & (own == 0)
    p, q1, q0 = guess[~labelled].mean(), guess[yes].mean(), 1 - guess[no].mean()
    return float((p + q0 - 1) / (q0 + q1 - 1)) if q0 + q1 != 1 else NAN


#: Rows added to the labelled yes, to the labelled no, and to those without a label, half of them said yes to.
_ADDED = (2, 2, 4)


def _adjusted(own: Floats, guess: Floats, labelled: npt.NDArray[np.bool_], codes: Ints) -> _Rate:
    """The share with the added rows, each of which is a cluster of its own."""
    parts = (labelled & (own == 1), labelled & (own == 0), ~labelled)
    size = int(codes.max()) + 1
    means, sums, spreads = [], [], []
    for rows, added in zip(parts, _ADDED, strict=True):
        total = int(rows.sum()) + added
        mean = (float(guess[rows].sum()) + added / 2) / total
        of_rows = np.bincount(codes[rows], weights=(guess[rows] - mean) / total, minlength=size)
        of_added = (np.arange(added) % 2 - mean) / total
        means.append(mean)
        sums.append((of_rows, of_added))
        spreads.append(mean * (1 - mean) / total)
    q1, wrong, p = means
    better = q1 - wrong  # q0 + q1 - 1
    by = better or NAN  # a simulator that is no better than chance corrects nothing
    value = (p - wrong) / by
    # d theta = (dp - (1 - theta) d(1 - q0) - theta dq1) / (q0 + q1 - 1)
    weights = (-value, -(1 - value), 1.0)
    of_every: Floats = np.sum(
        [weight * found for weight, (found, _) in zip(weights, sums, strict=True)], axis=0
    )
    of_added = np.concatenate([weight * found for weight, (_, found) in zip(weights, sums, strict=True)])
    error = float(np.sqrt(sum(float(np.concatenate(found) @ np.concatenate(found)) for found in sums[:2])))
    shift = 2 * (value * spreads[0] - (1 - value) * spreads[1])
    return _Rate(value, of_every / by, of_added / by, better > 2 * error, shift)
