"""Looking at a study before it ends: boundaries of group-sequential tests by alpha spending (Lan and DeMets)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Spending = Literal["obrien_fleming", "pocock"]
Floats = npt.NDArray[np.float64]

#: Points of the density of a statistic that continues: at least this many on each side of zero, and this many in a standard deviation of
#: the next step. Beyond ``_FURTHEST`` standard deviations it isn't followed.
_LEAST_POINTS, _POINTS_A_STEP = 60, 8
_FURTHEST = 9.0


@dataclass(frozen=True)
class Look:
    """One look at the data: at the share ``information`` of it, the test is significant if |z| is at least ``boundary``.

    ``spent`` is the probability under the null hypothesis of having been significant at this look or an earlier one;
    ``nominal`` the two-sided p value that belongs to the boundary.
    """

    information: float
    boundary: float
    spent: float
    nominal: float

    def to_dict(self) -> dict[str, float]:
        """As JSON; an infinite boundary (nothing to spend yet) is None."""
        return {
            "information": self.information,
            "boundary": self.boundary if math.isfinite(self.boundary) else None,  # type: ignore[dict-item]
            "spent": self.spent,
            "nominal": self.nominal,
        }


def spent_alpha(information: float, *, alpha: float = 0.05, spending: Spending = "obrien_fleming") -> float:
    """The part of a two-sided ``alpha`` that may be spent up to a share of the information.

    O'Brien-Fleming type: min(alpha, 4 - 4 Phi(z / sqrt(t))) with z = Phi^-1(1 - alpha / 4), which is 2 - 2 Phi for each of two sides of
    alpha / 2. Pocock type: alpha ln(1 + (e - 1) t). ``information`` lies in (0, 1]; 1 spends all. Raises ``ValueError`` for another
    share, or an ``alpha`` outside (0, 1). Source: Lan and DeMets 1983, Biometrika 70(3), 659-663.

    >>> round(spent_alpha(0.5), 5), round(spent_alpha(0.5, spending="pocock"), 5), spent_alpha(1)
    (0.00305, 0.03101, 0.05)
    """
    if not 0 < information <= 1:
        raise ValueError(f"information: expected a share above 0 and up to 1, got {information}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha: expected a number between 0 and 1, got {alpha}")
    if information == 1:
        return alpha
    if spending == "pocock":
        return alpha * math.log(1 + (math.e - 1) * information)
    if spending != "obrien_fleming":
        raise ValueError(f"spending: expected obrien_fleming or pocock, got {spending!r}")
    # For each side of alpha / 2, the spending function 2 - 2 Phi(z_{alpha / 4} / sqrt(t)).
    return min(alpha, 4 * _upper(_upper_quantile(alpha / 4) / math.sqrt(information)))


def boundaries(
    information: Sequence[float], *, alpha: float = 0.05, spending: Spending = "obrien_fleming"
) -> list[Look]:
    """The boundaries of a two-sided test that is looked at several times, so that ``alpha`` holds over all looks together.

    ``information`` are the shares of the planned information (for example judgments) at each look, increasing, the last at most 1; the
    looks needn't be equally spaced or known in advance. Under the null hypothesis the z statistics are normal with mean 0, variance 1
    and Cov(z_i, z_j) = sqrt(t_i / t_j). Each boundary is found from the recursive integral of Armitage, McPherson and Rowe (1969). Boundaries are within
    0.001 of the exact ones. They hold for statistics that are about normal: shares near 0 or 1 of few instances aren't (``docs/validation.md``), and
    ``confidence_sequence`` is for those. Raises ``ValueError`` where shares don't increase.

    Published for five equal looks, alpha .05, two-sided: 4.877, 3.357, 2.680, 2.290, 2.031 (O'Brien-Fleming type) and 2.438, 2.427, 2.410,
    2.397, 2.386 (Pocock type). Source: Lan and DeMets 1983; DeMets and Lan 1994, Statistics in Medicine 13, 1341-1352, Table I; Reboussin, DeMets, Kim and
    Lan 2000, Controlled Clinical Trials 21, 190-207.

    >>> [round(look.boundary, 2) for look in boundaries([0.5, 1.0])]
    [2.96, 1.97]
    """
    shares = [float(share) for share in information]
    if not shares:
        raise ValueError("information: expected at least one look")
    if any(b <= a for a, b in zip([0.0, *shares], shares, strict=False)):
        raise ValueError("information: expected increasing shares above 0")
    found: list[Look] = []
    before, grid, density = 0.0, np.zeros(1), np.ones(1)
    for number, share in enumerate(shares):
        spent = spent_alpha(share, alpha=alpha, spending=spending)
        step = share - (shares[number - 1] if number else 0.0)
        boundary = _boundary(
            grid, density, math.sqrt(step), math.sqrt(share), spent - before, first=not number
        )
        found.append(Look(share, boundary, spent, 2 * _upper(boundary)))
        if number + 1 == len(shares):
            break
        edge = min(boundary, _FURTHEST) * math.sqrt(share)
        ahead = math.sqrt(shares[number + 1] - share)
        points = max(_LEAST_POINTS, math.ceil(_POINTS_A_STEP * edge / min(ahead, math.sqrt(share))))
        grid, density = _continued(grid, density, math.sqrt(step), edge, points, first=not number)
        before = spent
    return found


# The statistic is followed as a sum, z sqrt(t): its increments are independent normals of variance t_i - t_{i-1}.


def _boundary(
    grid: Floats, density: Floats, step: float, scale: float, wanted: float, *, first: bool
) -> float:
    """The |z| that leaves a statistic outside with probability ``wanted``, if it has continued so far."""
    weighted = density if first else _weights(grid) * density

    def outside(z: float) -> float:
        edge = z * scale
        tails = _normal_tail((edge - grid) / step) + _normal_tail((edge + grid) / step)
        return float((weighted * tails).sum())

    if wanted <= 0:
        return math.inf
    from scipy.optimize import brentq

    return float(brentq(lambda z: outside(z) - wanted, 0.0, 40.0, xtol=1e-9))


def _continued(
    grid: Floats, density: Floats, step: float, edge: float, points: int, *, first: bool
) -> tuple[Floats, Floats]:
    """The density of the sum at this look, of statistics that are inside the boundary."""
    new = np.linspace(-edge, edge, 2 * points + 1)
    weights = np.ones(1) if first else _weights(grid)
    kernel = np.exp(-0.5 * ((new[:, None] - grid[None, :]) / step) ** 2) / (step * math.sqrt(2 * math.pi))
    return new, kernel @ (weights * density)


def _weights(grid: Floats) -> Floats:
    """Simpson's rule."""
    weights = np.full(grid.size, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    return weights * (grid[1] - grid[0]) / 3


def _normal_tail(z: Floats) -> Floats:
    from scipy.special import ndtr

    found: Any = ndtr(-z)
    return np.asarray(found, dtype=np.float64)


def _upper(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2))


def _upper_quantile(tail: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(1 - tail)
