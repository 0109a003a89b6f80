"""Prediction-powered estimates: few labels by people, many by a simulator, and a valid interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.agreement.bootstrap import bounds_of
from evaluation.core.estimand import THESE_ITEMS, Items, unsampled
from evaluation.core.estimate import NAN, Estimate, undefined
from evaluation.core.interval import Bounds, t_interval, too_few
from evaluation.metrics.followups import NOT_RATED, FollowUps
from evaluation.metrics.resample import Floats, Ints, codes_of
from evaluation.metrics.simulatability import PerExplanation, per_explanation


@dataclass(frozen=True, eq=False)
class PredictionPowered:
    """``estimate`` uses people and simulator, ``people`` only people; both with intervals made the same way.

    ``simulator`` is the simulator's own figure on everything (biased: never report it alone). ``tuning`` is the
    weight lambda in [0, 1] given to the simulator. ``gain`` = variance of people alone / variance of the estimate,
    ``effective_n`` = labelled * gain: as many labelled rows from people alone would give the same precision.
    """

    estimate: Estimate
    people: Estimate
    simulator: float
    tuning: float
    gain: float
    effective_n: float
    labelled: int
    unlabelled: int


@dataclass(frozen=True, eq=False)
class _Parts:
    """Arrays of one length, and which rows people labelled."""

    top: Floats
    bottom: Floats
    predicted_top: Floats
    predicted_bottom: Floats
    labelled: npt.NDArray[np.bool_]
    clusters: Ints

    @property
    def bounds(self) -> Bounds:
        """0 and 1 where the people's ratio is a share."""
        return bounds_of(self.top[self.labelled], self.bottom[self.labelled])

    def solve(self, tuning: float) -> float:
        """theta with A = theta B, A and B rectified means of the numerators and denominators."""
        a = _rectified(self.top, self.predicted_top, self.labelled, tuning)
        b = _rectified(self.bottom, self.predicted_bottom, self.labelled, tuning)
        return a / b if b > 0 else NAN

    def influence(self, theta: float) -> tuple[Floats, Floats]:
        """Each cluster's share in the error of the people's mean, and in that of the correction, at ``theta``."""
        yes, no = self.labelled, ~self.labelled
        own = np.where(yes, self.top - theta * self.bottom, 0.0)
        guess = self.predicted_top - theta * self.predicted_bottom
        size = int(self.clusters.max()) + 1
        first = np.zeros(len(own))
        second = np.zeros(len(own))
        first[yes] = (own[yes] - own[yes].mean()) / yes.sum()
        second[yes] = (guess[yes] - guess[yes].mean()) / yes.sum()
        if no.any():
            second[no] = -(guess[no] - guess[no].mean()) / no.sum()
        return _sums(self.clusters, first, size), _sums(self.clusters, second, size)

    def influence_among_these(self, theta: float) -> tuple[Floats, Floats]:
        """The same where these rows' own ratio is estimated: of the labelled rows alone.

        The simulator's mean over the N unlabelled rows minus that over the labelled is (n + N) / N times that over all rows minus that
        over the labelled, and that over all rows has no error.
        """
        yes = self.labelled
        own = np.where(yes, self.top - theta * self.bottom, 0.0)
        guess = self.predicted_top - theta * self.predicted_bottom
        shares = [np.where(yes, (part - part[yes].mean()) / yes.sum(), 0.0) for part in (own, guess)]
        first, second = (_sums(self.clusters, part, int(self.clusters.max()) + 1) for part in shares)
        return first, second

    @property
    def more(self) -> float:
        """All rows for each unlabelled one, (n + N) / N; 1 where every row is labelled."""
        others = int((~self.labelled).sum())
        return len(self.labelled) / others if others else 1.0


def _sums(clusters: Ints, values: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(clusters, weights=values, minlength=size), dtype=np.float64)


def _rectified(values: Floats, predicted: Floats, labelled: npt.NDArray[np.bool_], tuning: float) -> float:
    mean = float(values[labelled].mean())
    if tuning:
        mean += tuning * float(predicted[~labelled].mean() - predicted[labelled].mean())
    return mean


