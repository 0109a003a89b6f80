"""All figures that a file of ratings allows: simulation precision, gain over a control arm, accuracy by condition, utility."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.agreement import PerRater, aggregate, parse_rule
from evaluation.agreement.reading_columns import JOINT
from evaluation.core.estimate import Estimate
from evaluation.metrics.file_ratings import FileRatings
from evaluation.metrics.followups import FollowUps
from evaluation.metrics.forward import forward_accuracy
from evaluation.metrics.from_ratings import followups_of
from evaluation.metrics.gain import simulatability_gain
from evaluation.metrics.simulatability import per_rater_simulatability, simulatability
from evaluation.metrics.utility import utility

ALL = "all"


@dataclass(frozen=True)
class FileFigure:
    """One figure: whose labels (``people`` or a simulator's name), of which system (``all``), what, and the estimate."""

    side: str
    system: str
    metric: str
    estimate: Estimate

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"raters": self.side, "system": self.system, "metric": self.metric, **self.estimate.to_dict()}


@dataclass(frozen=True)
class FigureChoices:
    """How figures are computed: the rule of aggregation, the condition without the explanation, the two variables of utility (both or
    none), and the resamples for intervals (0: none)."""

    rule: str = "majority"
    control: str = ""
    before: str = ""
    after: str = ""
    replicates: int = 1_000
    seed: int = 0

    @property
    def resampling(self) -> dict[str, Any]:
        """For each figure anew, so that it doesn't depend on which others there are."""
        rng = np.random.default_rng(self.seed) if self.replicates else None
        return {"rng": rng, "replicates": self.replicates}


def file_figures(found: FileRatings, choices: FigureChoices) -> list[FileFigure]:
    """The figures of people and of each simulator, for all systems together and each one.

    ``found`` has the ratings of one variable, or both variables of utility. Real outputs give simulation precision (of the arms that show
    the explanation), and accuracy by condition where there are several; ``control`` gives the gain; ``before`` and ``after``
    with correct answers give utility. Raises ``ValueError`` if the file allows none of these, or lacks what is asked for.
    """
    utility_asked = bool(choices.before or choices.after)
    if not utility_asked and "real" not in found.of_unit:
        raise ValueError(
            "there is no column with the system's real output, with which labels are compared: name it with --real COL, or name the "
            "variables of utility with --before and --after"
        )
    if choices.control and choices.control not in set(found.column("condition")):
        known = ", ".join(map(repr, sorted(set(found.column("condition")) - {""}))) or "none"
        raise ValueError(f"no rating has the condition {choices.control!r}; there are {known}")
    figures = []
    for side, part in _sides(found):
        systems = sorted(set(part.column("system")) - {""})
        for system in [ALL, *(systems if len(systems) > 1 else ())]:
            own = part if system == ALL else part.units_where(np.asarray(part.column("system") == system))
            if not len(own.ratings):
                continue  # a simulator that judged nothing of this system
            kinds = _utility(own, choices) if utility_asked else _simulation(own, choices)
            figures += [FileFigure(side, system, metric, estimate) for metric, estimate in kinds]
    return figures


def _sides(found: FileRatings) -> Iterator[tuple[str, FileRatings]]:
    table = found.ratings
    people = ~table.is_simulator[table.rater]
    masks = {"people": people} if people.any() or not table.simulators else {}
    masks |= {
        name: table.rater == table.raters.index(name)
        for name in sorted(table.simulators)
        if (table.rater == table.raters.index(name)).any()
    }
    for side, kept in masks.items():
        part = table.where(kept)
        names = {part.raters[code] for code in set(part.rater.tolist())}
        yield (
            side,
            FileRatings(part.only_raters(names), found.of_unit, found.blank, found.left_out, found.notes),
        )


def _simulation(own: FileRatings, choices: FigureChoices) -> Iterator[tuple[str, Estimate]]:
    conditions = own.column("condition")
    shown = own.units_where(np.asarray(conditions != choices.control)) if choices.control else own
    tables = followups_of(_follow_ups(shown), shown.ratings, choices.rule)
    each = isinstance(parse_rule(choices.rule), PerRater)
    measured = (
        per_rater_simulatability(tables, **choices.resampling)
        if each
        else simulatability(tables[0], **choices.resampling)
    )
    yield "precision, mean over explanations", measured.precision
    yield "precision, all follow-ups together", measured.precision_micro
    yield "simulatable share", measured.simulatable
    yield "refused or unanswered", measured.unanswered
    if choices.control:
        yield from _gain(own, choices)
    elif len(set(conditions) - {""}) > 1:
        labels = None if each else aggregate(own.ratings, choices.rule).by_unit()
        yield from _by_condition(own, labels, choices)


