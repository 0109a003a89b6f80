"""Simulated studies with a control arm and known truth: raters of different skill, instances and follow-ups of different difficulty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from evaluation.core.estimate import Estimate
from evaluation.metrics import SimulatabilityGain, simulatability_gain

FIGURES = ("accuracy_with", "accuracy_without", "gain", "nsg", "misled", "helped")
#: Standard deviations on the logit scale: of instances, of follow-ups within an instance, of raters.
INSTANCE, FOLLOW_UP, RATER = 0.9, 0.7, 0.6
#: How much of an instance's or a follow-up's difficulty is the same in both arms.
SHARED = 0.7


@dataclass(frozen=True)
class GainDesign:
    """``without`` is accuracy without the explanation, ``nsg`` the share of errors that it removes; both nearly, for the average rater.

    Half of the raters see an instance's explanation, the others see none; ``k`` of each half judge each follow-up.
    """

    instances: int = 60
    follow_ups: int = 3
    k: int = 3
    raters: int = 30
    without: float = 0.5
    nsg: float = 0.4


DESIGNS: dict[str, GainDesign] = {
    **{f"60 x 3, without {share}": GainDesign(without=share) for share in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)},
    "60 x 3, without 0.7, misleading": GainDesign(without=0.7, nsg=-0.3),
    "60 x 3, without 0.7, no effect": GainDesign(without=0.7, nsg=0.0),
    "60 x 3, without 0.8, near 1 with": GainDesign(without=0.8, nsg=0.8),
    "60 x 3, without 0.7, one simulator": GainDesign(without=0.7, k=1, raters=2),
    "200 x 5, without 0.7": GainDesign(200, 5, without=0.7),
    "200 x 5, without 0.95": GainDesign(200, 5, without=0.95),
    "30 x 1, without 0.5": GainDesign(30, 1, without=0.5),
    "30 x 1, without 0.8": GainDesign(30, 1, without=0.8),
    "30 x 1, without 0.95": GainDesign(30, 1, without=0.95),
}


def draw(design: GainDesign, rng: np.random.Generator, instances: int = 0) -> tuple[Any, Any]:
    """Whether each of k judgments is right, with and without the explanation: two arrays of shape (instances, follow-ups, k).

    The raters are those of the design, always the same; instances and follow-ups are drawn anew.
    """
    number = instances or design.instances
    shape = (number, design.follow_ups)
    skill = np.random.default_rng(design.raters).normal(0, RATER, design.raters)
    order = np.argsort(rng.random((number, design.raters)), axis=1)
    half = design.raters // 2

    def difficulty(size: tuple[int, ...], spread: float) -> tuple[Any, Any]:
        common, other = rng.normal(0, spread, size), rng.normal(0, spread, size)
        return common, SHARED * common + (1 - SHARED**2) ** 0.5 * other

    of_instance, of_follow_up = difficulty((number, 1), INSTANCE), difficulty(shape, FOLLOW_UP)
    arms = []
    for arm, share in enumerate((1 - (1 - design.nsg) * (1 - design.without), design.without)):
        group = order[:, arm * half : (arm + 1) * half]
        chosen = np.argsort(rng.random((*shape, half)), axis=2)[:, :, : design.k]
        raters = np.take_along_axis(np.broadcast_to(group[:, None], (*shape, half)), chosen, axis=2)
        ease = (_level(share) + of_instance[arm] + of_follow_up[arm])[:, :, None] + skill[raters]
        arms.append(rng.random(ease.shape) < 1 / (1 + np.exp(-ease)))
    return arms[0], arms[1]


@cache
def _level(share: float) -> float:
    """The mean on the logit scale at which the average share of right predictions is ``share``."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    spread = (INSTANCE**2 + FOLLOW_UP**2 + RATER**2) ** 0.5
    low, high = -15.0, 15.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = (weights / (1 + np.exp(-(middle + spread * nodes)))).sum() / weights.sum()
        low, high = (middle, high) if mean < share else (low, middle)
    return (low + high) / 2


def truth(design: GainDesign) -> dict[str, float]:
    """The figures of 40,000 instances judged by the design's raters."""
    parts = [draw(design, rng, 4_000) for rng in np.random.default_rng(5).spawn(10)]
    p, q = (np.concatenate([part[arm].mean(axis=2) for part in parts]) for arm in (0, 1))
    with_it, without = float(p.mean()), float(q.mean())
    return {
        "accuracy_with": with_it,
        "accuracy_without": without,
        "gain": with_it - without,
        "nsg": (with_it - without) / (1 - without),
        "misled": float(((q > 0.5) & (p < 0.5)).mean()),
        "helped": float(((p > 0.5) & (q < 0.5)).mean()),
    }


def measured(design: GainDesign, rng: np.random.Generator, replicates: int) -> SimulatabilityGain:
    """``simulatability_gain`` of one study."""
    right = np.stack(draw(design, rng), axis=2)  # instance, follow-up, arm, rater
    x, f, arm, _ = (index.ravel() for index in np.indices(right.shape))
    return simulatability_gain(
        np.where(right.ravel(), "yes", "no").tolist(),
        ["yes"] * right.size,
        [f"u{a}.{b}" for a, b in zip(x.tolist(), f.tolist(), strict=True)],
        [f"x{a}" for a in x.tolist()],
        (arm == 0).tolist(),
        rng=rng,
        replicates=replicates,
    )


def coverage_of_gain(
    design: GainDesign, *, studies: int, seed: int, replicates: int
) -> dict[str, dict[str, Any]]:
    """For each figure: its truth, the share of studies with an interval, and of those the share that holds the truth."""
    values, found = truth(design), {}
    results = [measured(design, np.random.default_rng([seed, n]), replicates) for n in range(studies)]
    for figure in FIGURES:
        own: list[Estimate] = [getattr(one, figure) for one in results]
        with_one = [one for one in own if not np.isnan(one.low)]
        holds = [one.low <= values[figure] <= one.high for one in with_one]
        found[figure] = {
            "truth": values[figure],
            "intervals": len(with_one) / studies,
            "coverage": float(np.mean(holds)) if holds else None,
            "holds its estimate": all(one.low <= one.value <= one.high for one in with_one),
            "refused": sum(not one.defined for one in own) / studies,
        }
    return found
