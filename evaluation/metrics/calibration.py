"""How well a simulator's confidence matches its accuracy: Brier score, expected calibration error, reliability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate, undefined
from evaluation.core.interval import SHARE
from evaluation.metrics.resample import codes_of, ratio_estimate

#: Bins of equal width between 0 and 1.
BINS = 10
NOTHING = "no label with a confidence has a majority of people to compare with"


@dataclass(frozen=True)
class ReliabilityBin:
    """Labels whose confidence lies from ``low`` to ``high``: their mean confidence, and the share that is right."""

    low: float
    high: float
    confidence: float
    accuracy: Estimate


@dataclass(frozen=True)
class Calibration:
    """``brier``: mean squared difference of confidence and outcome. ``ece``: expected calibration error.

    ``bins`` are those with labels in them. Both scores lie in [0, 1]; 0 is best.
    """

    brier: Estimate
    ece: Estimate
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

    Brier = mean of (c - y)², and with bins of equal width ECE = Σ n_b / N · |share right in b - mean confidence in b|.
    A confidence that is nan is left out and counted. Intervals draw ``clusters`` (names of shape (N,), such as items;
    each label its own by default); the ECE has none, since resampling makes it larger. Undefined without any label.
    ``ValueError`` for unequal lengths or a confidence outside [0, 1].

    Sources: Brier, 1950, *Verification of forecasts expressed in terms of probability*; Naeini, Cooper and Hauskrecht,
    2015, *Obtaining well calibrated probabilities using Bayesian binning*.

    >>> found = calibration([0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0])
    >>> round(found.brier.value, 3), round(found.ece.value, 3)
    (0.135, 0.1)
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
        return Calibration(empty, empty, empty, empty, ())
    codes, _ = codes_of(names[known].tolist())
    place = np.minimum((sure * bins).astype(np.int64), bins - 1)

    def mean(values: npt.NDArray[np.float64], chosen: npt.NDArray[np.bool_] | None = None) -> Estimate:
        held = np.ones(sure.size, dtype=bool) if chosen is None else chosen
        return ratio_estimate(
            values[held],
            np.ones(int(held.sum())),
            codes[held],
            rng=rng,
            replicates=replicates,
            cluster_word="items",
            left_out=left if chosen is None else {},
            bounds=SHARE,
        )

    found = []
    gap = 0.0
    for number in np.unique(place).tolist():
        inside = place == number
        said, was = float(sure[inside].mean()), mean(hit, inside)
        gap += abs(was.value - said) * int(inside.sum()) / sure.size
        found.append(ReliabilityBin(number / bins, (number + 1) / bins, said, was))
    none = "no interval: resampling makes this score larger"
    return Calibration(
        brier=mean((sure - hit) ** 2),
        ece=Estimate(gap, n=int(sure.size), left_out=left, interval=none),
        accuracy=mean(hit),
        confidence=mean(sure),
        bins=tuple(found),
    )
