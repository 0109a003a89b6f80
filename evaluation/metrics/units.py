"""Simulatability of explanations on generation, through atomic units (Limpijankit et al. 2025)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate, none_if_nan
from evaluation.metrics.followups import FollowUps
from evaluation.metrics.resample import Floats, Ints, codes_of, ratio_estimate
from evaluation.metrics.unit_tables import Buckets, Role, buckets_of

SIMULATABLE, NOT_SIMULATABLE, UNDECIDED = "simulatable", "not simulatable", "undecided"
NO_INPUT_UNIT = "no input unit"
UNDECIDED_UNITS = "an input unit without a label decides it"
NO_LABEL = "output units without a label"


@dataclass(frozen=True, eq=False)
class UnitTable:
    """One row per atomic unit and counterfactual, all columns of one length N.

    ``role`` is ``both`` (one list serves input and output), ``input`` or ``output``. ``in_input`` says whether
    the unit is present in the counterfactual input, ``in_output`` whether in the system's output for it; None
    where the raters gave no aggregated label. What a role does not ask is ignored. ``text`` is the counterfactual
    input (for generality). A counterfactual belongs to one explanation, an explanation to one instance and system.
    """

    unit: Sequence[str]
    counterfactual: Sequence[str]
    explanation: Sequence[str]
    instance: Sequence[str]
    system: Sequence[str]
    role: Sequence[str]
    in_input: Sequence[bool | None]
    in_output: Sequence[bool | None]
    text: Sequence[str] = ()

    def __post_init__(self) -> None:
        size = len(self.unit)
        if not len(self.text):
            object.__setattr__(self, "text", [""] * size)
        for name in self.__dataclass_fields__:
            values = np.asarray(getattr(self, name), dtype=object)
            if values.shape != (size,):
                raise ValueError(f"{name}: expected {size} values, as many as unit has, got {values.shape}")
            object.__setattr__(self, name, values)
        strange = set(self.role) - set(get_args(Role))
        if strange:
            raise ValueError(f"role: expected {', '.join(get_args(Role))}, got {', '.join(sorted(strange))}")
        if len(set(zip(self.counterfactual, self.unit, strict=True))) != size:
            raise ValueError("unit: a unit occurs twice in one counterfactual")
        for name in ("explanation", "instance", "system", "text"):
            found: dict[str, str] = {}
            for key, value in zip(self.counterfactual, getattr(self, name), strict=True):
                if found.setdefault(key, value) != value:
                    raise ValueError(f"{name}: counterfactual {key!r} has two")

    def __len__(self) -> int:
        return len(self.unit)

    @cached_property
    def counterfactuals(self) -> tuple[Ints, tuple[str, ...]]:
        """Codes of the counterfactuals in sorted order, and their names."""
        return codes_of(self.counterfactual)

    def of_counterfactual(self, name: str) -> npt.NDArray[np.object_]:
        """A column that is constant within a counterfactual, one value each."""
        codes, names = self.counterfactuals
        values = np.empty(len(names), dtype=object)
        values[codes] = getattr(self, name)
        return values


@dataclass(frozen=True, eq=False)
class PerCounterfactual:
    """What every figure is made of, one entry per counterfactual, all of shape (K,).

    ``share`` of its input units are present in it (nan where none is labelled); ``status`` is simulatable, not
    simulatable or undecided; ``precision`` is the share of labelled output units present in the system's output
    for it, nan unless it is simulatable.
    """

    counterfactual: npt.NDArray[np.object_]
    explanation: npt.NDArray[np.object_]
    instance: npt.NDArray[np.object_]
    system: npt.NDArray[np.object_]
    text: npt.NDArray[np.object_]
    share: Floats
    status: npt.NDArray[np.object_]
    precision: Floats
    input_units: Ints
    unlabelled_output_units: Ints

    def rows(self) -> Iterator[dict[str, Any]]:
        """One JSON-able dict a counterfactual."""
        for i in range(len(self.counterfactual)):
            yield {
                "counterfactual": self.counterfactual[i],
                "explanation": self.explanation[i],
                "instance": self.instance[i],
                "system": self.system[i],
                "share": none_if_nan(float(self.share[i])),
                "status": self.status[i],
                "precision": none_if_nan(float(self.precision[i])),
            }


@dataclass(frozen=True, eq=False)
class UnitSimulatability:
    """``precision`` is the mean over explanations, ``precision_micro`` over simulatable counterfactuals.

    ``simulatable`` is the share of decided counterfactuals that are simulatable; ``buckets`` counts
    counterfactuals by the share of units present (Table 5).
    """

    precision: Estimate
    precision_micro: Estimate
    simulatable: Estimate
    buckets: Buckets
    per_counterfactual: PerCounterfactual

    def follow_ups(self) -> FollowUps:
        """The counterfactuals as follow-ups, so that ``generality`` and ``growth`` work on them."""
        cf = self.per_counterfactual
        return FollowUps(
            unit=cf.counterfactual.tolist(),
            explanation=cf.explanation.tolist(),
            instance=cf.instance.tolist(),
            system=cf.system.tolist(),
            simulated=[None if status == UNDECIDED else str(status) for status in cf.status],
            real=[None] * len(cf.status),
            text=cf.text.tolist(),
            missing=[UNDECIDED_UNITS] * len(cf.status),
            abstain={NOT_SIMULATABLE},
        )


def per_counterfactual(units: UnitTable) -> PerCounterfactual:
    """Decide for each counterfactual whether it is simulatable, and its precision."""
    codes, names = units.counterfactuals
    size = len(names)

    def count(mask: npt.NDArray[np.bool_]) -> Ints:
        return np.bincount(codes[mask], minlength=size).astype(np.int64)

    asks_input, asks_output = (
        np.array([r != other for r in units.role], bool) for other in ("output", "input")
    )
    given_in, given_out = (
        np.array([v is not None for v in c], bool) for c in (units.in_input, units.in_output)
    )
    yes_in, yes_out = (np.array([v is True for v in c], bool) for c in (units.in_input, units.in_output))
    inputs, labelled, present = count(asks_input), count(asks_input & given_in), count(asks_input & yes_in)
    outputs, reached = count(asks_output & given_out), count(asks_output & yes_out)
    status = np.full(size, UNDECIDED, dtype=object)
    status[(inputs > 0) & (present == inputs)] = SIMULATABLE
    status[present < labelled] = NOT_SIMULATABLE
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(labelled > 0, present / np.maximum(labelled, 1), np.nan)
        hit = np.where((status == SIMULATABLE) & (outputs > 0), reached / np.maximum(outputs, 1), np.nan)
    columns = ("explanation", "instance", "system", "text")
    return PerCounterfactual(
        counterfactual=np.array(names, dtype=object),
        **{name: units.of_counterfactual(name) for name in columns},
        share=share,
        status=status,
        precision=hit,
        input_units=inputs,
        unlabelled_output_units=count(asks_output) - outputs,
    )


def unit_simulatability(
    units: UnitTable, *, rng: np.random.Generator | None = None, replicates: int = 1_000
) -> UnitSimulatability:
    """Simulatability and precision of explanations through their atomic units.

    simulatable(x') = every input unit (role ``input`` or ``both``) is present in x';
    precision(x') = share of output units (``output`` or ``both``) present in the system's output for x', for
    simulatable x' only; headline precision = mean over x' of an explanation, then over explanations.

    An absent input unit makes x' not simulatable whatever the others; where a unit without a label decides, x' is
    undecided; one without any input unit is not defined: both left out and counted. Output units without a
    label are left out of their share and counted. Values in [0, 1]; intervals draw instances.
    Source: Limpijankit et al. 2025, equations 4 and 5.

    >>> table = UnitTable(
    ...     unit=["a", "b"], counterfactual=["c", "c"], explanation=["e", "e"], instance=["x", "x"],
    ...     system=["s", "s"], role=["both", "both"], in_input=[True, True], in_output=[True, False],
    ... )
    >>> unit_simulatability(table).precision.value
    0.5
    """
    found = per_counterfactual(units)
    instances, _ = codes_of(found.instance)
    explanations, names = codes_of(found.explanation)
    usable, simulatable = ~np.isnan(found.precision), found.status == SIMULATABLE
    filled = np.where(usable, found.precision, 0.0)
    sums = np.bincount(explanations, weights=filled, minlength=len(names))
    counts = np.bincount(explanations[usable], minlength=len(names))
    owner = np.zeros(len(names), dtype=np.int64)
    owner[explanations] = instances
    no_input = found.input_units == 0
    undecided = (found.status == UNDECIDED) & ~no_input
    open_cases = {NO_INPUT_UNIT: int(no_input.sum()), UNDECIDED_UNITS: int(undecided.sum())}
    no_output = "simulatable, but no output unit has a label"
    out_units = int(found.unlabelled_output_units[simulatable].sum())

    def estimate(top: npt.ArrayLike, bottom: npt.ArrayLike, clusters: Ints, left: dict[str, int]) -> Estimate:
        return ratio_estimate(
            top,
            bottom,
            clusters,
            rng=rng,
            replicates=replicates,
            reason="no simulatable counterfactual"
            if left is not open_cases
            else "no counterfactual is decided",
            left_out={why: number for why, number in left.items() if number},
        )

    micro_left = {
        NOT_SIMULATABLE: int((found.status == NOT_SIMULATABLE).sum()),
        **open_cases,
        no_output: int((simulatable & ~usable).sum()),
        NO_LABEL: out_units,
    }
    macro_left = {
        "explanations without a simulatable counterfactual": int((counts == 0).sum()),
        NO_LABEL: out_units,
    }
    return UnitSimulatability(
        precision=estimate(
            np.where(counts > 0, sums / np.maximum(counts, 1), 0.0), counts > 0, owner, macro_left
        ),
        precision_micro=estimate(filled, usable, instances, micro_left),
        simulatable=estimate(simulatable, ~(no_input | undecided), instances, open_cases),
        buckets=buckets_of(found.share[~undecided & ~no_input]),
        per_counterfactual=found,
    )
