"""The interval of the alternative annotator test's winning rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evaluation.agreement.comparison import holm
from evaluation.agreement.new_raters import THESE_RATERS
from evaluation.core.estimate import Estimate
from evaluation.core.interval import LEAST_CLUSTERS, LEVEL
from evaluation.core.ratings_table import Floats


def add_winning_interval(
    rate: Estimate, differences: Floats, counts: Floats, *, epsilon: float, word: str
) -> Estimate:
    """Add the 95 % interval of the share of these people who are worth less than ``epsilon`` more than the simulator.

    ``differences`` and ``counts`` of shape (C, K) hold the sums of d, the person's advantage minus the simulator's, and how many units
    that is, by cluster and person. The rate is the share of people for whom a test finds E d < epsilon. Its interval is for the share for
    whom this is so: people for whom it is certain are its low end, all but those for whom the reverse is certain its high
    one. Certain is what Holm's correction over the people keeps at 2.5 % on each side, so that both ends together hold for 95 % of
    studies or more, however the people's tests depend on each other::

        t = (mean d - epsilon) / se,   se^2 = C / (C - 1) sum over clusters (sum d - n mean d)^2 / N^2

    over a person's C clusters, with one unit more on which d speaks against the finding, since few units may show none. With fewer
    than 8 clusters nothing is certain of a person. As a share of a few people has few values, the interval covers more often
    than 95 % unless several people are about ``epsilon`` apart from the simulator. Holm (1979).

    >>> d = np.column_stack([np.zeros(40), np.ones(40)])
    >>> found = add_winning_interval(Estimate(0.5, n=2), d, np.ones_like(d), epsilon=0.2, word="units")
    >>> found.low, found.high
    (0.5, 0.5)
    """
    people = counts.shape[1]
    wins, losses = (
        sum(holm(_p_values(differences, counts, epsilon, sign)) <= (1 - LEVEL) / 2) for sign in (1, -1)
    )
    low, high = min(wins / people, rate.value), max(1 - losses / people, rate.value)
    how = f"95 % simultaneous interval, Holm's tests over {people} people and {counts.shape[0]} {word}, {THESE_RATERS}"
    return replace(rate, low=float(low), high=float(high), interval=how)


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
