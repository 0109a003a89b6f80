"""Synthetic studies with raters of known quality, so that a metric's result can be compared with the true value.

Pure: no Django and no files. ``manage.py simulate_study`` writes one to a file; ``evaluation.planning.sample_size`` draws many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from evaluation.core.ratings_table import Codes, Ratings
from evaluation.metrics.followups import FollowUps

_CHUNK = 4_000_000
COLUMNS = (
    "rater",
    "rater_kind",
    "unit",
    "variable",
    "value",
    "instance",
    "explanation",
    "system",
    "generator",
    "truth",
    "real_output",
)


@dataclass(frozen=True)
class StudyDesign:
    """The design of a synthetic simulation study.

    ``labels`` with their ``prevalence`` (adds up to 1) are what a careful reader would answer; the last of
    them is ``abstain`` ("cannot guess") if that is set. ``precision`` is, for each system, the probability that
    the system's real output is the one that its explanation predicts. ``accuracy`` is a rater's mean probability of
    the careful reader's label (the other labels are equally likely), ``accuracy_sd`` its standard deviation over
    raters; ``simulators`` maps a simulator's name to its accuracy. ``clustering`` in [0, 1) is the correlation
    between follow-ups of one instance, in their labels and in their precision.
    """

    instances: int = 100
    precision: tuple[float, ...] = (0.8, 0.8)
    follow_ups: int = 10
    raters: int = 20
    redundancy: int = 3
    accuracy: float = 0.85
    accuracy_sd: float = 0.05
    simulators: Mapping[str, float] = field(default_factory=dict)
    labels: tuple[str, ...] = ("yes", "no", "cannot guess")
    prevalence: tuple[float, ...] = (0.35, 0.3, 0.35)
    abstain: str = "cannot guess"
    clustering: float = 0.1
    variable: str = "simulation"

    def __post_init__(self) -> None:
        for name in ("instances", "follow_ups", "raters", "redundancy"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected 1 or more, got {getattr(self, name)}")
        if self.redundancy > self.raters:
            raise ValueError(f"redundancy: {self.redundancy} raters per item, but there are {self.raters}")
        shares = {"accuracy": self.accuracy, **{f"simulators[{k}]": v for k, v in self.simulators.items()}}
        shares |= {f"precision[{i}]": p for i, p in enumerate(self.precision)}
        for name, value in shares.items():
            if not 0 <= value <= 1:
                raise ValueError(f"{name}: expected a value in [0, 1], got {value}")
        if not self.precision:
            raise ValueError("precision: expected one value for each system, got none")
        if not 0 <= self.clustering < 1:
            raise ValueError(f"clustering: expected a value in [0, 1), got {self.clustering}")
        if len(self.prevalence) != len(self.labels) or len(self.labels) < 2:
            raise ValueError("prevalence: expected one share for each of two or more labels")
        if min(self.prevalence) < 0 or abs(sum(self.prevalence) - 1) > 1e-9:
            raise ValueError(f"prevalence: expected shares that add up to 1, got {self.prevalence}")
        if self.abstain and self.abstain not in self.labels:
            raise ValueError(f"abstain: {self.abstain!r} is not among the labels")
        if sum(label != self.abstain for label in self.labels) < 2:
            raise ValueError("labels: expected two or more besides the one that abstains")

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(f"system-{i + 1}" for i in range(len(self.precision)))

    @property
    def items(self) -> int:
        """How many follow-ups there are to rate."""
        return self.instances * len(self.precision) * self.follow_ups

    @property
    def judgments(self) -> int:
        """How many judgments people give."""
        return self.items * self.redundancy

    @property
    def true_simulatable(self) -> float:
        return 1.0 - (self.prevalence[self.labels.index(self.abstain)] if self.abstain else 0.0)


@dataclass(frozen=True, eq=False)
class SyntheticStudy:
    """One drawn study: the ratings, and ``truth``, the follow-ups labelled as a careful reader would.

    ``accuracies`` maps every rater to its drawn probability of the careful reader's label.
    """

    design: StudyDesign
    ratings: Ratings
    truth: FollowUps
    accuracies: Mapping[str, float]

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The long table, one tuple per rating in the order of ``COLUMNS``."""
        table, of = self.ratings, self.truth
        where = {unit: row for row, unit in enumerate(of.unit)}
        for rater, unit, value in zip(table.rater, table.unit, table.value, strict=True):
            name = table.raters[rater]
            row = where[table.units[unit]]
            yield (
                name,
                "simulator" if name in table.simulators else "human",
                table.units[unit],
                self.design.variable,
                table.labels[value],
                of.instance[row],
                of.explanation[row],
                of.system[row],
                of.generator[row],
                str(of.simulated[row]),
                str(of.real[row]),
            )


