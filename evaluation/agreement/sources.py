"""Where disagreement comes from: what each rating, and so each item, system or rater, contributes to a low alpha or kappa."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.agreement.counts import count_units, pairs_within
from evaluation.agreement.krippendorff import (
    ALL_SAME,
    NO_PAIR,
    expected_difference,
    krippendorff_alpha,
    midranks,
    ratio_difference,
    scale_of,
)
from evaluation.agreement.pairs import pair_positions
from evaluation.core.estimate import NAN, Estimate, undefined
from evaluation.core.ratings_table import Codes, Floats, Ints, Ratings

#: Of so many groups, those that contribute the most, the coefficient is computed again without each.
LEFT_OUT = 25
NONE_LEFT = "without it, no unit has two ratings"
NO_DISAGREEMENT = "no two ratings that can be compared differ"
NO_SHARED = "no person has rated a unit that the simulator has rated"
NO_SHARED_LEFT = "without it, no person has rated a unit that the simulator has rated"


@dataclass(frozen=True, eq=False)
class Contribution:
    """What one group contributes. ``part`` is its share of the observed disagreement, ``size`` its share of the ratings that count, and
    ``n`` their number; ``lost`` is ``part`` times one minus the coefficient: how much of the way to perfect agreement it takes.
    ``without`` is the coefficient without it, undefined where it wasn't computed. ``part`` is nan where there is no disagreement, and it and
    ``lost`` are nan where the coefficient is undefined: ``reason`` says so."""

    code: int
    part: float
    size: float
    n: int
    lost: float
    without: Estimate
    reason: str = ""

    @property
    def excess(self) -> float:
        """Its disagreement relative to its size: 1 if it disagrees as much as all ratings do."""
        return self.part / self.size if self.size else NAN


@dataclass(frozen=True, eq=False)
class Disagreement:
    """The observed disagreement behind a coefficient, by rating.

    ``contribution`` of shape (N,), in the order of the table's ratings, sums up to one minus the coefficient; it's 0 for a rating that can't be
    compared, and ``counts`` is False for it. ``again`` computes the coefficient on some of the ratings.
    """

    ratings: Ratings
    coefficient: Estimate
    contribution: Floats
    counts: npt.NDArray[np.bool_]
    again: Callable[[npt.NDArray[np.bool_]], Estimate]

    def by(self, codes: Ints | Codes, size: int, *, most: int = LEFT_OUT) -> list[Contribution]:
        """What each group of ratings contributes, the most first; groups without a rating that counts are left out.

        ``codes`` of shape (N,) are the groups of the ratings from 0 to ``size - 1``, -1 for none. ``without`` is computed for the first
        ``most`` groups: each takes as long as the coefficient does.
        """
        if codes.shape != self.contribution.shape:
            raise ValueError(f"codes: expected shape {self.contribution.shape}, got {codes.shape}")
        kept = self.counts & (codes >= 0)
        lost = np.bincount(codes[kept], weights=self.contribution[kept], minlength=size)
        n = np.bincount(codes[kept], minlength=size)
        total, every = float(self.contribution.sum()), max(int(self.counts.sum()), 1)
        order = np.lexsort((np.arange(size), -n, -lost))
        found = []
        for place, code in enumerate(order[n[order] > 0].tolist()):
            without = self._without(codes != code) if place < most else undefined("not computed")
            part = float(lost[code] / total) if not self.undivided else NAN
            own = float(lost[code]) if self.coefficient.defined else NAN
            share = float(n[code] / every)
            found.append(Contribution(code, part, share, int(n[code]), own, without, self.undivided))
        return found

    @property
    def undivided(self) -> str:
        """Why there are no shares of the disagreement; empty if there are."""
        if not self.coefficient.defined:
            return self.coefficient.reason
        return "" if self.contribution.sum() > 0 else NO_DISAGREEMENT

    def _without(self, kept: npt.NDArray[np.bool_]) -> Estimate:
        if not self.coefficient.defined:
            return undefined(self.coefficient.reason)
        found = self.again(kept)
        why = {NO_PAIR: NONE_LEFT, NO_SHARED: NO_SHARED_LEFT}.get(found.reason)
        return undefined(why) if why else found


def disagreement_of(ratings: Ratings) -> Disagreement:
    """Split the disagreement behind Krippendorff's alpha, at the table's level, among the ratings.

    Alpha is ``1 - Do / De``. With the expected disagreement De fixed, rating i of unit u, which has m_u ratings in all, contributes
    ``c_i = 1 / (n De (m_u - 1)) sum_j d(i, j)^2`` over the other ratings j of u: n ratings can be compared, and the sum of c over them is
    1 - alpha. Sums over the ratings of a unit, a system or a rater are what these contribute; each pair of ratings is divided equally
    between both.

    Where alpha is undefined, contributions are 0, with alpha's reason. Time is linear in the ratings, at ratio level in the pairs of different
    labels of a unit. Krippendorff (2011), "Computing Krippendorff's alpha-reliability", for Do and De; the split follows from them.

    >>> rows = [("a", "u", "yes"), ("b", "u", "no"), ("a", "v", "yes"), ("b", "v", "yes")]
    >>> found = disagreement_of(Ratings.from_rows(rows))
    >>> found.coefficient.value, found.contribution.tolist()  # of the rows in their order
    (0.0, [0.5, 0.5, 0.0, 0.0])
    """
    sizes = np.bincount(ratings.unit, minlength=len(ratings.units))[ratings.unit]
    counts = sizes >= 2
    alpha = krippendorff_alpha(ratings)
    contribution = np.zeros(len(ratings))
    if alpha.defined:
        per_label = np.bincount(ratings.value[counts], minlength=len(ratings.labels)).astype(np.int64)
        scale = (
            midranks(per_label) if ratings.level == "ordinal" else scale_of(ratings, ratings.level, per_label)
        )
        n = int(per_label.sum())
        expected = float(expected_difference(per_label, ratings.level, scale)) / (n - 1)
        each = _differences(ratings, scale)
        contribution = np.divide(each, (sizes - 1) * expected, out=contribution, where=counts)
    return Disagreement(
        ratings, alpha, contribution, counts, lambda kept: krippendorff_alpha(ratings.where(kept))
    )


def _differences(ratings: Ratings, scale: Floats) -> Floats:
    """Shape (N,): ``sum_j d(i, j)^2`` over the ratings of i's unit."""
    unit, units = ratings.unit, len(ratings.units)
    sizes = np.bincount(unit, minlength=units)
    if ratings.level in ("ordinal", "interval"):
        x = scale[ratings.value]
        first = np.bincount(unit, weights=x, minlength=units)
        second = np.bincount(unit, weights=x * x, minlength=units)
        return np.maximum(sizes[unit] * x * x - 2 * x * first[unit] + second[unit], 0.0)
    counts = count_units(ratings)
    labels = max(len(ratings.labels), 1)
    cell = np.searchsorted(
        counts.unit * labels + counts.label, unit.astype(np.int64) * labels + ratings.value
    )
    if ratings.level == "nominal":
        return (sizes[unit] - counts.count[cell]).astype(np.float64)
    by_cell = np.zeros(counts.unit.size)
    start = np.concatenate(([0], np.cumsum(np.bincount(counts.unit, minlength=units)))).astype(np.int64)
    for i, j in pairs_within(start):
        far = ratio_difference(scale[counts.label[i]], scale[counts.label[j]])
        by_cell += np.bincount(i, weights=counts.count[j] * far, minlength=by_cell.size)
        by_cell += np.bincount(j, weights=counts.count[i] * far, minlength=by_cell.size)
    return by_cell[cell]


