"""Appropriate reliance on a model: do people follow it where it is right, and themselves where it is wrong?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate, undefined
from evaluation.core.interval import SHARE, SIGNED, UNBOUNDED, Bounds
from evaluation.metrics.resample import Floats, codes_of, ratio_estimate

NO_ANSWER = "without an answer before, an answer after or an answer of the model"
NO_GOLD = "without a correct answer"
NOTHING = "no case has both answers, the model's answer and the correct one"
SAME_ADVICE = "with a first answer equal to the model's"


@dataclass(frozen=True)
class Reliance:
    """What became of first answers once the model's was seen. Every figure has its own cases as its ``n``.

    ``ai_reliance`` (RAIR): of cases in which the person was wrong and the model right, the share that the person then got right.
    ``self_reliance`` (RSR): of cases in which the person was right and the model wrong, the share in which the person stayed right.
    ``over_reliance``: of cases in which the model is wrong, the share that ends with its answer. ``under_reliance``: of cases in
    which the model is right, the share that ends with another answer. ``switched``: of cases in which the two differed, the share that
    ends with the model's answer (switch fraction). ``alone``, ``model`` and ``together`` are the shares of right first answers, model's
    answers and last answers, all over the same cases; ``beyond_alone`` and ``beyond_model`` the paired differences of the last
    one from the other two, and ``complementarity`` the smaller of these: how much better the two are together than the better
    of them alone.
    """

    ai_reliance: Estimate
    self_reliance: Estimate
    over_reliance: Estimate
    under_reliance: Estimate
    switched: Estimate
    alone: Estimate
    model: Estimate
    together: Estimate
    beyond_alone: Estimate
    beyond_model: Estimate
    complementarity: Estimate


def reliance(
    before: Sequence[str | None],
    advice: Sequence[str | None],
    after: Sequence[str | None],
    gold: Sequence[str | None],
    instance: Sequence[str],
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> Reliance:
    """Relative AI reliance, relative self-reliance, over- and under-reliance, switch fraction and complementarity.

    One entry for each person's case, all of length N: the first answer, the model's answer (``advice``), the answer after it
    was seen, and the correct answer, None where there is none; ``instance`` names the case's cluster. With b, m, a for
    "right before", "model right" and "right after"::

        RAIR = |not b, m, a| / |not b, m|          RSR = |b, not m, a| / |b, not m|
        over-reliance = |not m, after = advice| / |not m|      under-reliance = |m, after != advice| / |m|
        switch fraction = |before != advice, after = advice| / |before != advice|
        complementarity = mean a - max(mean b, mean m)

    Somebody who always follows the model has an RAIR of 1 and an RSR of 0, somebody who never does 0 and 1; both are 1 for
    appropriate reliance. Cases without one of the three answers are left out of everything, cases without a correct answer of
    all but the switch fraction; both are counted. A figure without a case is undefined. With ``rng``, 95 % intervals
    draw instances; that of complementarity has the smaller lower and the smaller upper end of the two differences, so that it
    needs no guess at which of the two is better. ``ValueError`` for unequal lengths.

    Sources: Schemmer, Kuehl, Benz, Bartos and Satzger, 2023, *Appropriate Reliance on AI Advice: Conceptualization and the Effect of
    Explanations* (RAIR, RSR; complementarity: section 2); Yin, Wortman Vaughan and Wallach, 2019 (switch fraction).

    >>> found = reliance(["x", "y", "y", "x"], ["y", "y", "x", "x"], ["y", "y", "x", "x"], ["y", "y", "y", "x"], list("abcd"))
    >>> found.ai_reliance.value, found.self_reliance.value, found.over_reliance.value, found.complementarity.value
    (1.0, 0.0, 1.0, 0.0)
    """
    if len({len(column) for column in (before, advice, after, gold, instance)}) != 1:
        raise ValueError("before, advice, after, gold, instance: expected one length")
    answered = _known(before, advice, after)
    known = answered & _known(gold)
    was, model, now = (
        np.array([x == g for x, g in zip(column, gold, strict=True)], dtype=bool) & known
        for column in (before, advice, after)
    )
    differed = np.array([b != m for b, m in zip(before, advice, strict=True)], dtype=bool) & answered
    followed = np.array([a == m for a, m in zip(after, advice, strict=True)], dtype=bool) & answered
    clusters, _ = codes_of(instance)
    unanswered = {NO_ANSWER: int((~answered).sum())}
    left = unanswered | {NO_GOLD: int((answered & ~known).sum())}

    def share(
        top: npt.NDArray[np.bool_] | Floats,
        cases: npt.NDArray[np.bool_],
        reason: str,
        bounds: Bounds = SHARE,
        aside: dict[str, int] = left,
    ) -> Estimate:
        return ratio_estimate(
            np.where(cases, top, 0.0), cases, clusters, rng=rng, replicates=replicates, reason=reason, bounds=bounds,
            left_out={why: number for why, number in aside.items() if number},
        )  # fmt: skip

    numbers = [values.astype(np.float64) for values in (was, model, now)]
    beyond = [share(numbers[2] - other, known, NOTHING, SIGNED) for other in numbers[:2]]
    return Reliance(
        ai_reliance=share(
            now, known & ~was & model, "in no case the person was wrong at first and the model right"
        ),
        self_reliance=share(
            now, known & was & ~model, "in no case the person was right at first and the model wrong"
        ),
        over_reliance=share(followed, known & ~model, "the model was never wrong"),
        under_reliance=share(~followed, known & model, "the model was never right"),
        switched=share(followed, differed, "no first answer differs from the model's", aside=unanswered),
        alone=share(was, known, NOTHING),
        model=share(model, known, NOTHING),
        together=share(now, known, NOTHING),
        beyond_alone=beyond[0],
        beyond_model=beyond[1],
        complementarity=_smaller(*beyond),
    )


def _known(*columns: Sequence[str | None]) -> npt.NDArray[np.bool_]:
    return np.array([None not in row for row in zip(*columns, strict=True)], dtype=bool)


def _smaller(first: Estimate, second: Estimate) -> Estimate:
    """The smaller of two estimates of the same cases, with an interval for the smaller of the two true values."""
    least = min(first, second, key=lambda one: one.value) if first.defined else first
    if np.isnan(first.low) or np.isnan(second.low):
        lacking = first if np.isnan(first.low) else second
        return Estimate(
            least.value, n=least.n, reason=least.reason, left_out=least.left_out, interval=lacking.interval
        )
    return Estimate(
        least.value,
        min(first.low, second.low),
        min(first.high, second.high),
        n=least.n,
        left_out=least.left_out,
        interval=f"smaller ends of both differences' intervals: {least.interval}",
    )


def weight_of_advice(
    before: npt.ArrayLike,
    advice: npt.ArrayLike,
    after: npt.ArrayLike,
    instance: Sequence[str],
    *,
    truncated: bool = True,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> Estimate:
    """How far numbers move from the first answer to the model's: the mean of ``(after - before) / (advice - before)``.

    All arrays have shape (N,), nan where there is no answer; 0 is an unchanged answer, 1 the model's. A weight outside [0, 1]
    (away from the model, or past it) is put on the nearer end, as is usual, unless ``truncated`` is False. Cases without an answer, and
    cases whose first answer is the model's, are left out and counted; undefined if that leaves none. With ``rng``, a 95 %
    interval that draws instances. ``ValueError`` for unequal lengths. Source: Harvey and Fischer, 1997; Yaniv, 2004.

    >>> weight_of_advice([10, 10, 10], [20, 20, 10], [15, 20, 10], list("abc")).value
    0.75
    """
    was, model, now = (np.asarray(column, dtype=np.float64) for column in (before, advice, after))
    if not was.shape == model.shape == now.shape == (len(instance),):
        raise ValueError("before, advice, after, instance: expected one length")
    known = ~(np.isnan(was) | np.isnan(model) | np.isnan(now))
    cases = known & (was != model)
    left = {NO_ANSWER: int((~known).sum()), SAME_ADVICE: int((known & ~cases).sum())}
    left = {why: number for why, number in left.items() if number}
    if not cases.any():
        return undefined("no first answer differs from the model's", left_out=left)
    weight = (now[cases] - was[cases]) / (model[cases] - was[cases])
    if truncated:
        weight = np.clip(weight, 0.0, 1.0)
    codes, _ = codes_of([name for name, kept in zip(instance, cases, strict=True) if kept])
    return ratio_estimate(
        weight, np.ones(weight.size), codes, rng=rng, replicates=replicates, left_out=left,
        bounds=SHARE if truncated else UNBOUNDED, counted=False,
    )  # fmt: skip
