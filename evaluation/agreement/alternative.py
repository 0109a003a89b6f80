"""Can a simulator replace people? The alternative annotator test (Calderon, Reichart and Dror, ACL 2025)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from annotator.hit_types.base import Level
from evaluation.agreement.bootstrap import DEFAULT_REPLICATES, LEAST_REPLICATES, bootstrap
from evaluation.agreement.comparison import benjamini_yekutieli
from evaluation.agreement.counts import cluster_codes, count_units
from evaluation.agreement.new_raters import for_these_raters
from evaluation.agreement.raters import count_at
from evaluation.agreement.winning_rate import WinningBounds, no_winning_interval, winning_bounds
from evaluation.core.estimate import Estimate, none_if_nan, undefined
from evaluation.core.interval import SHARE
from evaluation.core.ratings_table import Codes, Floats, Ints, Ratings

#: The fewest units with which a person takes part.
MIN_UNITS = 30
#: Rate of false discoveries over the people.
FALSE_DISCOVERIES = 0.05
DEFAULT_EPSILON = 0.2
#: Cells (cluster, person) of the largest table that is drawn from.
MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class HumanResult:
    """One person left out: on ``units`` units, how often the simulator, and the person, was at least as close to the rest.

    ``p`` tests that the person's advantage exceeds the simulator's by epsilon or more; ``adjusted_p`` holds over all
    people; ``rejected``: the simulator wins against this person.
    """

    human: str
    units: int
    simulator_advantage: float
    human_advantage: float
    p: float
    adjusted_p: float
    rejected: bool

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class AlternativeTest:
    """The test's result for one simulator.

    ``winning_rate`` is the share of people against whom the simulator wins: 0.5 or more, it may replace people. It has no interval;
    ``winning_bounds`` are its simultaneous bounds, None where none were asked for.
    ``advantage_probability`` compares simulators. ``skipped`` maps people with too few units to how many they had.
    ``left_out`` counts units by reason.
    """

    simulator: str
    epsilon: float
    winning_rate: Estimate
    advantage_probability: Estimate
    humans: tuple[HumanResult, ...] = ()
    skipped: tuple[tuple[str, int], ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)
    winning_bounds: WinningBounds | None = None

    @property
    def may_replace(self) -> bool | None:
        """Whether the winning rate reaches one half; None where it is not defined."""
        return self.winning_rate.value >= 0.5 if self.winning_rate.defined else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "simulator": self.simulator,
            "epsilon": self.epsilon,
            "winning_rate": self.winning_rate.to_dict(),
            "winning_bounds": self.winning_bounds.to_dict() if self.winning_bounds else None,
            "advantage_probability": self.advantage_probability.to_dict(),
            "may_replace": self.may_replace,
            "humans": [
                {k: none_if_nan(v) if isinstance(v, float) else v for k, v in human.to_dict().items()}
                for human in self.humans
            ],
            "skipped": [
                {"human": human, "units": units, "reason": f"fewer than {MIN_UNITS} units"}
                for human, units in self.skipped
            ],
            "left_out": dict(self.left_out),
        }


def alternative_annotator_test(
    ratings: Ratings,
    simulator: str,
    *,
    epsilon: float = DEFAULT_EPSILON,
    level: Level | None = None,
    min_units: int = MIN_UNITS,
    rng: np.random.Generator | None = None,
    replicates: int = DEFAULT_REPLICATES,
) -> AlternativeTest:
    """Test whether a simulator stands in for people at least as well as another person does.

    On units with two human raters or more and a label of the simulator, each person j with at least ``min_units`` of them
    is left out in turn. On each of j's units, the simulator and j are scored against the remaining people: nominal, the
    share of them who gave the same label; else minus the root mean square difference. The simulator has the advantage
    where its score >= j's, and j where j's >= its. Over j's n units, d = [j's advantage] - [simulator's advantage]::

        H0: E d >= epsilon,  t = (mean(d) - epsilon) / (sd(d) / sqrt(n)),  p_j = P(T_{n-1} <= t)
        winning rate = share of the people whose H0 is rejected (Benjamini-Yekutieli at 0.05 over the people)
        advantage probability = mean over the people of the simulator's share of advantages

    ``epsilon`` is the price that people may be worth more: 0.2 for experts, 0.15 for skilled people, 0.1 for a crowd.
    ``level`` defaults to the table's; numbers come from ``Ratings.numbers``. All d equal: p is 0 below epsilon, else
    1. Undefined where nobody has enough units. ``ValueError`` where the simulator is not one of the table, or
    epsilon not in [0, 1]. Equations 1 to 4 of the paper.

    With ``rng``, the advantage probability has an interval for these people and other clusters of units, which draws clusters. The
    winning rate has none, since a share of a few people has few values, and their tests aren't independent (Wilson's interval over 20
    people covered 67 % of simulated studies): it has bounds that are simultaneous over the people
    (:func:`evaluation.agreement.winning_rate.winning_bounds`).
    """
    if simulator not in ratings.simulators or simulator not in ratings.raters:
        raise ValueError(f"simulator: {simulator!r} is not a simulator of the table")
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon: expected a number from 0 to 1, got {epsilon}")
    level = level or ratings.level
    code = ratings.raters.index(simulator)
    own = np.full(len(ratings.units), -1, dtype=np.int64)
    of_simulator = ratings.rater == code
    own[ratings.unit[of_simulator]] = ratings.value[of_simulator]
    people = ratings.where(~ratings.is_simulator[ratings.rater])
    sizes = people.grouped.sizes
    left_out = {
        "units with fewer than two people": int(((sizes < 2) & (sizes + (own >= 0) > 0)).sum()),
        "units without a label of the simulator": int(((sizes >= 2) & (own < 0)).sum()),
    }
    taken = ((sizes >= 2) & (own >= 0))[people.unit]
    people = people.where(taken)
    for_person, for_simulator = _advantages(people, own, level)
    humans, skipped = _by_person(people, for_person, for_simulator, epsilon, min_units)
    found = {reason: count for reason, count in left_out.items() if count}
    if not humans:
        nobody = undefined(f"no person has {min_units} units shared with another person and {simulator}")
        return AlternativeTest(simulator, epsilon, nobody, nobody, (), skipped, found)
    wins, advantage = (
        float(np.mean([getattr(human, name) for human in humans]))
        for name in ("rejected", "simulator_advantage")
    )
    n = len(humans)
    rate, rho = Estimate(wins, n=n, interval=no_winning_interval(n)), Estimate(advantage, n=n)
    bounds: WinningBounds | None = None
    if rng is not None and replicates:
        tested = np.isin(people.rater, [ratings.raters.index(human.human) for human in humans])
        given = for_person[tested], for_simulator[tested]
        bounds, rho = _over_clusters(wins, rho, people.where(tested), given, epsilon, (rng, replicates))
    return AlternativeTest(simulator, epsilon, rate, rho, humans, skipped, found, bounds)


def _over_clusters(
    rate: float,
    rho: Estimate,
    people: Ratings,
    advantages: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]],
    epsilon: float,
    drawing: tuple[np.random.Generator, int],
) -> tuple[WinningBounds | None, Estimate]:
    """The winning rate's bounds, and the advantage probability with its interval, from clusters of the units of these people's ratings."""
    codes, _ = cluster_codes(people)
    _, cluster = np.unique(codes[people.unit], return_inverse=True)
    _, person = np.unique(people.rater, return_inverse=True)
    clusters, size = int(cluster.max()) + 1, int(person.max()) + 1
    if clusters * size > MOST_CELLS:
        why = "none: there are too many people and units to draw from"
        return None, replace(rho, interval=why)
    cell = cluster * size + person
    of_person, of_simulator = (given.astype(np.float64) for given in advantages)
    difference, share, counts = (
        np.bincount(cell, weights=weight, minlength=clusters * size)
        .reshape(clusters, size)
        .astype(np.float64)
        for weight in (of_person - of_simulator, of_simulator, np.ones(cell.size))
    )
    word = "units" if people.clusters is None else "instances"
    rng, replicates = drawing
    drawn = bootstrap(
        rho, np.hstack([share, counts]), _mean_share, rng=rng, replicates=replicates, word=word, bounds=SHARE
    )
    if replicates < LEAST_REPLICATES:  # no interval was asked for, and no bounds
        return None, drawn
    return winning_bounds(rate, difference, counts, epsilon=epsilon, word=word), for_these_raters(drawn)


def _mean_share(totals: Floats) -> Floats:
    """Mean over people of the shares of K numerators in K denominators, side by side on the last axis."""
    top, bottom = np.split(totals, 2, axis=-1)
    shares = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
    counted = (bottom > 0).sum(axis=-1)
    return np.where(counted > 0, shares.sum(axis=-1) / np.maximum(counted, 1), np.nan)


def _advantages(
    people: Ratings, simulator: Ints, level: Level
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For each human rating, whether its rater, and whether the simulator, is at least as close to the other people."""
    unit, value = people.unit, people.value
    label = simulator[unit]
    if level == "nominal":
        counts = count_units(people)
        person_score = count_at(counts, unit, value) - 1
        simulator_score = count_at(counts, unit, label) - (label == value)
        return person_score >= simulator_score, simulator_score >= person_score
    x = people.numbers
    person_loss, simulator_loss, slack = _square_losses(people, x[value], x[label])
    # Scores are minus the root of these: the same order. Rounding must not break a tie.
    return person_loss <= simulator_loss + slack, simulator_loss <= person_loss + slack