def prediction_powered_ratio(
    top: npt.ArrayLike,
    bottom: npt.ArrayLike,
    predicted_top: npt.ArrayLike,
    predicted_bottom: npt.ArrayLike,
    clusters: Sequence[str],
    *,
    tuning: float | None = None,
    items: Items = "like",
) -> PredictionPowered:
    """A ratio of means, E[top] / E[bottom], from few labelled rows and predictions of them all (PPI++).

    theta solves m_n(y) + lambda (m_N(f) - m_n(f)) = 0 with y = top - theta bottom and f = predicted_top - theta
    predicted_bottom, m_n the mean over the n rows that people labelled and m_N that over the N others. All arrays
    have shape (n + N,); ``top`` and ``bottom`` are nan where nobody labelled the row; predictions are given for
    every row and may be arbitrarily wrong. With bottoms of 1 it is PPI++ for a mean. lambda is the value in [0, 1]
    that makes the variance least, unless ``tuning`` gives it; 1 is the original method, 0 is people alone.

    The variance is the sandwich over ``clusters`` (instances), the interval a t interval with (labelled clusters -
    1) degrees of freedom. A share and its interval stay between 0 and 1: the interval is made on the logit scale, and a
    theta that the correction drives past a bound is put on it. With ``items`` *these*, the interval is for the ratio that people
    would give all n + N rows instead of for rows like these: the variance is that of the labelled rows' y - lambda (n + N) / N f, times the
    share of rows that nobody labelled (:func:`evaluation.core.estimand.unsampled`), so that its width is 0 when every row is
    labelled. lambda is then that of the labelled rows' regression of y on f, clusters are weighted as if each had been left out of it (HC3),
    and t has one degree of freedom less than there are labelled clusters, or others if they are fewer (people alone: labelled ones). It holds where the labelled rows are a random sample of all.
    Undefined where the labelled bottoms add up to 0. Sources: Angelopoulos et al. 2023 (both papers).

    >>> import numpy as np
    >>> y = [1, 0, 1, 1, np.nan, np.nan]
    >>> f = [1, 0, 1, 1, 1, 0]
    >>> found = prediction_powered_ratio(y, np.where(np.isnan(y), np.nan, 1), f, np.ones(6), list("abcdef"))
    >>> found.people.value, found.labelled, found.unlabelled
    (0.75, 4, 2)
    """
    arrays = [np.asarray(v, dtype=np.float64) for v in (top, bottom, predicted_top, predicted_bottom)]
    if any(a.shape != (len(clusters),) for a in arrays):
        raise ValueError("top, bottom, predicted_top, predicted_bottom, clusters: expected one length")
    if np.isnan(arrays[2]).any() or np.isnan(arrays[3]).any():
        raise ValueError("predicted_top, predicted_bottom: expected a number for every row")
    if tuning is not None and not 0 <= tuning <= 1:
        raise ValueError(f"tuning: expected a value in [0, 1], got {tuning}")
    labelled = ~np.isnan(arrays[0])
    if (labelled != ~np.isnan(arrays[1])).any():
        raise ValueError("top, bottom: expected nan in the same rows")
    n, others = int(labelled.sum()), int((~labelled).sum())
    total = float(arrays[3].sum())
    simulator = float(arrays[2].sum()) / total if total > 0 else NAN
    if not n or np.nansum(arrays[1]) <= 0:
        nothing = undefined("people's labels have nothing to average", n=n)
        return PredictionPowered(
            estimate=nothing,
            people=nothing,
            simulator=simulator,
            tuning=NAN,
            gain=NAN,
            effective_n=NAN,
            labelled=n,
            unlabelled=others,
        )
    parts = _Parts(arrays[0], arrays[1], arrays[2], arrays[3], labelled, codes_of(clusters)[0])
    if items not in ("like", "these"):
        raise ValueError(f"items: expected like or these, got {items!r}")
    return _estimate(parts, simulator, tuning if others else 0.0, these=items == "these")


