"""The power of a plan's comparisons, by simulation of studies with the study's own structure; what they cost and how long they take."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import none_if_nan
from evaluation.planning.plan_document import Hypothesis, Plan
from evaluation.planning.plan_drawn import (
    INSIDE,
    Assumed,
    Structure,
    Test,
    Truth,
    draw_agreement,
    draw_gain,
    draw_shares,
    draw_spread,
    ratings_by_instance,
    significant,
)
from evaluation.planning.plan_metrics import METRICS
from evaluation.planning.synthetic import Drawn, StudyDesign, draw_arrays

Floats = npt.NDArray[np.float64]
#: Sizes that are compared with the planned one.
SIZES = (0.5, 0.75, 1.0, 1.5, 2.0)
#: About this many judgments are drawn in all, in at least and at most so many studies.
_BUDGET, _LEAST, MOST_RUNS = 1_500_000, 100, 400
#: Told after each simulated study: how many of how many. It raises to stop.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class PowerRow:
    """The power of one hypothesis with so many instances and raters for each item: the share of ``runs`` simulated studies in which it is
    found, with its standard error; judgments, cost and raters' hours of the whole study."""

    hypothesis: str
    instances: int
    raters: int
    power: float
    error: float
    runs: int
    judgments: int
    cost: float
    hours: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {name: none_if_nan(v) if isinstance(v, float) else v for name, v in asdict(self).items()}


def why_no_power(one: Hypothesis) -> str:
    """Why a hypothesis isn't simulated; empty if it is.

    >>> why_no_power(Hypothesis("H", "mean", value=0.6, about="rating"))
    'power isn’t computed for mean, because it depends on how far the numbers spread; give the hypothesis an assumed standard deviation (sd)'
    >>> why_no_power(Hypothesis("H", "mean", value=0.6, about="rating", smallest_effect=0.2, sd=1.1))
    ''
    """
    kind = METRICS[one.metric]
    if kind.no_power and one.sd is None:
        give = "; give the hypothesis an assumed standard deviation (sd)" if kind.takes_spread else ""
        return f"power isn’t computed for {one.metric}, because {kind.no_power}{give}"
    if not one.smallest_effect:
        return "the hypothesis names no smallest effect of interest"
    return ""


def plan_power(
    plan: Plan,
    structure: Structure,
    assumed: Assumed,
    rng: np.random.Generator,
    *,
    raters: Sequence[int] = (),
    sizes: Sequence[float] = SIZES,
    runs: int = 0,
    progress: Progress | None = None,
) -> list[PowerRow]:
    """The power of each hypothesis, for each number of instances and of raters for each item.

    Studies are drawn in which the smallest effect of interest is true: the first system's value is that much above (for "less", below)
    the second's, or the value above the number. A hypothesis with an assumed standard deviation is drawn from it (``draw_spread``). For precision, labels are combined by majority, ties left out; other metrics are drawn as the
    functions of ``evaluation.planning.plan_drawn`` say. Each instance's mean is compared by a two-sided t test over instances at alpha, NSG and
    agreement by their standard errors over instances; alpha is divided by the number of hypotheses unless nothing is corrected (Holm's
    correction finds at least as much). ``sizes`` multiply the planned instances; ``raters`` are 1 to two more than planned by default. ``runs``
    studies are drawn, by default 100 to 400, so that they take seconds; smaller studies are parts of larger ones, so curves are smooth. Hypotheses
    for which ``why_no_power`` has a reason are left out. Raters' errors shrink differences of precision and are included. ``progress`` is called after each study
    with how many are done and how many there are. Raises ``ValueError`` where the effect leaves no room in [0, 1].

    >>> from evaluation.planning.plan_document import plan_parse
    >>> plan = plan_parse({"hypotheses": [{"name": "H", "metric": "precision", "of": "a", "against": "b", "smallest_effect": 0.3}]})
    >>> (row,) = plan_power(plan, Structure(60, 3, 1, 2), Assumed(0.5), np.random.default_rng(0), raters=[1], sizes=[1], runs=100)
    >>> row.power > 0.8, row.judgments
    (True, 360)
    """
    counts = sorted(set(raters) or {*range(1, structure.raters + 3)})
    alpha = plan.alpha if plan.correction == "none" else plan.alpha / len(plan.hypotheses)
    instances = [math.ceil(size * structure.instances) for size in sizes]
    truths = [
        Truth(hypothesis, structure, assumed, alpha, max(instances), max(counts))
        for hypothesis in plan.hypotheses
        if not why_no_power(hypothesis)
    ]
    numbers = [runs or _runs(_drawn_for(truth)) for truth in truths]
    found, done = [], 0
    for truth, number in zip(truths, numbers, strict=True):
        draw = draw_spread if truth.one.sd is not None else DRAWN.get(truth.one.metric, _draw_precision)
        hits = np.zeros((len(sizes), len(counts)))
        for _ in range(number):
            test = draw(truth, rng)
            for (row, size), (column, k) in product(enumerate(instances), enumerate(counts)):
                hits[row, column] += test(size, k)
            done += 1
            if progress:
                progress(done, sum(numbers))
        for (row, size), (column, k) in product(enumerate(instances), enumerate(counts)):
            found.append(_row(truth.one, structure, size, k, float(hits[row, column]) / number, number))
    return found


