"""The resampling plan of a report: all its intervals use the same draws."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from evaluation.core.estimate import NAN, Estimate
from evaluation.reports.choices import Choices


class Resampling(TypedDict):
    """The arguments with which a statistic makes its interval: ``statistic(..., **resampling_of(choices))``."""

    rng: np.random.Generator | None
    replicates: int


def resampling_of(choices: Choices) -> Resampling:
    """The chosen seed and number of replicates; no generator if no intervals were requested.

    Draws depend only on the seed and the number of clusters, not on earlier computations. So a figure that is shown in
    several tables has the same interval in each, and adding a section doesn't change others.
    """
    rng = np.random.default_rng(choices.seed) if choices.replicates else None
    return {"rng": rng, "replicates": choices.replicates}


def as_chosen(found: Estimate, choices: Choices) -> Estimate:
    """An estimate whose interval isn't resampled (a t interval, a model's): without the interval if none was requested."""
    if choices.replicates:
        return found
    return Estimate(found.value, NAN, NAN, found.n, found.reason, found.left_out, "none asked for")