def disagreement_with(ratings: Ratings, simulator: str) -> Disagreement:
    """Split the disagreement of people with a simulator among people's ratings.

    The coefficient is Cohen's kappa over all pairs of a person's rating and the simulator's rating of one unit, pooled: ``1 - Do / De`` with Do the
    mean of ``d(i, s)^2`` over the n pairs, and De that of all combinations of a person's and a simulator's label of the pairs. d is that of
    the table's level: [k != l] if nominal, else the difference of labels' numbers as kappa with quadratic weights has them (:func:`pair_positions`:
    their scores, else ranks in the declared order if ordinal, else the labels themselves).
    A person's rating contributes ``d(i, s)^2 / (n De)``; the sum is 1 - kappa. ``n`` counts the pairs.

    Undefined where no person has rated a unit of the simulator's, and where all labels of the pairs are the same. ``ValueError`` for a name
    that isn't a rater's. Cohen (1968), "Weighted kappa".

    >>> rows = [("a", "u", "yes"), ("m", "u", "no"), ("a", "v", "yes"), ("m", "v", "yes"), ("a", "w", "no"), ("m", "w", "no")]
    >>> found = disagreement_with(Ratings.from_rows(rows, simulators=["m"]), "m")
    >>> round(found.coefficient.value, 3), found.contribution.round(3).tolist()  # Do = 1/3, De = (2 * 2 + 1 * 1) / 9
    (0.4, [0.6, 0.0, 0.0, 0.0, 0.0, 0.0])
    """
    if simulator not in ratings.raters:
        raise ValueError(f"raters: {simulator!r} is not in the table")
    own = ratings.rater == ratings.raters.index(simulator)
    given = np.full(len(ratings.units), -1, dtype=np.int64)
    given[ratings.unit[own]] = ratings.value[own]
    said = given[ratings.unit]
    counts = ~ratings.is_simulator[ratings.rater] & (said >= 0)
    positions = np.zeros(len(ratings.labels)) if ratings.level == "nominal" else _positions(ratings)

    def kappa(kept: npt.NDArray[np.bool_]) -> tuple[Estimate, Floats]:
        used = counts & kept
        each = np.zeros(len(ratings))
        n = int(used.sum())
        if not n:
            return undefined(NO_SHARED), each
        one, other = ratings.value[used], said[used]
        if ratings.level == "nominal":
            size = len(ratings.labels)
            far = (one != other).astype(np.float64)
            expected = 1 - float(np.bincount(one, minlength=size) @ np.bincount(other, minlength=size)) / n**2
        else:
            x, y = positions[one], positions[other]
            far = (x - y) ** 2
            expected = float(x.var() + y.var() + (x.mean() - y.mean()) ** 2)
        if expected <= 0:
            return undefined(ALL_SAME, n=n), each
        each[used] = far / (n * expected)
        return Estimate(1.0 - float(each.sum()), n=n), each

    coefficient, contribution = kappa(np.ones(len(ratings), dtype=bool))
    return Disagreement(ratings, coefficient, contribution, counts, lambda kept: kappa(kept)[0])


def _positions(ratings: Ratings) -> Floats:
    """Shape (labels,): where labels lie for quadratic weights, counted from a middle one so that squares lose nothing."""
    numbers = pair_positions(ratings, "quadratic")
    return numbers - np.median(numbers) if numbers.size else numbers


def group_codes(of_unit: Sequence[str], ratings: Ratings) -> tuple[Ints, list[str]]:
    """Groups of ratings from a name for each unit: codes of shape (N,), -1 where the name is empty, and the names.

    >>> table = Ratings.from_rows([("a", "u", "yes"), ("a", "v", "no")])
    >>> group_codes(["owl", ""], table)[0].tolist(), group_codes(["owl", ""], table)[1]
    ([0, -1], ['owl'])
    """
    names = sorted(set(of_unit) - {""})
    place = {name: code for code, name in enumerate(names)}
    codes = np.array([place.get(name, -1) for name in of_unit], dtype=np.int64)
    return codes[ratings.unit], names
