"""How many items and raters an interval of a given width needs, and the cost, estimated by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from evaluation.core.estimate import none_if_nan
from evaluation.metrics.from_ratings import followups_of
from evaluation.metrics.simulatability import simulatability
from evaluation.planning.synthetic import StudyDesign, SyntheticStudy, draw_study

_Z95 = 1.959963984540054
#: A figure that can be planned for: a function from a study to a number, nan if undefined.
Figure = Callable[[SyntheticStudy], float]


@dataclass(frozen=True)
class PlanRow:
    """What one redundancy needs: sizes, cost, and what to expect of the figure.

    ``width`` is the expected width of the 95 % interval at ``instances``; ``bias`` the mean of the figure minus its
    true value, which more items don't reduce; ``sd_one`` the standard deviation per instance (the figure's standard
    deviation at n instances is sd_one / sqrt(n)). ``runs`` simulated studies were used; with 200, the number of
    instances is itself uncertain by about 10 %.
    """

    redundancy: int
    instances: int
    items: int
    judgments: int
    cost: float
    width: float
    mean: float
    bias: float
    sd_one: float
    runs: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            name: none_if_nan(value) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


def measured_precision(study: SyntheticStudy) -> float:
    """Macro precision of all systems together, from the majority of people."""
    return simulatability(followups_of(study.truth, study.ratings.people(), "majority")[0]).precision.value


def measured_simulatable(study: SyntheticStudy) -> float:
    """Simulatable share, from the majority of people."""
    return simulatability(followups_of(study.truth, study.ratings.people(), "majority")[0]).simulatable.value


def measured_alpha(study: SyntheticStudy) -> float:
    """Krippendorff's alpha among people."""
    from evaluation.agreement import krippendorff_alpha

    return krippendorff_alpha(study.ratings.people()).value


def measured_difference(study: SyntheticStudy) -> float:
    """Macro precision of the first system minus that of the second."""
    table = followups_of(study.truth, study.ratings.people(), "majority")[0]
    first, second = (
        simulatability(table.where("system", name)).precision.value for name in study.design.systems[:2]
    )
    return first - second


#: Name -> the figure, and its true value in a design (None for agreement, which depends on the raters alone).
FIGURES: Mapping[str, tuple[Figure, Callable[[StudyDesign], float | None]]] = {
    "precision": (measured_precision, lambda design: float(np.mean(design.precision))),
    "simulatable": (measured_simulatable, lambda design: design.true_simulatable),
    "difference": (measured_difference, lambda design: design.precision[0] - design.precision[1]),
    "alpha": (measured_alpha, lambda design: None),
}


def plan_width(
    design: StudyDesign,
    width: float,
    rng: np.random.Generator,
    *,
    figure: str = "precision",
    redundancies: Sequence[int] = (1, 3, 5),
    pay_per_judgment: float = 0.0,
    fee: float = 0.0,
    runs: int = 200,
) -> list[PlanRow]:
    """Instances needed so that the figure's 95 % interval is about ``width`` wide, for each redundancy.

    Draws ``runs`` studies of ``design`` at each redundancy; the figure's standard deviation over them falls with
    the square root of the number of instances, so that n = (2 * 1.96 * sd_one / width)^2, at least 2. Cost =
    judgments * ``pay_per_judgment`` * (1 + ``fee``), the fee as a share. ``design.instances`` is the size of the
    studies drawn: 30 or more. Figures: precision, simulatable, difference (between the first two systems), alpha.
    """
    if not width > 0:
        raise ValueError(f"width: expected a number above 0, got {width}")
    price, needed = pay_per_judgment * (1 + fee), _squared(2 * _Z95 / width)
    return [
        _sized(design, k, figure, _draw(design, k, figure, rng, runs), price, needed) for k in redundancies
    ]


def plan_difference(
    design: StudyDesign,
    rng: np.random.Generator,
    *,
    power: float = 0.8,
    redundancies: Sequence[int] = (1, 3, 5),
    pay_per_judgment: float = 0.0,
    fee: float = 0.0,
    runs: int = 200,
) -> list[PlanRow]:
    """Instances needed to find the difference in precision between the design's first two systems.

    For a two-sided test at 5 % with ``power``: n = ((1.96 + z_power) * sd_one / difference)^2, where the difference
    is the one that the raters would measure (their errors shrink it), not the true one.
    """
    if len(design.precision) < 2 or design.precision[0] == design.precision[1]:
        raise ValueError("precision: expected two systems with different precisions")
    if not 0 < power < 1:
        raise ValueError(f"power: expected a value in (0, 1), got {power}")
    from scipy import stats

    z = _Z95 + float(stats.norm.ppf(power))
    rows = []
    for k in redundancies:
        estimates = _draw(design, k, "difference", rng, runs)
        needed = _squared(z / float(np.nanmean(estimates)))
        rows.append(_sized(design, k, "difference", estimates, pay_per_judgment * (1 + fee), needed))
    return rows


def _squared(scale: float) -> Callable[[float], float]:
    """Instances needed, as a function of the standard deviation per instance."""
    return lambda sd: (scale * sd) ** 2


def _draw(design: StudyDesign, k: int, figure: str, rng: np.random.Generator, runs: int) -> np.ndarray:
    if figure not in FIGURES:
        raise ValueError(f"figure: expected one of {', '.join(FIGURES)}, got {figure!r}")
    if runs < 2:
        raise ValueError(f"runs: expected 2 or more, got {runs}")
    measure, _ = FIGURES[figure]
    drawn = replace(design, redundancy=k, raters=max(design.raters, k))
    return np.array([measure(draw_study(drawn, rng)) for _ in range(runs)], dtype=np.float64)


def _sized(
    design: StudyDesign,
    k: int,
    figure: str,
    estimates: np.ndarray,
    price: float,
    needed: Callable[[float], float],
) -> PlanRow:
    defined = estimates[~np.isnan(estimates)]
    if defined.size < 2:
        raise ValueError(f"figure: {figure} is not defined in this design at {k} raters per item")
    sd_one = float(defined.std(ddof=1)) * math.sqrt(design.instances)
    instances = max(2, math.ceil(needed(sd_one)))
    items = instances * len(design.precision) * design.follow_ups
    truth = FIGURES[figure][1](design)
    return PlanRow(
        redundancy=k,
        instances=instances,
        items=items,
        judgments=items * k,
        cost=items * k * price,
        width=2 * _Z95 * sd_one / math.sqrt(instances),
        mean=float(defined.mean()),
        bias=float("nan") if truth is None else float(defined.mean()) - truth,
        sd_one=sd_one,
        runs=int(defined.size),
    )