def _square_losses(people: Ratings, mine: Floats, its: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums of squared differences to the other people of the unit, of the person and of the simulator."""
    centre = float(np.median(mine)) if mine.size else 0.0
    mine, its = mine - centre, its - centre
    units = len(people.units)
    m = people.grouped.sizes[people.unit]
    first = np.bincount(people.unit, weights=mine, minlength=units)[people.unit]
    second = np.bincount(people.unit, weights=mine * mine, minlength=units)[people.unit]
    person = second - 2 * mine * first + m * mine * mine
    simulator = second - 2 * its * first + m * its * its - (its - mine) ** 2
    slack = 1e-12 * (second + m * (mine * mine + its * its))
    return person, simulator, slack


def _by_person(
    people: Ratings,
    for_person: npt.NDArray[np.bool_],
    for_simulator: npt.NDArray[np.bool_],
    epsilon: float,
    min_units: int,
) -> tuple[tuple[HumanResult, ...], tuple[tuple[str, int], ...]]:
    raters = len(people.raters)
    rater: Codes = people.rater
    n = np.bincount(rater, minlength=raters)
    human, simulator, both_square = (
        np.bincount(rater, weights=w, minlength=raters)
        for w in (for_person, for_simulator, for_person.astype(float) != for_simulator)
    )
    codes = [code for code in np.flatnonzero(~people.is_simulator) if n[code] >= max(min_units, 2)]
    p = np.array([_p_value(human[c] - simulator[c], both_square[c], int(n[c]), epsilon) for c in codes])
    adjusted = benjamini_yekutieli(p)
    results = tuple(
        HumanResult(
            people.raters[code],
            int(n[code]),
            float(simulator[code] / n[code]),
            float(human[code] / n[code]),
            float(p[index]),
            float(adjusted[index]),
            bool(adjusted[index] <= FALSE_DISCOVERIES),
        )
        for index, code in enumerate(codes)
    )
    few = np.flatnonzero(~people.is_simulator & ~np.isin(np.arange(raters), codes))
    return results, tuple((people.raters[code], int(n[code])) for code in few)


def _p_value(total: float, squares: float, n: int, epsilon: float) -> float:
    """One-sided t-test of ``mean(d) < epsilon`` from ``sum d`` and ``sum d^2`` (each d is -1, 0 or 1)."""
    mean = total / n
    variance = (squares - total * total / n) / (n - 1)
    if variance <= 0.0:
        return 0.0 if mean < epsilon else 1.0
    from scipy.special import stdtr  # imported late: it takes 5 MB, and only intervals and tests need it

    return float(stdtr(n - 1, (mean - epsilon) / (variance / n) ** 0.5))