def _estimate(parts: _Parts, simulator: float, tuning: float | None, *, these: bool) -> PredictionPowered:
    n, others = int(parts.labelled.sum()), int((~parts.labelled).sum())
    alone = parts.solve(0.0)
    own, correction = parts.influence(alone)
    chosen = tuning is None
    if tuning is None and these:
        tuning = _weight_among_these(parts, alone)
    if tuning is None:
        spread = float(correction @ correction)
        tuning = float(np.clip(own @ correction / spread, 0.0, 1.0)) if spread > 0 else 0.0
    theta = parts.solve(tuning)
    if math.isnan(theta):  # the correction made the denominator useless: fall back on people alone
        tuning, theta = 0.0, alone
    scale = _rectified(parts.bottom, parts.predicted_bottom, parts.labelled, tuning)
    clusters = len(np.unique(parts.clusters[parts.labelled]))
    variance = _variance(*parts.influence(theta), tuning, scale, clusters)
    base = float(parts.bottom[parts.labelled].mean())
    rest: int | None = None  # clusters with unlabelled rows, where these rows are estimated
    touched = np.bincount(parts.clusters[parts.labelled], minlength=len(own)) > 0
    people_variance = _variance(own[touched], correction[touched], 0.0, base, clusters)
    if these:
        left = unsampled(n, n + others)
        only = _errors_among_these(parts, theta, tuning, leverage=chosen)
        variance = left * _variance(only, correction, 0.0, scale, clusters)
        people_variance *= left
        rest = len(np.unique(parts.clusters[~parts.labelled])) if others else 0
    gain = people_variance / variance if variance > 0 and people_variance > 0 else NAN
    bounds = parts.bounds
    return PredictionPowered(
        estimate=_t_interval(min(max(theta, bounds[0]), bounds[1]), variance, n, clusters, bounds, rest=rest),
        people=_t_interval(alone, people_variance, n, clusters, bounds, rest=rest and max(rest, clusters)),
        simulator=simulator,
        tuning=tuning,
        gain=gain,
        effective_n=n * gain,
        labelled=n,
        unlabelled=others,
    )


def _weight_among_these(parts: _Parts, theta: float) -> float:
    """lambda from the regression of people's labels on the simulator's over the labelled rows."""
    own, guess = parts.influence_among_these(theta)
    spread = float(guess @ guess)
    return float(np.clip(own @ guess / spread / parts.more, 0.0, 1.0)) if spread > 0 else 0.0


def _errors_among_these(parts: _Parts, theta: float, tuning: float, *, leverage: bool) -> Floats:
    """Each labelled cluster's share in the error. With ``leverage`` as if lambda came from the other clusters: few clusters in which
    the simulator errs decide it, and fit better than others would."""
    own, guess = parts.influence_among_these(theta)
    errors = own - tuning * parts.more * guess
    spread = float(guess @ guess)
    if not leverage or not tuning > 0 or spread <= 0:
        return errors
    return np.asarray(errors / np.maximum(1 - guess * guess / spread, 0.1), dtype=np.float64)


def _variance(own: Floats, correction: Floats, tuning: float, scale: float, clusters: int) -> float:
    """Sandwich over clusters, with the small-sample factor C / (C - 1), C the labelled ones."""
    if clusters < 2:
        return NAN
    return float(((own - tuning * correction) ** 2).sum()) / scale**2 * clusters / (clusters - 1)


def _t_interval(
    value: float, variance: float, n: int, clusters: int, bounds: Bounds, *, rest: int | None
) -> Estimate:
    if rest == 0:
        return Estimate(
            value, value, value, n=n, interval=f"known: people labelled every item, {THESE_ITEMS}"
        )
    if why := too_few(clusters, "labelled instances"):
        return Estimate(value, n=n, interval=why)
    if variance <= 0:
        return Estimate(value, n=n, interval="none: all labelled values are the same")
    degrees = clusters - 1 if rest is None else max(min(clusters, rest) - 1, 1)
    low, high = t_interval(value, math.sqrt(variance), degrees_of_freedom=degrees, bounds=bounds)
    how = f"95 % t interval, sandwich variance over instances, {clusters} labelled"
    how += f", finite-population correction, {THESE_ITEMS}" if rest is not None else ""
    return Estimate(value, low, high, n=n, interval=how)


def prediction_powered_precision(
    people: FollowUps,
    simulator: FollowUps,
    *,
    micro: bool = False,
    tuning: float | None = None,
    items: Items = "like",
) -> PredictionPowered:
    """Simulation precision by people where they rated, helped by a simulator that rated everything.

    Both tables hold the same units in the same order. Rows are explanations (macro, the headline), labelled where
    people rated at least one follow-up of it; or follow-ups with a known real output (``micro``). A follow-up whose
    raters tied counts as rated and in nothing, as in ``simulatability``. A simulator without a label on a row
    predicts nothing there: that costs precision, not validity. Rate whole explanations, drawn at random. ``items`` says whether the interval is
    for these items or for items like these (``prediction_powered_ratio``).
    """
    if micro:
        return prediction_powered_ratio(*precision_columns(people, simulator), tuning=tuning, items=items)
    _check_same(people, simulator)
    own, guess = per_explanation(people), per_explanation(simulator)
    codes = people.explanation_codes
    rated = np.bincount(codes[_rated(people)], minlength=len(own)) > 0
    return prediction_powered_ratio(
        _where(rated, _precision(own)),
        _where(rated, own.known > 0),
        _precision(guess),
        guess.known > 0,
        list(own.instance),
        tuning=tuning,
        items=items,
    )


