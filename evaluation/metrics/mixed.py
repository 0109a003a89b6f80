"""Which properties of a rationale are associated with a right answer: a logistic mixed model (Joshi et al. 2023,
A.3.1)."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate, undefined
from evaluation.metrics.laplace import laplace_fit
from evaluation.metrics.resample import Floats, codes_of

#: The eight properties of the paper, in its order.
PROPERTIES = (
    "grammaticality",
    "validity",
    "coherence",
    "conciseness",
    "leakage",
    "novelty",
    "association",
    "contrast",
)
_Z = 1.959963984540054
_INTERVAL = "95 % normal approximation to the posterior"
LAPLACE_INTERVAL = "95 % Wald interval of the Laplace fit"
#: With more answers than this there is no Laplace fit.
MOST_BY_LAPLACE = 20_000
Method = Literal["variational", "laplace"]


@dataclass(frozen=True, eq=False)
class MixedModel:
    """A fitted model; every figure is a log odds with its posterior interval.

    ``intercept`` is the base: no property holds. ``present`` and ``absent`` give each property's log odds averaged
    over the other properties (Table 14); ``pairs`` the increase over the base when just two hold, largest first, and
    ``interactions`` the coefficient of the two's product alone (Table 15). ``random_sd`` is each random effect's standard deviation. ``converged`` and ``notes`` say whether
    the fit may be trusted: read them. Where the model cannot be fitted, ``reason`` says why and the rest is empty.
    """

    names: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    intercept: Estimate
    present: Mapping[str, Estimate]
    absent: Mapping[str, Estimate]
    pairs: Mapping[tuple[str, str], Estimate]
    interactions: Mapping[tuple[str, str], Estimate]
    random_sd: Mapping[str, float]
    converged: bool
    notes: tuple[str, ...]
    n: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""

    def log_odds(self, holding: Collection[str]) -> Estimate:
        """Log odds of a right answer when exactly the properties ``holding`` hold.

        Raises ``ValueError`` naming a property that is not in the model.
        """
        if self.reason:
            return undefined(self.reason, n=self.n)
        unknown = sorted(set(holding) - set(self.present))
        if unknown:
            raise ValueError(f"holding: not in the model: {', '.join(unknown)}")
        row = design([[name in holding for name in self.present]])[0]
        return _contrast(row, self.coefficients, self.covariance, self.n, self.intercept.interval)


def design(holds: npt.ArrayLike) -> Floats:
    """Design matrix of the formula (a + b + ...)^2: intercept, each property, each pair of them.

    ``holds`` of shape (N, p), values in [0, 1]; the result has shape (N, 1 + p + p (p - 1) / 2).

    >>> design([[1, 0, 1]]).tolist()
    [[1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]]
    """
    x = np.asarray(holds, dtype=np.float64)
    pairs = [x[:, a] * x[:, b] for a, b in combinations(range(x.shape[1]), 2)]
    return np.column_stack([np.ones(len(x)), x, *pairs])


def property_model(
    correct: Sequence[bool | None],
    properties: Mapping[str, Sequence[bool | None]],
    groups: Mapping[str, Sequence[str]],
    *,
    prior_sd: float = 2.0,
    max_iterations: int = 2_000,
    method: Method = "variational",
) -> MixedModel:
    """Fit correct ~ (all properties)^2 + (1 | group) for each of ``groups``, with a logit link.

    One entry for each answer given after a rationale, all of length N: whether it was right; for each property
    whether the rationale has it; and the random effects: question, system, and the human prior (right before).
    Entries with a None are left out and counted.

    Fitted by statsmodels' variational Bayes (``BinomialBayesMixedGLM``): coefficients have a normal prior with
    standard deviation ``prior_sd``, log standard deviations of random effects a standard normal one. Coefficients
    are posterior means; their covariance is the inverse Hessian of the log posterior there, random effects
    included and their spread held fixed, since the variational variances are too small and carry no covariance.
    With ``method`` *laplace* the likelihood is Laplace's approximation, maximised as lme4 does (the paper's software): no prior, but
    where the data can't tell some coefficients apart, and standard errors of maximum likelihood. It takes minutes for
    many answers: not fitted for more than ``MOST_BY_LAPLACE``.

    Not fitted (``reason``) where all answers are alike or nothing is left. A random effect with few levels (two for
    the human prior, three systems) leaves its spread to the prior: ``notes`` says so, as it does where the data
    cannot tell some coefficients apart, and only the prior determines them. Source: Joshi et al. 2023, A.3.1.

    >>> found = property_model([True, True], {"leakage": [True, False]}, {"question": ["a", "b"]})
    >>> found.reason
    'all answers are right'
    """
    names = tuple(properties)
    columns = [correct, *properties.values(), *groups.values()]
    if len({len(column) for column in columns}) != 1:
        raise ValueError("correct, properties, groups: expected one length")
    if not groups:
        raise ValueError("groups: expected at least one random effect")
    kept = [i for i, row in enumerate(zip(*columns, strict=True)) if None not in row]
    left = (
        {"without an answer, a property or a group": len(correct) - len(kept)}
        if len(kept) < len(correct)
        else {}
    )
    right = np.array([correct[i] for i in kept], dtype=np.float64)
    if not len(kept) or right.min() == right.max():
        reason = (
            "no answer is left" if not len(kept) else f"all answers are {'right' if right[0] else 'wrong'}"
        )
        return _unfitted(names, reason, len(kept), left)
    exog = design(np.array([[bool(properties[name][i]) for name in names] for i in kept], dtype=np.float64))
    levels = {name: codes_of([str(values[i]) for i in kept]) for name, values in groups.items()}
    codes = {name: found for name, (found, _) in levels.items()}
    if method == "laplace":
        if len(kept) > MOST_BY_LAPLACE:
            reason = f"not fitted by Laplace’s approximation for more than {MOST_BY_LAPLACE:,} answers"
            return _unfitted(names, reason, len(kept), left)
        return _result(names, _laplace(right, exog, codes, prior_sd), (), len(kept), left, LAPLACE_INTERVAL)
    fit = _fit(right, exog, codes, prior_sd, max_iterations)
    notes = [*fit.notes, *_identification(exog, {name: len(found) for name, (_, found) in levels.items()})]
    return _result(names, fit, tuple(notes), len(kept), left)


@dataclass(frozen=True, eq=False)
class _Fit:
    coefficients: Floats
    covariance: Floats
    random_sd: dict[str, float]
    converged: bool
    notes: list[str]


def _fit(
    right: Floats, exog: Floats, groups: Mapping[str, npt.NDArray[np.int64]], prior_sd: float, iterations: int
) -> _Fit:
    from scipy import sparse
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

    blocks = [
        sparse.csr_matrix(
            (np.ones(len(right)), (np.arange(len(right)), codes)), shape=(len(right), codes.max() + 1)
        )
        for codes in groups.values()
    ]
    random = sparse.hstack(blocks).tocsr()
    ident = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
    model = BinomialBayesMixedGLM(right, exog, random, ident, fe_p=prior_sd)
    size = exog.shape[1] + len(blocks) + random.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence is taken from the optimiser and reported
        found = model.fit_vb(
            sd=np.full(size, 0.6), fit_method="L-BFGS-B", minim_opts={"maxiter": iterations, "maxfun": 10**6}
        )
    outcome = found.optim_retvals
    notes = [] if outcome.success else [f"the fit did not converge: {outcome.message}"]
    spread = np.exp(found.vcp_mean)
    covariance = _covariance(exog, random, found.fe_mean, found.vc_mean, spread[ident], prior_sd)
    sds = {name: float(sd) for name, sd in zip(groups, spread, strict=True)}
    return _Fit(np.asarray(found.fe_mean, dtype=np.float64), covariance, sds, bool(outcome.success), notes)


def _laplace(
    right: Floats, exog: Floats, groups: Mapping[str, npt.NDArray[np.int64]], prior_sd: float
) -> _Fit:
    identified = int(np.linalg.matrix_rank(exog)) == exog.shape[1]
    found = laplace_fit(right, exog, groups, prior_sd=None if identified else prior_sd)
    return _Fit(found.coefficients, found.covariance, dict(found.random_sd), found.converged, [])


def _covariance(
    exog: Floats, random: Any, fixed: Floats, effects: Floats, spread: Floats, prior_sd: float
) -> Floats:
    """Block of the fixed effects in the inverse Hessian over fixed and random effects."""
    eta = exog @ fixed + random @ effects
    weight = 0.25 / np.cosh(np.clip(eta, -700, 700) / 2) ** 2
    weighted = random.multiply(weight[:, None]).tocsr()
    inner = np.asarray((random.T @ weighted).toarray()) + np.diag(1.0 / spread**2)
    cross = np.asarray(weighted.T @ exog)
    outer = exog.T @ (exog * weight[:, None]) + np.eye(exog.shape[1]) / prior_sd**2
    return np.linalg.inv(outer - cross.T @ np.linalg.solve(inner, cross))


def _identification(exog: Floats, levels: Mapping[str, int]) -> list[str]:
    notes = []
    rank = int(np.linalg.matrix_rank(exog))
    if rank < exog.shape[1]:
        notes.append(
            f"the data determine {rank} of {exog.shape[1]} coefficients; the prior determines the others"
        )
    few = [f"{name} ({count})" for name, count in levels.items() if count < 5]
    if few:
        notes.append(f"few levels, so that the prior largely determines the variance of: {', '.join(few)}")
    return notes


def _contrast(row: Floats, coefficients: Floats, covariance: Floats, n: int, how: str) -> Estimate:
    value, sd = float(row @ coefficients), max(float(row @ covariance @ row), 0.0) ** 0.5
    return Estimate(value, value - _Z * sd, value + _Z * sd, n=n, interval=how)


def _result(
    names: tuple[str, ...],
    fit: _Fit,
    notes: tuple[str, ...],
    n: int,
    left: Mapping[str, int],
    how: str = _INTERVAL,
) -> MixedModel:
    def contrast(row: Floats) -> Estimate:
        return _contrast(row, fit.coefficients, fit.covariance, n, how)

    base = design(np.zeros((1, len(names))))[0]
    averaged = {}
    for place, state in product(range(len(names)), (0.0, 1.0)):
        others = np.full(
            (1, len(names)), 0.5
        )  # a product of averages is the average: the others are independent
        others[0, place] = state
        averaged[names[place], state] = contrast(design(others)[0])
    pairs, interactions = {}, {}
    for place, (a, b) in enumerate(combinations(range(len(names)), 2)):
        both = np.zeros((1, len(names)))
        both[0, [a, b]] = 1.0
        pairs[names[a], names[b]] = contrast(design(both)[0] - base)
        term = np.zeros(len(base))
        term[1 + len(names) + place] = 1.0
        interactions[names[a], names[b]] = contrast(term)
    return MixedModel(
        names=("intercept", *names, *(f"{a} x {b}" for a, b in combinations(names, 2))),
        coefficients=fit.coefficients,
        covariance=fit.covariance,
        intercept=contrast(base),
        present={name: averaged[name, 1.0] for name in names},
        absent={name: averaged[name, 0.0] for name in names},
        pairs=dict(sorted(pairs.items(), key=lambda item: -item[1].value)),
        interactions=interactions,
        random_sd=fit.random_sd,
        converged=fit.converged,
        notes=notes,
        n=n,
        left_out=left,
    )


def _unfitted(names: tuple[str, ...], reason: str, n: int, left: Mapping[str, int]) -> MixedModel:
    nothing = undefined(reason, n=n, left_out=left)
    return MixedModel(
        names=(),
        coefficients=np.zeros(0),
        covariance=np.zeros((0, 0)),
        intercept=nothing,
        present=dict.fromkeys(names, nothing),
        absent=dict.fromkeys(names, nothing),
        pairs={},
        interactions={},
        random_sd={},
        converged=False,
        notes=(),
        n=n,
        left_out=left,
        reason=reason,
    )