def _draw_precision(truth: Truth, rng: np.random.Generator) -> Test:
    """One study on precision."""
    design = design_of(
        truth.one, truth.structure, truth.assumed, instances=truth.instances, raters=truth.raters
    )
    drawn = draw_arrays(design, rng)
    outcomes: dict[int, Floats] = {}

    def test(instances: int, k: int) -> bool:
        if k not in outcomes:
            outcomes[k] = instance_outcomes(drawn, design, k, truth.one)
        return significant(outcomes[k][:instances], truth.one, truth.alpha)

    return test


#: How studies of the other metrics are drawn.
DRAWN: Mapping[str, Callable[[Truth, np.random.Generator], Test]] = {
    "simulatable": draw_shares,
    "share": draw_shares,
    "gain": draw_gain,
    "nsg": draw_gain,
    "kappa": draw_agreement,
    "alpha": draw_agreement,
}


def _drawn_for(truth: Truth) -> int:
    """How many judgments are drawn for one study of a hypothesis."""
    one, structure = truth.one, truth.structure
    if one.sd is not None:
        return truth.instances * ratings_by_instance(truth, truth.raters) * (2 if one.against else 1)
    systems = 2 if one.against else structure.systems if one.metric in ("kappa", "alpha") else 1
    arms = 2 if one.metric in ("gain", "nsg") else 1
    return truth.instances * systems * structure.follow_ups * truth.raters * arms


def _runs(judgments: int) -> int:
    return int(min(max(_BUDGET // judgments, _LEAST), MOST_RUNS))


def design_of(
    one: Hypothesis, structure: Structure, assumed: Assumed, *, instances: int, raters: int
) -> StudyDesign:
    """The synthetic study of a hypothesis that is true by its smallest effect."""
    sign = -1.0 if one.direction == "less" else 1.0
    base = assumed.precision if one.against else float(one.value or 0.0)
    first = base + sign * one.smallest_effect
    if not INSIDE <= first <= 1 - INSIDE:
        raise ValueError(
            f"{one.name}: a precision of {base:g} {'minus' if sign < 0 else 'plus'} the smallest effect {one.smallest_effect:g} is {first:g}; "
            f"expected from {INSIDE:g} to {1 - INSIDE:g}"
        )
    return StudyDesign(
        instances=instances,
        precision=(first, base) if one.against else (first,),
        follow_ups=structure.follow_ups,
        raters=max(20, raters),
        redundancy=raters,
        accuracy=assumed.accuracy,
        clustering=assumed.clustering,
    )


def runs_of(design: StudyDesign) -> int:
    """How many studies of a design are drawn.

    >>> runs_of(StudyDesign(instances=100, follow_ups=2, redundancy=5)), runs_of(StudyDesign())
    (400, 250)
    """
    return _runs(design.judgments)


def instance_outcomes(drawn: Drawn, design: StudyDesign, k: int, one: Hypothesis) -> Floats:
    """Each instance's outcome from the first ``k`` raters of each item, shape (instances,), nan where it has none: the difference of the two
    systems' mean precision, or the precision minus the number."""
    labels, abstain = len(design.labels), design.labels.index(design.abstain) if design.abstain else -1
    votes = (drawn.value[:, :k, None] == np.arange(labels)).sum(axis=1)
    most = votes.max(axis=1)
    label = np.where((votes == most[:, None]).sum(axis=1) == 1, votes.argmax(axis=1), -1)
    predicted = (label >= 0) & (label != abstain)
    shape = (design.instances, len(design.precision), design.follow_ups)
    right = (predicted & (label == drawn.real)).reshape(shape).sum(axis=2)
    known = predicted.reshape(shape).sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(known > 0, right / known, np.nan)
    if one.against:
        return np.asarray(precision[:, 0] - precision[:, 1])
    return np.asarray(precision[:, 0] - float(one.value or 0.0))


def _row(one: Hypothesis, structure: Structure, instances: int, k: int, power: float, runs: int) -> PowerRow:
    judgments = instances * structure.systems * structure.follow_ups * structure.arms * k
    return PowerRow(
        hypothesis=one.name,
        instances=instances,
        raters=k,
        power=power,
        error=math.sqrt(max(power * (1 - power), 0.0) / runs),
        runs=runs,
        judgments=judgments,
        cost=judgments * structure.pay,
        hours=judgments * structure.minutes / 60,
    )
