"""A logistic mixed model with crossed random intercepts, fitted by Laplace's approximation as lme4's ``glmer`` fits it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evaluation.metrics.resample import Floats, Ints

#: Steps of the inner optimisation, which takes fewer than ten.
_STEPS = 100
_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class LaplaceFit:
    """``coefficients`` of shape (p,) with their ``covariance``; ``random_sd`` by factor; ``deviance`` is -2 log likelihood.

    ``converged``: whether the outer optimisation ended at a minimum.
    """

    coefficients: Floats
    covariance: Floats
    random_sd: Mapping[str, float]
    deviance: float
    converged: bool


@dataclass(frozen=True, eq=False)
class _Data:
    """``right`` successes of ``trials`` on each row; ``codes`` of each random factor, the one with the most levels first."""

    right: Floats
    trials: Floats
    exog: Floats
    codes: tuple[Ints, ...]
    levels: tuple[int, ...]

    @cached_property
    def others(self) -> Floats:
        """Indicators of the levels of all factors but the first, of shape (N, levels)."""
        blocks = [
            codes[:, None] == np.arange(size)
            for codes, size in zip(self.codes[1:], self.levels[1:], strict=True)
        ]
        return np.hstack([np.zeros((len(self.right), 0)), *blocks])

    @cached_property
    def first_sums(self) -> sparse.csr_array:
        """Sums rows by the first factor's levels."""
        size = len(self.right)
        cells = np.ones(size), (self.codes[0], np.arange(size))
        return sparse.csr_array(cells, shape=(self.levels[0], size))

    def scales(self, sds: Floats) -> Floats:
        """The standard deviation of each column of ``others``."""
        return np.repeat(sds[1:], self.levels[1:])


class _Inner:
    """The modes of the random effects at given coefficients and standard deviations, and the Laplace deviance there.

    The Hessian over random effects is diagonal in the first factor, which is eliminated; the rest is dense and small.
    """

    def __init__(self, data: _Data):
        self.data = data
        self.start = [np.zeros(size) for size in data.levels]

    def deviance(self, fixed: Floats, sds: Floats) -> tuple[float, Floats]:
        """The Laplace deviance and its gradient over the coefficients."""
        data = self.data
        offset = data.exog @ fixed
        spherical = [effect.copy() for effect in self.start]
        value = self._penalised(offset, spherical, sds)
        for _ in range(_STEPS):
            hessian = _Hessian.of(data, self._eta(offset, spherical, sds), sds)
            steps = hessian.solve(hessian.gradients(spherical))
            scale = 1.0
            while True:
                tried = [effect + scale * step for effect, step in zip(spherical, steps, strict=True)]
                after = self._penalised(offset, tried, sds)
                if after <= value + 1e-12 or scale < 1e-8:
                    break
                scale /= 2
            moved = max(float(np.abs(scale * step).max(initial=0.0)) for step in steps)
            spherical, value = tried, after
            if moved < _TOLERANCE:
                break
        self.start = spherical
        hessian = _Hessian.of(data, self._eta(offset, spherical, sds), sds)
        return value + hessian.log_determinant, hessian.slope()

    def _eta(self, offset: Floats, spherical: Sequence[Floats], sds: Floats) -> Floats:
        return offset + sum(
            sd * effect[codes] for sd, effect, codes in zip(sds, spherical, self.data.codes, strict=True)
        )

    def _penalised(self, offset: Floats, spherical: Sequence[Floats], sds: Floats) -> float:
        eta = self._eta(offset, spherical, sds)
        log_likelihood = self.data.right @ eta - self.data.trials @ np.logaddexp(0.0, eta)
        return float(-2 * log_likelihood + sum(effect @ effect for effect in spherical))


@dataclass(frozen=True, eq=False)
class _Hessian:
    """Half the second derivatives of the penalised deviance over the random effects, as blocks: ``diagonal`` of the first factor,
    ``cross`` between it and the others, ``reduced`` of the others with the first one eliminated."""

    data: _Data
    sds: Floats
    mean: Floats
    diagonal: Floats
    cross: Floats
    reduced: Floats

    @classmethod
    def of(cls, data: _Data, eta: Floats, sds: Floats) -> _Hessian:
        mean = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
        weight = data.trials * mean * (1 - mean)
        first, scales = data.codes[0], data.scales(sds)
        diagonal = 1 + sds[0] ** 2 * np.bincount(first, weights=weight, minlength=data.levels[0])
        weighted = weight[:, None] * data.others
        cross = sds[0] * (data.first_sums @ weighted) * scales
        inner = np.eye(len(scales)) + scales[:, None] * (data.others.T @ weighted) * scales
        return cls(data, sds, mean, diagonal, cross, inner - cross.T @ (cross / diagonal[:, None]))

    @property
    def log_determinant(self) -> float:
        return float(np.log(self.diagonal).sum() + np.linalg.slogdet(self.reduced)[1])

    def gradients(self, spherical: Sequence[Floats]) -> list[Floats]:
        """Half the downward slope of the penalised deviance over each factor's effects."""
        data, residual = self.data, self.data.right - self.data.trials * self.mean
        return [
            sd * np.bincount(codes, weights=residual, minlength=size) - effect
            for sd, codes, size, effect in zip(self.sds, data.codes, data.levels, spherical, strict=True)
        ]

    def solve(self, sides: Sequence[Floats]) -> list[Floats]:
        """The Hessian's inverse times a side for each factor, whose first axis is its levels."""
        first, rest = sides[0], np.concatenate([np.zeros((0, *sides[0].shape[1:])), *sides[1:]])
        width = self.diagonal.reshape(-1, *[1] * (first.ndim - 1))
        below = np.linalg.solve(self.reduced, rest - self.cross.T @ (first / width)) if len(rest) else rest
        above = (first - self.cross @ below) / width
        return [above, *np.split(below, np.cumsum(self.data.levels[1:-1]))] if len(rest) else [above]

    def slope(self) -> Floats:
        """The gradient of the Laplace deviance over the coefficients, at the modes of the random effects."""
        data = self.data
        weight = data.trials * self.mean * (1 - self.mean)
        weighted = weight[:, None] * data.exog
        below = data.scales(self.sds)[:, None] * (data.others.T @ weighted)
        sides = [self.sds[0] * (data.first_sums @ weighted), *np.split(below, np.cumsum(data.levels[1:-1]))]
        sides = sides[: len(data.levels)]
        moved = sum(
            sd * part[codes] for sd, part, codes in zip(self.sds, self.solve(sides), data.codes, strict=True)
        )
        others, first = data.others * data.scales(self.sds), data.codes[0]
        left = others - self.sds[0] * (self.cross / self.diagonal[:, None])[first]
        leverage = self.sds[0] ** 2 / self.diagonal[first]
        if others.shape[1]:
            leverage = leverage + (left @ np.linalg.inv(self.reduced) * left).sum(axis=1)
        third = leverage * weight * (1 - 2 * self.mean)
        residual = data.right - data.trials * self.mean
        return np.asarray(-2 * data.exog.T @ residual + (data.exog - moved).T @ third)