def draw_study(design: StudyDesign, rng: np.random.Generator) -> SyntheticStudy:
    """Draw one study; the same design and generator state give the same study.

    The population's macro and micro precision of a system is its ``design.precision``, its simulatable share
    ``design.true_simulatable``. What imperfect raters *measure* differs from it, and a wrong label may agree with the
    system's output by chance.

    >>> study = draw_study(StudyDesign(instances=2, follow_ups=1), np.random.default_rng(0))
    >>> len(study.ratings), study.truth.unit[0]
    (12, 'x001-s1-f01')
    """
    systems, follow_ups = len(design.precision), design.follow_ups
    labels = _labels(design, rng)
    real = _real_outputs(design, labels, rng)
    wide = len(str(design.instances)) + 2
    instance = [f"x{i + 1:0{wide}d}" for i in range(design.instances)]
    keys = [(x, s, f) for x in range(design.instances) for s in range(systems) for f in range(follow_ups)]
    digits = max(2, len(str(follow_ups)))
    explanation = [f"{instance[x]}-s{s + 1}" for x, s, _ in keys]
    unit = [f"{e}-f{f + 1:0{digits}d}" for e, (_, _, f) in zip(explanation, keys, strict=True)]
    truth = FollowUps(
        unit=unit,
        explanation=explanation,
        instance=[instance[x] for x, _, _ in keys],
        system=[design.systems[s] for _, s, _ in keys],
        simulated=[design.labels[code] for code in labels],
        real=[design.labels[code] for code in real],
        generator=[f"generator-{f % 2 + 1}" for _, _, f in keys],
        abstain={design.abstain} if design.abstain else frozenset(),
    )
    clusters = np.array([x for x, _, _ in keys], dtype=np.int32)
    ratings, accuracies = _ratings(design, tuple(unit), clusters, labels, rng)
    return SyntheticStudy(design, ratings, truth, accuracies)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A drawn study without names: codes in ``design.labels``, in the order of instance, system, follow-up.

    ``label`` of shape (items,) is what a careful reader would answer, ``real`` each system's real output, ``value`` of shape (items,
    redundancy) what different raters answered.
    """

    label: npt.NDArray[np.int64]
    real: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]


def draw_arrays(design: StudyDesign, rng: np.random.Generator) -> Drawn:
    """Draw one study as ``draw_study`` does, without simulators and names: many can be drawn in a second.

    The first k columns of ``value`` are a study with k raters for each item, the first items one with fewer instances.

    >>> drawn = draw_arrays(StudyDesign(instances=2, follow_ups=1), np.random.default_rng(0))
    >>> drawn.real.shape, drawn.value.shape
    ((4,), (4, 3))
    """
    labels = _labels(design, rng)
    real = _real_outputs(design, labels, rng)
    accuracy = np.clip(rng.normal(design.accuracy, design.accuracy_sd, design.raters), 0.0, 1.0)
    people = _choose(labels.size, design.raters, design.redundancy, rng)
    right = rng.random(people.shape) < accuracy[people]
    step = rng.integers(1, len(design.labels), size=people.shape)
    return Drawn(
        labels, real, np.where(right, labels[:, None], (labels[:, None] + step) % len(design.labels))
    )


def _labels(design: StudyDesign, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Careful labels of all follow-ups; those of one instance share its own prevalences."""
    shape = (design.instances, len(design.precision) * design.follow_ups)
    share = np.asarray(design.prevalence, dtype=np.float64)
    if design.clustering:
        alpha = np.maximum(share, 1e-12) * (1 - design.clustering) / design.clustering
        drawn = rng.gamma(alpha, size=(design.instances, len(share)))
        total = drawn.sum(axis=1, keepdims=True)
        own = np.where(total > 0, drawn / np.where(total > 0, total, 1.0), share)
    else:
        own = np.broadcast_to(share, (design.instances, len(share)))
    edges = np.cumsum(own, axis=1)[:, :-1]
    return (rng.random(shape)[:, :, None] >= edges[:, None, :]).sum(axis=2).ravel().astype(np.int64)


