"""The resampling plan of a report: every interval of it is made from the same draws."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from evaluation.core.estimate import NAN, Estimate
from evaluation.reports.choices import Choices


class Resampling(TypedDict):
    """What a statistic takes to make its interval: ``statistic(..., **resampling_of(choices))``."""

    rng: np.random.Generator | None
    replicates: int


def resampling_of(choices: Choices) -> Resampling:
    """The chosen seed and number of replicates; no generator where no intervals were asked for.

    Draws depend on the seed and on how many clusters are drawn from, never on what was computed before. So a figure
    that is shown in several tables has one interval, and adding a section changes no other.
    """
    rng = np.random.default_rng(choices.seed) if choices.replicates else None
    return {"rng": rng, "replicates": choices.replicates}


def as_chosen(found: Estimate, choices: Choices) -> Estimate:
    """An estimate whose interval isn't resampled (a t interval, a model's): without it where none was asked for."""
    if choices.replicates:
        return found
    return Estimate(found.value, NAN, NAN, found.n, found.reason, found.left_out, "none asked for")