def laplace_fit(
    right: npt.ArrayLike,
    exog: npt.ArrayLike,
    groups: Mapping[str, Ints],
    *,
    trials: npt.ArrayLike | None = None,
    prior_sd: float | None = None,
) -> LaplaceFit:
    """Fit logit P(right) = exog b + a random intercept for each of ``groups``, by the Laplace approximation.

    ``right`` of shape (N,) counts successes of ``trials`` (1 by default); ``exog`` of shape (N, p); each group has codes of shape
    (N,). The deviance -2 log of the approximated likelihood is minimised over coefficients and standard deviations together, as
    ``glmer`` does with ``nAGQ = 1``. ``prior_sd`` gives coefficients a normal prior, which data that can't tell some of them apart
    need; None for none. The covariance is the inverse of half the deviance's numerical Hessian over coefficients and the standard
    deviations above 0. Source: Bates, Mächler, Bolker and Walker (2015), section 1; Joshi et al. 2023, A.3.1, use lme4.

    >>> import numpy as np
    >>> found = laplace_fit([1, 0, 1, 1, 0, 1], np.ones((6, 1)), {"question": np.array([0, 0, 1, 1, 2, 2])})
    >>> found.random_sd["question"], round(float(found.coefficients[0]), 3)
    (0.0, 0.693)
    """
    from scipy.optimize import minimize  # imported late: it takes a second

    counted = np.asarray(right, dtype=np.float64)
    columns = np.asarray(exog, dtype=np.float64)
    if (
        not groups
        or columns.ndim != 2
        or any(len(codes) != len(counted) for codes in [columns, *groups.values()])
    ):
        raise ValueError("right, exog, groups: expected one length, and at least one group")
    names = sorted(groups, key=lambda name: -int(groups[name].max(initial=0)))
    data = _Data(
        counted,
        np.ones(len(counted)) if trials is None else np.asarray(trials, dtype=np.float64),
        columns,
        tuple(groups[name] for name in names),
        tuple(int(groups[name].max()) + 1 for name in names),
    )
    p, inner = columns.shape[1], _Inner(data)

    def deviance(parameters: Floats) -> tuple[float, Floats]:
        fixed, sds = parameters[:p], np.abs(parameters[p:])
        value, slope = inner.deviance(fixed, sds)
        if prior_sd is not None:
            value, slope = value + float(fixed @ fixed) / prior_sd**2, slope + 2 * fixed / prior_sd**2
        return value, slope

    def with_slopes(parameters: Floats) -> tuple[float, Floats]:
        """The deviance with its whole gradient: over standard deviations by differences."""
        value, slope = deviance(parameters)
        moved = []
        for place in range(p, len(parameters)):
            step = np.zeros(len(parameters))
            step[place] = 1e-5
            below = parameters - step
            below[place] = max(below[place], 0.0)
            high, low = deviance(parameters + step)[0], deviance(below)[0]
            moved.append((high - low) / (parameters[place] + 1e-5 - below[place]))
        return value, np.concatenate([slope, moved])

    bounds = [(None, None)] * p + [(0.0, None)] * len(names)
    start = np.concatenate([np.zeros(p), np.full(len(names), 0.5)])
    found = minimize(
        with_slopes, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 1_000, "maxfun": 10**6, "ftol": 1e-12, "gtol": 1e-6}
    )  # fmt: skip
    sds = np.where(found.x[p:] < 1e-5, 0.0, found.x[p:])
    free = [*range(p), *(p + place for place in np.flatnonzero(sds))]
    hessian = _hessian(with_slopes, np.concatenate([found.x[:p], sds]), free)
    covariance = np.linalg.pinv(hessian / 2)[:p, :p]
    by_name = {name: float(sds[names.index(name)]) for name in groups}
    return LaplaceFit(
        found.x[:p], np.asarray(covariance, dtype=np.float64), by_name, float(found.fun), bool(found.success)
    )


def _hessian(
    with_slopes: Callable[[Floats], tuple[float, Floats]], at: Floats, free: Sequence[int], step: float = 1e-3
) -> Floats:
    """Second derivatives in the parameters ``free``, by central differences of the gradient."""
    rows = []
    for place in free:
        move = np.zeros(len(at))
        move[place] = step
        rows.append((with_slopes(at + move)[1] - with_slopes(at - move)[1])[free] / (2 * step))
    return np.asarray((np.array(rows) + np.array(rows).T) / 2)