def _real_outputs(
    design: StudyDesign, labels: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """The system's real outputs: the careful label with the explanation's own precision, else another one."""
    shape = (design.instances, len(design.precision), design.follow_ups)
    mean = np.broadcast_to(np.asarray(design.precision)[None, :], shape[:2])
    if design.clustering:
        strength = (1 - design.clustering) / design.clustering
        inside = np.clip(mean, 1e-12, 1 - 1e-12)
        own = rng.beta(inside * strength, (1 - inside) * strength)
    else:
        own = mean
    kept = (rng.random(shape) < own[:, :, None]).ravel()
    outputs = np.array([i for i, name in enumerate(design.labels) if name != design.abstain])
    place = np.full(len(design.labels), -1)
    place[outputs] = np.arange(len(outputs))
    step = rng.integers(1, len(outputs), size=labels.size)
    other = outputs[(place[labels] + step) % len(outputs)]
    anything = outputs[rng.integers(0, len(outputs), size=labels.size)]
    return np.where(place[labels] < 0, anything, np.where(kept, labels, other))


def _ratings(
    design: StudyDesign,
    units: tuple[str, ...],
    clusters: Codes,
    labels: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[Ratings, dict[str, float]]:
    names = [f"rater-{i + 1:0{len(str(design.raters))}d}" for i in range(design.raters)]
    clash = set(names) & set(design.simulators)
    if clash:
        raise ValueError(f"simulators: {', '.join(sorted(clash))} is the name of a rater")
    drawn = np.clip(rng.normal(design.accuracy, design.accuracy_sd, design.raters), 0.0, 1.0)
    accuracies = dict(zip(names, drawn.tolist(), strict=True)) | dict(design.simulators)
    people = _choose(len(units), design.raters, design.redundancy, rng)
    rater, unit = people.ravel(), np.repeat(np.arange(len(units)), design.redundancy)
    for number in range(len(design.simulators)):
        rater = np.concatenate([rater, np.full(len(units), design.raters + number)])
        unit = np.concatenate([unit, np.arange(len(units))])
    right = rng.random(rater.size) < np.array(list(accuracies.values()))[rater]
    step = rng.integers(1, len(design.labels), size=rater.size)
    value = np.where(right, labels[unit], (labels[unit] + step) % len(design.labels))
    ratings = Ratings(
        raters=tuple(accuracies),
        units=units,
        labels=design.labels,
        rater=rater.astype(np.int32),
        unit=unit.astype(np.int32),
        value=value.astype(np.int32),
        simulators=frozenset(design.simulators),
        abstain=frozenset({design.abstain} if design.abstain else ()),
        clusters=clusters,
    )
    return ratings, accuracies


def _choose(units: int, raters: int, k: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Shape (units, k): k different raters for each unit, drawn so that every set of raters is equally likely."""
    step = max(1, _CHUNK // raters)
    parts = [
        np.argpartition(rng.random((min(step, units - start), raters)), k - 1, axis=1)[:, :k].copy()
        for start in range(0, units, step)
    ]
    return np.concatenate(parts).astype(np.int64)
