"""The interval of a planned comparison that stays valid under the plan's stopping rule, from instances in the order of their completion."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate, undefined
from evaluation.core.interval import LEAST_CLUSTERS, t_quantile
from evaluation.planning.alpha_spending import boundaries
from evaluation.planning.confidence_sequence import confidence_sequence
from evaluation.planning.plan_document import Plan

Floats = npt.NDArray[np.float64]
#: A mean in [0, 1], or a difference of two.
SHARE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)


def alpha_each(plan: Plan) -> float:
    """The plan's alpha for each hypothesis under a stopping rule: an equal part of it, unless nothing is corrected.

    >>> from evaluation.planning.plan_document import plan_parse
    >>> given = [{"name": name, "metric": "alpha", "value": 0.5} for name in "AB"]
    >>> alpha_each(plan_parse({"hypotheses": given}))
    0.025
    """
    return plan.alpha if plan.correction == "none" else plan.alpha / len(plan.hypotheses)


def valid_interval(
    values: npt.ArrayLike, *, planned: int, plan: Plan, limits: tuple[float, float] = SHARE
) -> Estimate:
    """The mean over complete instances with the interval that the plan's stopping rule makes valid.

    ``values`` has shape (T,): one outcome for each complete instance within ``limits``, in the order of completion, nan where the
    metric isn't defined on it. ``planned`` is how many instances the complete study has. With a confidence sequence, the interval may be
    looked at after every instance. With alpha spending, it is that of the latest planned look, on the instances that were complete by
    then; with fewer, or fewer than 8 with a value, it is undefined and says why. The boundary is applied to the t statistic by its p
    value. Raises ``ValueError`` for a plan without a stopping rule, or a value outside the limits.

    >>> from evaluation.planning.plan_document import plan_parse
    >>> plan = plan_parse({"hypotheses": [{"name": "H", "metric": "precision", "value": 0.5}], "stopping": "obrien_fleming", "looks": [0.5, 1]})
    >>> valid_interval([1, 0] * 20, planned=100, plan=plan).reason
    'the first look is at 50 of 100 instances; 40 are complete'
    >>> found = valid_interval([1, 1, 1, 0] * 15, planned=100, plan=plan)
    >>> found.n, round(found.value, 2), found.low > 0.5
    (50, 0.76, True)
    """
    given = np.asarray(values, dtype=np.float64)
    alpha = alpha_each(plan)
    if plan.stopping == "none":
        raise ValueError("plan: expected a stopping rule")
    if plan.stopping == "confidence_sequence":
        return _sequence(given[~np.isnan(given)], alpha, limits)
    return _at_look(given, planned, plan, alpha, limits)


def _sequence(values: Floats, alpha: float, limits: tuple[float, float]) -> Estimate:
    if not values.size:
        return undefined("no instance is complete")
    found = confidence_sequence(values, low=limits[0], high=limits[1], alpha=alpha)
    words = f"{100 * (1 - alpha):g} % confidence sequence over {values.size} instances"
    # The interval is kept from earlier looks and needn't contain the running mean, which the sequence's centre isn't.
    value = min(max(float(found.mean[-1]), float(found.low[-1])), float(found.high[-1]))
    return Estimate(value, float(found.low[-1]), float(found.high[-1]), int(values.size), interval=words)


def _at_look(values: Floats, planned: int, plan: Plan, alpha: float, limits: tuple[float, float]) -> Estimate:
    sizes = [math.ceil(share * planned - 1e-9) for share in plan.looks]
    reached = [number for number, size in enumerate(sizes) if size <= values.size]
    if not reached:
        return undefined(
            f"the first look is at {sizes[0]} of {planned} instances; {values.size} are complete"
        )
    number = reached[-1]
    known = values[: sizes[number]]
    known = known[~np.isnan(known)]
    if known.size < LEAST_CLUSTERS:
        return undefined(
            f"at least {LEAST_CLUSTERS} instances are needed, found {known.size}", n=int(known.size)
        )
    look = boundaries(_shares(plan.looks[: number + 1]), alpha=alpha, spending=plan.stopping)[-1]  # type: ignore[arg-type]
    mean, error = float(known.mean()), float(known.std(ddof=1) / math.sqrt(known.size))
    half = _t_of(look.nominal, known.size - 1) * error
    words = f"{plan.stopping.replace('_', '-')} interval at look {number + 1} of {len(sizes)}, over {known.size} instances"
    if error == 0:
        return Estimate(mean, n=int(known.size), interval="none: all instances have the same value")
    return Estimate(
        mean, max(mean - half, limits[0]), min(mean + half, limits[1]), int(known.size), interval=words
    )


def _shares(looks: Sequence[float]) -> list[float]:
    return [float(share) for share in looks]


def _t_of(p: float, degrees: int) -> float:
    """The |t| of a two-sided p value."""
    if p == 0.05:
        return t_quantile(degrees)
    from scipy.special import stdtrit

    return float(-stdtrit(degrees, p / 2)) if p > 0 else math.inf
