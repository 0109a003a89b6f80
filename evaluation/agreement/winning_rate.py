"""Simultaneous bounds of the alternative annotator test's winning rate, which has no 95 % interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.agreement.comparison import holm
from evaluation.agreement.new_raters import THESE_RATERS
from evaluation.core.interval import LEAST_CLUSTERS, LEVEL
from evaluation.core.ratings_table import Floats


@dataclass(frozen=True)
class WinningBounds:
    """Of these people, the shares that are ``at_least`` and ``at_most`` worth less than epsilon more than the simulator.

    Both hold together in 95 % of studies or more, in most designs in nearly all: they are bounds and no 95 % interval. ``how`` says
    how they were made.

    >>> WinningBounds(0.5, 1.0, "Holm's tests").to_dict()
    {'at_least': 0.5, 'at_most': 1.0, 'how': "Holm's tests"}
    """

    at_least: float
    at_most: float
    how: str

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def no_winning_interval(people: int) -> str:
    """Why the winning rate of so many people has no interval.

    The rate counts rejections, one for each person. Its expectation isn't the share of people who are worth less than epsilon more: in
    simulated panels in which that is .6, the mean rate was .02. And a share of a few people has few values, so that an
    interval covers far more or far less than 95 % of studies (``docs/validation.md``).

    >>> no_winning_interval(3)
    'none: a share of 3 people has 4 possible values, too few for 95 %; it has simultaneous bounds instead'
    """
    of = "1 person" if people == 1 else f"{people} people"
    return f"none: a share of {of} has {people + 1} possible values, too few for 95 %; it has simultaneous bounds instead"


def winning_bounds(
    rate: float, differences: Floats, counts: Floats, *, epsilon: float, word: str
) -> WinningBounds:
    """Simultaneous bounds of the share of these people who are worth less than ``epsilon`` more than the simulator.

    ``differences`` and ``counts`` of shape (C, K) hold the sums of d, the person's advantage minus the simulator's, and how many units
    that is, by cluster and person. ``rate`` is the share of people for whom a test finds E d < epsilon, from 0 to 1; the bounds
    are widened to include it. People of whom E d < epsilon is certain are the lower bound, all but those of whom the reverse is
    certain the upper one. Certain is what Holm's correction over the people keeps at 2.5 % on each side, so that both bounds
    together hold for 95 % of studies or more, however the people's tests depend on each other::

        t = (mean d - epsilon) / se,   se^2 = C / (C - 1) sum over clusters (sum d - n mean d)^2 / N^2

    over a person's C clusters, with one unit more on which d speaks against the finding, since few units may show none. With fewer
    than 8 clusters nothing is certain of a person. As a share of a few people has few values, the bounds hold more often
    than 95 %, and are no 95 % interval. Holm (1979).

    >>> d = np.column_stack([np.zeros(40), np.ones(40)])
    >>> found = winning_bounds(0.5, d, np.ones_like(d), epsilon=0.2, word="units")
    >>> found.at_least, found.at_most
    (0.5, 0.5)
    """
    people = counts.shape[1]
    wins, losses = (
        sum(holm(_p_values(differences, counts, epsilon, sign)) <= (1 - LEVEL) / 2) for sign in (1, -1)
    )
    how = (
        f"simultaneous bounds, Holm's tests over {people} people and {counts.shape[0]} {word}, {THESE_RATERS}"
    )
    return WinningBounds(float(min(wins / people, rate)), float(max(1 - losses / people, rate)), how)


def _p_values(differences: Floats, counts: Floats, epsilon: float, sign: int) -> Floats:
    """Of each person: that E d is below epsilon (``sign`` 1), or at or above it (-1), by a one-sided t-test over clusters."""
    from scipy.special import stdtr

    # One cluster more, of one unit that speaks against the finding.
    sums = np.vstack([differences, np.full((1, differences.shape[1]), float(sign))])
    units = np.vstack([counts, np.ones((1, counts.shape[1]))])
    clusters = (units > 0).sum(axis=0)
    mean = sums.sum(axis=0) / units.sum(axis=0)
    squares = ((sums - units * mean) ** 2).sum(axis=0) / units.sum(axis=0) ** 2
    error = np.sqrt(clusters / np.maximum(clusters - 1, 1) * squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(np.maximum(clusters - 2, 1), sign * (mean - epsilon) / error)
    return np.where((clusters - 1 < LEAST_CLUSTERS) | np.isnan(p), 1.0, p)
