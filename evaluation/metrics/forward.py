"""Forward simulation: how often people predict a system's output on the same input, by what they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annotator.hit_types.base import NEITHER, REFUSAL
from evaluation.agreement.new_raters import RaterVariance
from evaluation.core.estimate import Estimate
from evaluation.metrics.paired import PairedDifference, mean_by_instance, paired_difference
from evaluation.metrics.resample import codes_of, ratio_estimate
from evaluation.metrics.simulatability import REFUSED

NO_LABEL = "without a prediction"
NO_OUTPUT = "real output not known"


@dataclass(frozen=True, eq=False)
class ForwardAccuracy:
    """``accuracy`` of each condition, and each one's ``differences`` from the control, paired over instances."""

    accuracy: Mapping[str, Estimate]
    differences: Mapping[str, PairedDifference]


def forward_accuracy(
    predicted: Sequence[str | None],
    real: Sequence[str | None],
    instance: Sequence[str],
    condition: Sequence[str],
    *,
    control: str = "",
    refusals_left_out: bool = False,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
    permutations: int = 10_000,
    unjudged: Mapping[str, float] | None = None,
    new_raters: Mapping[str, RaterVariance] | None = None,
) -> ForwardAccuracy:
    """Share of predictions that are the system's real output, for each condition; and its gain over the control.

    All sequences have one length: an entry is a rating, or an item with its aggregated label. ``predicted`` is None where there is
    no label, ``real`` None or empty where the output is not known: both are left out and counted. A real output that is a
    refusal or neither answer is never predicted, or left out and counted with ``refusals_left_out``. With ``control`` (the condition without an explanation) and ``rng``,
    ``differences`` has each other condition's mean over instances less the control's, over the instances that both
    have. Intervals draw instances; those of ``accuracy`` are for these items with ``unjudged``, each condition's share of items that nobody has judged, and for
    raters like these with ``new_raters``, its variance over raters. Source: Hase and Bansal 2020, section 3; Doshi-Velez and Kim 2017, section 3.2.

    >>> found = forward_accuracy(["a", "b", "b"], ["a", "a", "b"], ["x", "x", "y"], ["map", "none", "map"])
    >>> {name: one.value for name, one in found.accuracy.items()}
    {'map': 1.0, 'none': 0.0}
    """
    if not len(predicted) == len(real) == len(instance) == len(condition):
        raise ValueError("predicted, real, instance, condition: expected one length")
    labelled = np.array([value is not None for value in predicted], dtype=bool)
    known = np.array([bool(value) for value in real], dtype=bool)
    refused = np.array([value in (REFUSAL, NEITHER) for value in real], dtype=bool) & refusals_left_out
    counted = labelled & known & ~refused
    right = np.array([p == r for p, r in zip(predicted, real, strict=True)], dtype=bool) & counted
    clusters, _ = codes_of(instance)
    conditions, names = codes_of(condition)

    def estimate(name: str, chosen: npt.NDArray[np.bool_]) -> Estimate:
        left = {
            NO_LABEL: int((chosen & ~labelled).sum()),
            NO_OUTPUT: int((chosen & labelled & ~known).sum()),
            REFUSED: int((chosen & labelled & refused).sum()),
        }
        return ratio_estimate(
            right[chosen],
            counted[chosen],
            clusters[chosen],
            rng=rng,
            replicates=replicates,
            reason="no prediction with a known real output",
            left_out={why: number for why, number in left.items() if number},
            unjudged=(unjudged or {}).get(name),
            new_raters=(new_raters or {}).get(name),
        )

    accuracy = {name: estimate(name, conditions == code) for code, name in enumerate(names)}
    if rng is None or control not in names:
        return ForwardAccuracy(accuracy, {})
    shares = {
        name: mean_by_instance(
            np.where(counted, right, np.nan)[conditions == code],
            np.asarray(instance)[conditions == code].tolist(),
        )
        for code, name in enumerate(names)
    }
    differences = {
        name: paired_difference(
            shares[name], shares[control], names=(name, control), rng=rng, replicates=replicates,
            permutations=permutations, bounds=(0.0, 1.0),
        )
        for name in names
        if name != control
    }  # fmt: skip
    return ForwardAccuracy(accuracy, differences)