def _follow_ups(own: FileRatings) -> FollowUps:
    units = own.ratings.units
    instance, system = own.column("instance"), own.column("system")
    explanation = own.column("explanation")
    named = np.array(
        [
            text or f"{which} · {whose}" if which or whose else unit
            for text, which, whose, unit in zip(explanation, instance, system, units, strict=True)
        ],
        dtype=object,
    )
    instances = np.array([text or name for text, name in zip(instance, named, strict=True)], dtype=object)
    return FollowUps(
        unit=units,
        explanation=list(named),
        instance=list(instances),
        system=list(system),
        simulated=[None] * len(units),
        real=[text or None for text in own.column("real")],
        abstain=own.ratings.abstain,
    )


def _gain(own: FileRatings, choices: FigureChoices) -> Iterator[tuple[str, Estimate]]:
    table, at = own.ratings, own.ratings.unit
    pair = own.column("follow_up") if "follow_up" in own.of_unit else _unit_alone(own)
    instance = _follow_ups(own).instance
    found = simulatability_gain(
        np.array(table.labels, dtype=object)[table.value].tolist(),
        [text or None for text in own.column("real")[at]],
        pair[at].tolist(),
        np.asarray(instance, dtype=object)[at].tolist(),
        (own.column("condition")[at] != choices.control).tolist(),
        abstain=table.abstain,
        **choices.resampling,
    )
    yield "accuracy with the explanation", found.accuracy_with
    yield "accuracy without it", found.accuracy_without
    yield "gain", found.gain
    yield "normalized gain (NSG)", found.nsg
    yield "misled", found.misled
    yield "helped", found.helped


def _unit_alone(own: FileRatings) -> np.ndarray[Any, Any]:
    """The unit's own name, without its condition and variable, which is the same in both arms."""
    return np.array([name.split(JOINT)[0] for name in own.ratings.units], dtype=object)


def _by_condition(
    own: FileRatings, labels: Mapping[str, str | None] | None, choices: FigureChoices
) -> Iterator[tuple[str, Estimate]]:
    table, units = own.ratings, np.arange(len(own.ratings.units))
    at = table.unit if labels is None else units
    predicted: Sequence[str | None] = (
        np.array(table.labels, dtype=object)[table.value].tolist()
        if labels is None
        else [labels.get(name) for name in table.units]
    )
    found = forward_accuracy(
        predicted,
        [text or None for text in own.column("real")[at]],
        np.asarray(_follow_ups(own).instance, dtype=object)[at].tolist(),
        own.column("condition")[at].tolist(),
        **choices.resampling,
    )
    for name, estimate in found.accuracy.items():
        yield f"accuracy, {name or 'no condition'}", estimate


def _utility(own: FileRatings, choices: FigureChoices) -> Iterator[tuple[str, Estimate]]:
    if not (choices.before and choices.after):
        raise ValueError("--before and --after: name both variables")
    if "correct" not in own.of_unit:
        raise ValueError("there is no column with the correct answer: name it with --correct COL")
    sides = []
    for name in (choices.before, choices.after):
        part = own.variable(name)
        labels = aggregate(part.ratings, choices.rule).by_unit()
        plain = _unit_alone(part)
        sides.append({unit: labels.get(full) for unit, full in zip(plain, part.ratings.units, strict=True)})
        own_of = dict(
            zip(plain, zip(part.column("correct"), part.column("instance"), strict=True), strict=True)
        )
    before, after = sides
    keys = sorted(own_of)
    found = utility(
        [before.get(key) for key in keys],
        [after.get(key) for key in keys],
        [own_of[key][0] or None for key in keys],
        [own_of[key][1] or key for key in keys],
        **choices.resampling,
    )
    yield "right before", found.right_before
    yield "right after", found.right_after
    yield "gain in accuracy", found.gain
    for name, estimate in found.shares.items():
        yield name, estimate