def prediction_powered_simulatable(
    people: FollowUps, simulator: FollowUps, *, tuning: float | None = None, items: Items = "like"
) -> PredictionPowered:
    """Pooled simulatable share |C*| / |C| by people, helped by a simulator; see ``prediction_powered_precision``."""
    return prediction_powered_ratio(*simulatable_columns(people, simulator), tuning=tuning, items=items)


#: Numerator and denominator by people, nan where they rated nothing; both by the simulator; instances.
Columns = tuple[Floats, Floats, Floats, Floats, list[str]]


def precision_columns(people: FollowUps, simulator: FollowUps) -> Columns:
    """The follow-ups with a known real output as rows of a ratio: right, of those that were simulatable."""
    _check_same(people, simulator)
    known = people.known
    rated = _rated(people)[known]
    return (
        _where(rated, people.right[known]),
        _where(rated, people.simulatable[known]),
        np.asarray(simulator.right[known], dtype=np.float64),
        np.asarray((simulator.simulatable & simulator.known)[known], dtype=np.float64),
        list(people.instance[known]),  # type: ignore[call-overload]
    )


def simulatable_columns(people: FollowUps, simulator: FollowUps) -> Columns:
    """All follow-ups as rows of a ratio: simulatable, of those with a label."""
    _check_same(people, simulator)
    rated = _rated(people)
    return (
        _where(rated, people.simulatable),
        _where(rated, people.labelled),
        np.asarray(simulator.simulatable, dtype=np.float64),
        np.asarray(simulator.labelled, dtype=np.float64),
        list(people.instance),
    )


def prediction_powered_label(
    people: Sequence[str | None],
    simulator: Sequence[str | None],
    label: str,
    clusters: Sequence[str],
    *,
    tuning: float | None = None,
    items: Items = "like",
) -> PredictionPowered:
    """The share of units with ``label`` by people on some units, helped by a simulator that labelled all; for labels of any task.

    One entry for each unit, all of length N: people's label (None where they gave none), the simulator's, and the unit's cluster.
    Units without the simulator's label are left out.

    >>> people, simulator = ["a", "a", "b", None, None, None], ["a", "a", "b", "a", "b", "a"]
    >>> prediction_powered_label(people, simulator, "a", list("uvwxyz")).people.value == 2 / 3
    True
    """
    own = [None if found is None else float(found == label) for found in people]
    guess = [None if found is None else float(found == label) for found in simulator]
    return prediction_powered_mean(own, guess, clusters, tuning=tuning, items=items)


def prediction_powered_mean(
    people: Sequence[float | None],
    simulator: Sequence[float | None],
    clusters: Sequence[str],
    *,
    tuning: float | None = None,
    items: Items = "like",
) -> PredictionPowered:
    """The mean number that people give, helped by a simulator: as ``prediction_powered_label``, for labels that are numbers.

    >>> prediction_powered_mean([1, 2, None], [1.5, 2, 2], ["u", "v", "w"]).people.value
    1.5
    """
    if not len(people) == len(simulator) == len(clusters):
        raise ValueError("people, simulator, clusters: expected one length")
    rows = [i for i, guess in enumerate(simulator) if guess is not None]
    top = np.array([NAN if (own := people[i]) is None else own for i in rows], dtype=np.float64)
    return prediction_powered_ratio(
        top,
        np.where(np.isnan(top), np.nan, 1.0),
        np.array([simulator[i] for i in rows], dtype=np.float64),
        np.ones(len(rows)),
        [clusters[i] for i in rows],
        tuning=tuning,
        items=items,
    )


def _check_same(people: FollowUps, simulator: FollowUps) -> None:
    if list(people.unit) != list(simulator.unit):
        raise ValueError("people, simulator: expected the same units in the same order")


def _rated(table: FollowUps) -> npt.NDArray[np.bool_]:
    return table.labelled | ~table.among("missing", {NOT_RATED})


def _where(rated: npt.NDArray[np.bool_], values: npt.ArrayLike) -> Floats:
    return np.where(rated, np.asarray(values, dtype=np.float64), np.nan)


def _precision(counts: PerExplanation) -> Floats:
    return np.nan_to_num(counts.precision)
