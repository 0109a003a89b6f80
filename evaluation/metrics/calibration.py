"""How well confidence matches accuracy: Brier score and its parts, expected calibration error, area under the ROC curve."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import NOT_ASKED, Estimate, undefined
from evaluation.core.interval import SHARE, t_interval, too_few
from evaluation.metrics.resample import codes_of, ratio_estimate

#: At most this many bins of about equal numbers of labels.
BINS = 10
NOTHING = "no label has both a confidence and something to compare it with"
_NO_INTERVAL = "no interval: resampling makes this score larger"
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ReliabilityBin:
    """Labels whose confidence lies from ``low`` to ``high``: their mean confidence, and the share that is right."""

    low: float
    high: float
    confidence: float
    accuracy: Estimate


@dataclass(frozen=True)
class Calibration:
    """``brier``: mean squared difference of confidence and outcome. ``ece``: expected calibration error. ``auc``: area under
    the ROC curve.

    ``brier`` is ``reliability`` - ``resolution`` + ``uncertainty`` + ``within``. ``bins`` are those with labels in them, in
    the order of their confidence. Brier score, its parts (but ``within``, which may be negative), ECE and AUC lie in [0, 1].
    """

    brier: Estimate
    reliability: Estimate
    resolution: Estimate
    uncertainty: Estimate
    within: Estimate
    ece: Estimate
    auc: Estimate
    accuracy: Estimate
    confidence: Estimate
    bins: tuple[ReliabilityBin, ...]


def calibration(
    confidence: npt.ArrayLike,
    right: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    bins: int = BINS,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> Calibration:
    """How well confidences of shape (N,) in [0, 1] predict whether labels are right (N,) (1 or 0).

    Brier = mean of (c - y)². With bins b of n_b labels, mean confidence c_b and share right y_b:

    - ECE = Σ n_b / N · |y_b - c_b|;
    - reliability = Σ n_b / N · (c_b - y_b)², resolution = Σ n_b / N · (y_b - y)², uncertainty = y · (1 - y) (Murphy);
    - within = what confidences that differ within bins add: their variance less twice their covariance with the outcome
      (Stephenson, Coelho and Jolliffe). It is 0 where each bin has one confidence.

    Bins have about equal numbers of labels and never separate equal confidences; up to ``bins`` different confidences have a bin
    each. The AUC is the chance that a label that is right has a higher confidence than one that is wrong, ties counting half.

    A confidence that is nan is left out and counted. Intervals are by ``clusters`` (names of shape (N,), such as instances;
    each label its own by default): they are drawn for the Brier score, and Obuchowski's for the AUC. ECE, reliability and resolution
    have none, since resampling makes them larger. Undefined without any label; the AUC and the resolution also where all are
    right or all are wrong. ``ValueError`` for unequal lengths or a confidence outside [0, 1].

    Sources: Brier, 1950, *Verification of forecasts expressed in terms of probability*; Murphy, 1973, *A new vector partition
    of the probability score*; Stephenson, Coelho and Jolliffe, 2008, *Two extra components in the Brier score decomposition*;
    Naeini, Cooper and Hauskrecht, 2015, *Obtaining well calibrated probabilities using Bayesian binning*; Obuchowski, 1997,
    *Nonparametric analysis of clustered ROC curve data*.

    >>> found = calibration([0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0])
    >>> round(found.brier.value, 3), round(found.ece.value, 3), found.auc.value
    (0.135, 0.1, 0.8333333333333334)
    >>> round(found.reliability.value, 4), round(found.resolution.value, 4), round(found.uncertainty.value, 4)
    (0.01, 0.0625, 0.1875)
    """
    sure, hit = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    names = np.arange(sure.size).astype(str) if clusters is None else np.asarray(clusters).astype(str)
    if sure.ndim != 1 or not sure.shape == hit.shape == names.shape:
        raise ValueError("confidence, right, clusters: expected one length")
    known = ~np.isnan(sure)
    left = {"without a confidence": int((~known).sum())} if not known.all() else {}
    sure, hit = sure[known], hit[known]
    if ((sure < 0) | (sure > 1)).any():
        raise ValueError("confidence: expected numbers from 0 to 1")
    if not sure.size:
        empty = undefined(NOTHING, left_out=left)
        return Calibration(empty, empty, empty, empty, empty, empty, empty, empty, empty, ())
    codes, _ = codes_of(names[known].tolist())
    place = equal_mass(sure, bins)

    def mean(values: Floats, chosen: npt.NDArray[np.bool_] | None = None) -> Estimate:
        held = np.ones(sure.size, dtype=bool) if chosen is None else chosen
        return ratio_estimate(
            values[held],
            np.ones(int(held.sum())),
            codes[held],
            rng=rng,
            replicates=replicates,
            cluster_word="instances",
            left_out=left if chosen is None else {},
            bounds=SHARE,
        )

    found = [
        ReliabilityBin(float(sure[inside].min()), float(sure[inside].max()), float(sure[inside].mean()), mean(hit, inside))
        for inside in (place == number for number in range(int(place.max()) + 1))
    ]  # fmt: skip
    share = np.bincount(place) / sure.size
    said, was = (np.bincount(place, weights=values) / np.bincount(place) for values in (sure, hit))
    overall = float(hit.mean())
    reliability = float(share @ (said - was) ** 2)
    resolution, uncertainty = float(share @ (was - overall) ** 2), overall * (1 - overall)
    brier = mean((sure - hit) ** 2)

    def plain(value: float) -> Estimate:
        return Estimate(value, n=int(sure.size), left_out=left, interval=_NO_INTERVAL)

    alike = f"all labels are {'right' if overall else 'wrong'}"
    return Calibration(
        brier=brier,
        reliability=plain(reliability),
        resolution=plain(resolution) if uncertainty else undefined(alike, n=int(sure.size), left_out=left),
        uncertainty=plain(uncertainty),
        within=plain(brier.value - (reliability - resolution + uncertainty)),
        ece=plain(float(share @ np.abs(said - was))),
        auc=_auc(sure, hit > 0.5, codes, left, asked=rng is not None and replicates > 0)
        if uncertainty
        else undefined(alike, n=int(sure.size), left_out=left),
        accuracy=mean(hit),
        confidence=mean(sure),
        bins=tuple(found),
    )


def equal_mass(values: npt.ArrayLike, bins: int) -> Codes:
    """The bin of each value (N,), from 0, without gaps: at most ``bins``, of about equal numbers of values.

    Equal values are in one bin; up to ``bins`` different values have a bin each. More are divided by the middle of their ranks.

    >>> equal_mass([0.1, 0.9, 0.5, 0.9], 10).tolist(), equal_mass([0.1, 0.2, 0.3, 0.4], 2).tolist()
    ([0, 2, 1, 2], [0, 0, 1, 1])
    """
    _, own, sizes = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    if sizes.size <= bins:
        return own.astype(np.int64)
    middle = (np.cumsum(sizes) - sizes / 2) / own.size
    _, place = np.unique((middle * bins).astype(np.int64), return_inverse=True)
    return place[own].astype(np.int64)


def _auc(
    sure: Floats, hit: npt.NDArray[np.bool_], codes: Codes, left: Mapping[str, int], *, asked: bool
) -> Estimate:
    """The area under the ROC curve, with Obuchowski's interval by clusters on the scale of logits."""
    right, wrong = np.sort(sure[hit]), np.sort(sure[~hit])
    m, n = right.size, wrong.size

    def below(values: Floats, others: Floats) -> Floats:
        """The share of the others that each value is greater than, ties counting half."""
        ranks = np.searchsorted(others, values, "left") + np.searchsorted(others, values, "right")
        return ranks / (2 * others.size)

    own = np.empty(sure.size)
    own[hit], own[~hit] = below(sure[hit], wrong), 1 - below(sure[~hit], right)
    value = float(own[hit].mean())
    clusters = int(codes.max()) + 1
    varied = min(np.unique(codes[hit]).size, np.unique(codes[~hit]).size)
    none = "" if asked else NOT_ASKED
    none = none or too_few(
        varied, "instances with labels that are right, and as many with labels that are wrong,"
    )
    if none or value in SHARE:
        reason = none or "none: confidence separates all labels that are right from all that are wrong"
        return Estimate(value, n=int(sure.size), left_out=left, interval=reason)
    sums = [
        np.bincount(codes[chosen], weights=own[chosen] - value, minlength=clusters) for chosen in (hit, ~hit)
    ]
    of_right, of_wrong = (np.unique(codes[chosen]).size for chosen in (hit, ~hit))
    variance = of_right / (of_right - 1) * float(sums[0] @ sums[0]) / m**2
    variance += of_wrong / (of_wrong - 1) * float(sums[1] @ sums[1]) / n**2
    variance += 2 * clusters / (clusters - 1) * float(sums[0] @ sums[1]) / (m * n)
    error = math.sqrt(max(variance, 0.0))
    low, high = t_interval(value, error, degrees_of_freedom=varied - 1, bounds=SHARE)
    return Estimate(
        value, low, high, n=int(sure.size), left_out=left, interval="95 % t interval, Obuchowski's variance"
    )  # fmt: skip
