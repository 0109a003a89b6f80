"""The restricted likelihood of a model with crossed random effects of units and raters, from sums over units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evaluation.core.ratings_table import Floats, Ints, Ratings

#: A smaller share is 0.
_ZERO = 1e-10
#: Where the search begins, and where it ends.
_START, _MOST = 0.5, 1 - 1e-9
_STEP = 1e-30
#: Units whose raters are counted at once: bounds the memory.
_BLOCK = 4_096
#: Cells of the posterior's grid along each axis, and how far below its peak it ends (in logarithms).
_CELLS, _DEPTH = 40, 12.0


@dataclass(frozen=True)
class _Class:
    """Sums over the units with one number of ratings: how many they are, and of them the squared sums of numbers, the sums,
    and by rater how often each rated them, the sums of the units' sums, and how often each two of them rated one unit.
    """

    units: float
    squares: float
    sums: float
    given: Floats
    given_sums: Floats
    shared: Floats

    def plus(self, other: _Class, sign: float) -> _Class:
        return _Class(
            *(getattr(self, name) + sign * getattr(other, name) for name in self.__dataclass_fields__)
        )


@dataclass(frozen=True, eq=False)
class Deviance:
    """What the likelihood of some units needs, so that those of several groups of units can be added and subtracted.

    ``classes`` has the sums by number of ratings; ``n`` counts ratings, ``total`` and ``squares`` are the sums of numbers and of their
    squares, ``by_rater`` those of each rater. Numbers are centred. ``named`` is False where the model has no part of raters.
    """

    classes: Mapping[int, _Class]
    n: float
    total: float
    squares: float
    by_rater: Floats
    named: bool = True

    @classmethod
    def of(cls, ratings: Ratings, units: Ints, *, named: bool = True) -> Deviance:
        """The sums of some units, given by their codes."""
        grouped = ratings.grouped
        numbers = ratings.numbers
        centre = float(numbers[ratings.value].mean())
        raters = len(ratings.raters) if named else 0
        chosen = np.zeros(len(ratings.units), dtype=bool)
        chosen[units] = True
        classes: dict[int, _Class] = {}
        for size in np.unique(grouped.sizes[units]):
            if not size:
                continue
            rows = grouped.start[np.flatnonzero(chosen & (grouped.sizes == size))][:, None] + np.arange(size)
            y = numbers[grouped.value[rows]] - centre
            sums = y.sum(axis=1)
            given, given_sums, shared = np.zeros(raters), np.zeros(raters), np.zeros((raters, raters))
            if named:
                for start in range(0, len(rows), _BLOCK):
                    rater = grouped.rater[rows[start : start + _BLOCK]]
                    incidence = np.zeros((len(rater), raters))
                    np.put_along_axis(incidence, rater.astype(np.int64), 1.0, axis=1)
                    given += incidence.sum(axis=0)
                    given_sums += sums[start : start + _BLOCK] @ incidence
                    shared += incidence.T @ incidence
            classes[int(size)] = _Class(
                float(len(sums)), float((sums**2).sum()), float(sums.sum()), given, given_sums, shared
            )
        kept = chosen[ratings.unit]
        y = numbers[ratings.value[kept]] - centre
        by_rater = np.bincount(ratings.rater[kept], weights=y, minlength=raters) if named else np.zeros(0)
        return cls(
            classes, float(y.size), float(y.sum()), float((y**2).sum()), by_rater.astype(np.float64), named
        )

    def __add__(self, other: Deviance) -> Deviance:
        return self._joined(other, 1.0)

    def __sub__(self, other: Deviance) -> Deviance:
        return self._joined(other, -1.0)

    def _joined(self, other: Deviance, sign: float) -> Deviance:
        classes = dict(self.classes)
        for size, sums in other.classes.items():
            mine = classes.get(size) or sums.plus(sums, -1.0)
            classes[size] = mine.plus(sums, sign)
        return Deviance(
            {size: sums for size, sums in classes.items() if sums.units > 0.5},
            self.n + sign * other.n,
            self.total + sign * other.total,
            self.squares + sign * other.squares,
            self.by_rater + sign * other.by_rater,
            self.named,
        )

    @property
    def per_unit(self) -> float:
        """Mean number of ratings of a unit."""
        return self.n / sum(sums.units for sums in self.classes.values())

    @property
    def per_rater(self) -> float:
        """Mean number of ratings of a rater who rated anything."""
        given = sum((sums.given for sums in self.classes.values()), np.zeros(self.by_rater.size))
        return self.n / max(int((given > 0.5).sum()), 1)

    @cached_property
    def _stacked(self) -> tuple[Floats, ...]:
        """By class: number of ratings, units, squares, sums; by class and rater the counts and sums; by class and pair of raters."""
        sizes = np.array(list(self.classes), dtype=np.float64)
        names = ("units", "squares", "sums", "given", "given_sums", "shared")
        return sizes, *(np.stack([getattr(one, name) for one in self.classes.values()]) for name in names)

    def within(self, unit: Any) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
        """With W = I + unit Z Z' of units: log |W|, 1'W^-1 1, 1'W^-1 y, y'W^-1 y, and by rater those with 1, y and the raters."""
        size, units, squares, sums, given, given_sums, shared = self._stacked
        c = unit / (1 + size * unit)
        return (
            units @ np.log(1 + size * unit),
            self.n - c @ (units * size**2),
            self.total - c @ (size * sums),
            self.squares - c @ squares,
            (1 - c * size) @ given,
            self.by_rater - c @ given_sums,
            np.diag(given.sum(axis=0)) - np.tensordot(c, shared, axes=1),
        )

    def summed(self, shares: Any) -> tuple[Any, Any, Any, Any]:
        """log |V|, 1'V^-1 1, 1'V^-1 y and y'V^-1 y, for the variance V of the ratings in those of the rest.

        ``shares`` are those of units and of raters, each in the variance of itself and the rest; complex ones give derivatives.
        """
        unit, rater = (share / (1 - share) for share in shares)
        log, ones, cross, squares, given, numbers, shared = self.within(unit)
        if self.named:
            inner = np.eye(given.size) + rater * shared
            sign, size = np.linalg.slogdet(inner)
            log = log + size + (1j * np.angle(sign) if np.iscomplexobj(inner) else 0.0)
            solved = np.linalg.solve(inner, np.column_stack([given, numbers]))
            ones = ones - rater * (given @ solved[:, 0])
            cross = cross - rater * (given @ solved[:, 1])
            squares = squares - rater * (numbers @ solved[:, 1])
        return log, ones, cross, squares

    def at(self, shares: Any) -> Any:
        """-2 times the log of the restricted likelihood, at its greatest over the mean and the variance of the rest."""
        return _deviance(self.n, *self.summed(shares))

    def slope(self, shares: Any) -> Floats:
        """The derivatives of ``at``, exact to rounding: by steps into the complex plane (Squire and Trapp, 1998)."""
        moved = [
            [share + 1j * _STEP * (place == own) for own, share in enumerate(shares)] for place in range(2)
        ]
        return np.array([self.at(one).imag / _STEP for one in moved])

    def rest(self, shares: Any) -> float:
        """The variance of the rest at these shares."""
        _, ones, cross, squares = self.summed(shares)
        return float((squares - cross**2 / ones) / (self.n - 1))

    def over_raters(self, unit: float, rater: Floats) -> Floats:
        """``at`` for one variance of units and many of raters, in those of the rest."""
        log, ones, cross, squares, given, numbers, shared = self.within(unit)
        if not self.named:
            return np.full(rater.shape, _deviance(self.n, log, ones, cross, squares))
        own, axes = np.linalg.eigh(shared)
        size = 1 + np.outer(rater, np.maximum(own, 0.0))
        weight = rater[:, None] / size
        g, y = given @ axes, numbers @ axes
        log = log + np.log(size).sum(axis=1)
        return np.asarray(
            _deviance(
                self.n, log, ones - weight @ (g * g), cross - weight @ (g * y), squares - weight @ (y * y)
            )
        )


def _deviance(n: float, log: Any, ones: Any, cross: Any, squares: Any) -> Any:
    rest = (squares - cross**2 / ones) / (n - 1)
    return log + np.log(ones) + (n - 1) * (np.log(rest) + 1 + math.log(2 * math.pi))


@dataclass(frozen=True)
class Fit:
    """``shares`` of units and of raters, each in the variance of itself and the rest; ``curvature``: second derivatives there."""

    shares: tuple[float, float]
    rest: float
    deviance: float
    curvature: Floats

    @property
    def ratios(self) -> tuple[float, float]:
        """The variances of units and of raters, in those of the rest."""
        return self.shares[0] / (1 - self.shares[0]), self.shares[1] / (1 - self.shares[1])

    @property
    def standard_deviations(self) -> tuple[float, float, float]:
        """Of units, of raters and of the rest."""
        unit, rater = (math.sqrt(ratio * self.rest) for ratio in self.ratios)
        return unit, rater, math.sqrt(self.rest)


def fitted(sums: Deviance, *, near: Fit | None = None) -> Fit:
    """The greatest restricted likelihood; from a fit of nearly the same data (``near``) by a few steps of Newton's.

    The search is over shares, whose slope at 0 tells whether 0 is the greatest; that over a standard deviation is 0 there anyway.
    """
    if near is None:
        from scipy.optimize import minimize

        found = minimize(
            lambda shares: (float(sums.at(shares)), sums.slope(shares)),
            np.array([_START, _START if sums.named else 0.0]), jac=True, method="L-BFGS-B",
            bounds=[(0.0, _MOST), (0.0, _MOST if sums.named else 0.0)], options={"ftol": 1e-15, "gtol": 1e-9},
        )  # fmt: skip
        shares, curvature = found.x, _curvature(sums, found.x)
    else:
        shares, curvature = np.array(near.shares), near.curvature
    shares = np.where(shares < _ZERO, 0.0, shares)
    moving = np.flatnonzero(shares)
    for _ in range(2 if near is None else 3):
        if not moving.size:
            break
        step = np.linalg.lstsq(curvature[np.ix_(moving, moving)], sums.slope(shares)[moving], rcond=None)[0]
        now = shares[moving]
        shares[moving] = np.clip(now - step, now / 3, (now + 2) / 3)
    return Fit((float(shares[0]), float(shares[1])), sums.rest(shares), float(sums.at(shares)), curvature)


def _curvature(sums: Deviance, shares: Floats) -> Floats:
    rows = np.zeros((2, 2))
    for place in range(2 if sums.named else 1):
        move = np.zeros(2)
        move[place] = 1e-6
        rows[place] = (sums.slope(shares + move) - sums.slope(shares - move)) / 2e-6
    return (rows + rows.T) / 2


@dataclass(frozen=True)
class Posterior:
    """Weights of a grid over the variances of units and of raters, in those of the rest."""

    units: Floats
    raters: Floats
    weight: Floats

    def quantiles(self, of: Callable[[Any, Any], Any], shares: Sequence[float]) -> tuple[float, ...]:
        """Quantiles of a function of the two."""
        values = np.broadcast_to(of(self.units[:, None], self.raters[None, :]), self.weight.shape).ravel()
        order = np.argsort(values)
        weight = self.weight.ravel()[order]
        reached = (np.cumsum(weight) - weight / 2) / weight.sum()
        return tuple(float(one) for one in np.interp(shares, reached, values[order]))


def posterior(sums: Deviance, fit: Fit) -> Posterior:
    """The posterior under the prior 1 / (e (e + m u) (e + q r)), m ratings of a unit and q of a rater, integrated over mean and e.

    First over a coarse grid of logarithms of both ratios of variances, then over a fine one where there is anything.
    """
    start = [math.log(max(ratio, 1e-6)) for ratio in fit.ratios]
    axes = [np.linspace(min(one - 12, -14.0), max(one + 12, 6.0), 31) for one in start]
    logs = _log_posterior(sums, *axes)
    kept = logs > logs.max() - _DEPTH
    axes = [np.linspace(*_ends(axis, kept.any(axis=1 - place)), _CELLS) for place, axis in enumerate(axes)]
    logs = _log_posterior(sums, *axes)
    units, raters = (np.exp(axis) for axis in axes)
    return Posterior(units, raters if sums.named else 0.0 * raters, np.exp(logs - logs.max()))


def _ends(axis: Floats, kept: Any) -> tuple[float, float]:
    at = np.flatnonzero(kept)
    return float(axis[max(at[0] - 1, 0)]), float(axis[min(at[-1] + 1, axis.size - 1)])


def _log_posterior(sums: Deviance, unit: Floats, rater: Floats) -> Floats:
    """Over logarithms of the two ratios of variances, with their Jacobian."""
    u, r = np.exp(unit), np.exp(rater)
    rows = np.stack([-0.5 * sums.over_raters(float(one), r) for one in u])
    rows += (unit - np.log1p(sums.per_unit * u))[:, None]
    return rows + (rater - np.log1p(sums.per_rater * r))[None, :] if sums.named else rows
