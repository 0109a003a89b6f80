"""The power of a plan's comparisons, by simulation of studies with the study's own structure; what they cost and how long they take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import none_if_nan
from evaluation.planning.plan_document import Hypothesis, Plan
from evaluation.planning.synthetic import Drawn, StudyDesign, draw_arrays

Floats = npt.NDArray[np.float64]
#: Sizes that are compared with the planned one.
SIZES = (0.5, 0.75, 1.0, 1.5, 2.0)
#: About this many judgments are drawn in all, in at least and at most so many studies.
_BUDGET, _LEAST, MOST_RUNS = 1_500_000, 100, 400
#: The least and the largest effect that is looked for.
_INSIDE = 0.01


@dataclass(frozen=True)
class Assumed:
    """What a power calculation takes for granted: the precision of the system that is compared with (or that the value is about), a
    rater's mean probability of a careful reader's label, and the correlation within instances."""

    precision: float = 0.7
    accuracy: float = 0.85
    clustering: float = 0.1

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0 < value < 1:
                raise ValueError(f"{name}: got {value:g}; expected a number between 0 and 1")


@dataclass(frozen=True)
class Structure:
    """A study's own structure: its instances, follow-ups of each explanation, raters for each item, what a judgment costs and how many
    minutes it takes; ``systems`` is how many explain each instance."""

    instances: int
    follow_ups: int
    raters: int
    systems: int
    pay: float = 0.0
    minutes: float = 0.0


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

    >>> why_no_power(Hypothesis("H", "alpha", value=0.6))
    'power is simulated for precision only'
    """
    if one.metric != "precision":
        return "power is simulated for precision only"
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
) -> list[PowerRow]:
    """The power of each hypothesis on precision, for each number of instances and of raters for each item.

    Studies are drawn in which the smallest effect of interest is true: the first system's precision is that much above (for "less", below)
    the second's, or the system's above the number. Labels are combined by majority, ties left out; each instance's mean precision is
    compared by a two-sided t test over instances at alpha, divided by the number of hypotheses unless nothing is corrected (Holm's
    correction finds at least as much). ``sizes`` multiply the planned instances; ``raters`` are 1 to two more than planned by default. ``runs``
    studies are drawn, by default 100 to 400, so that they take seconds; smaller studies are parts of larger ones, so curves are smooth. Hypotheses
    for which ``why_no_power`` has a reason are left out. Raters' errors shrink differences and are included. Raises ``ValueError`` where the effect leaves no room in [0, 1].

    >>> from evaluation.planning.plan_document import plan_parse
    >>> plan = plan_parse({"hypotheses": [{"name": "H", "metric": "precision", "of": "a", "against": "b", "smallest_effect": 0.3}]})
    >>> (row,) = plan_power(plan, Structure(60, 3, 1, 2), Assumed(0.5), np.random.default_rng(0), raters=[1], sizes=[1], runs=100)
    >>> row.power > 0.8, row.judgments
    (True, 360)
    """
    counts = sorted(set(raters) or {*range(1, structure.raters + 3)})
    found = []
    for one in plan.hypotheses:
        if why_no_power(one):
            continue
        alpha = plan.alpha if plan.correction == "none" else plan.alpha / len(plan.hypotheses)
        design = design_of(
            one, structure, assumed, instances=math.ceil(max(sizes) * structure.instances), raters=max(counts)
        )
        number = runs or runs_of(design)
        hits = np.zeros((len(sizes), len(counts)))
        for _ in range(number):
            drawn = draw_arrays(design, rng)
            for column, k in enumerate(counts):
                values = instance_outcomes(drawn, design, k, one)
                for row, size in enumerate(sizes):
                    part = values[: math.ceil(size * structure.instances)]
                    hits[row, column] += _significant(part, one, alpha)
        for row, size in enumerate(sizes):
            for column, k in enumerate(counts):
                found.append(
                    _row(
                        one,
                        structure,
                        math.ceil(size * structure.instances),
                        k,
                        float(hits[row, column]) / number,
                        number,
                    )
                )
    return found


def judgments_drawn(plan: Plan, structure: Structure) -> int:
    """About how many judgments ``plan_power`` draws in all by default: a million take some two seconds of processor time.

    >>> from evaluation.planning.plan_document import plan_parse
    >>> plan = plan_parse({"hypotheses": [{"name": "H", "metric": "precision", "of": "a", "against": "b", "smallest_effect": 0.1}]})
    >>> judgments_drawn(plan, Structure(40, 3, 3, 2)), judgments_drawn(plan, Structure(100_000, 3, 3, 2))
    (960000, 600000000)
    """
    drawn = 0
    for one in plan.hypotheses:
        if not why_no_power(one):
            systems = 2 if one.against else 1
            of_one = (
                math.ceil(max(SIZES) * structure.instances)
                * systems
                * structure.follow_ups
                * (structure.raters + 2)
            )
            drawn += of_one * int(min(max(_BUDGET // of_one, _LEAST), MOST_RUNS))
    return drawn


def design_of(
    one: Hypothesis, structure: Structure, assumed: Assumed, *, instances: int, raters: int
) -> StudyDesign:
    """The synthetic study of a hypothesis that is true by its smallest effect."""
    sign = -1.0 if one.direction == "less" else 1.0
    base = assumed.precision if one.against else float(one.value or 0.0)
    first = base + sign * one.smallest_effect
    if not _INSIDE <= first <= 1 - _INSIDE:
        raise ValueError(
            f"{one.name}: a precision of {base:g} {'minus' if sign < 0 else 'plus'} the smallest effect {one.smallest_effect:g} is {first:g}; "
            f"expected from {_INSIDE:g} to {1 - _INSIDE:g}"
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
    return int(min(max(_BUDGET // design.judgments, _LEAST), MOST_RUNS))


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


def _significant(values: Floats, one: Hypothesis, alpha: float) -> bool:
    """Whether a two-sided t test finds the mean on the side that the hypothesis says."""
    from scipy.special import stdtr

    known = values[~np.isnan(values)]
    if known.size < 2:
        return False
    error = known.std(ddof=1) / math.sqrt(known.size)
    if error == 0:
        return False
    t = float(known.mean() / error)
    side = {"greater": t > 0, "less": t < 0, "different": True}[one.direction]
    return side and 2 * float(stdtr(known.size - 1, -abs(t))) <= alpha


def _row(one: Hypothesis, structure: Structure, instances: int, k: int, power: float, runs: int) -> PowerRow:
    judgments = instances * structure.systems * structure.follow_ups * k
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
