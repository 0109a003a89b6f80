"""The table for the simulatability metrics: one row per follow-up, with the predicted and the real output."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from evaluation.metrics.masks import Mask, Masks
from evaluation.metrics.resample import Ints, codes_of

Key = Literal["system", "generator", "instance", "explanation", "kind"]
NOT_RATED = "not rated"


@dataclass(frozen=True, eq=False)
class FollowUps:
    """Follow-ups (counterfactuals) with their aggregated simulation and the system's real output.

    All columns are sequences of one length N. ``unit`` names the rated unit; ``explanation`` the explanation
    e that it follows, ``instance`` and ``system`` those of e. ``simulated`` is the raters' aggregated label,
    None where there is none, and ``missing`` then says why (a tie; not rated). ``real`` is the system's real
    output on the follow-up, None where it is not known; "refusal" and "neither" are outcomes like any other, which no
    simulation predicts. ``abstain`` are the labels that mean "cannot guess".
    ``generator``, ``kind`` and ``text`` may be left empty. With ``refusals_left_out`` follow-ups whose real output is a refusal or
    neither answer are left out of precision instead of counting as wrong; with ``ties_wrong`` those on which raters
    tie count as wrong instead of being left out. An explanation has one instance and one system.

    Raises ``ValueError`` naming the column where lengths differ or an explanation has two instances or systems.

    >>> table = FollowUps(
    ...     unit=["u1", "u2"], explanation=["e", "e"], instance=["x", "x"], system=["s", "s"],
    ...     simulated=["yes", "cannot guess"], real=["no", "no"], abstain={"cannot guess"},
    ... )
    >>> table.simulatable.tolist(), table.right.tolist()
    ([True, False], [False, False])
    """

    unit: Sequence[str]
    explanation: Sequence[str]
    instance: Sequence[str]
    system: Sequence[str]
    simulated: Sequence[str | None]
    real: Sequence[str | None]
    abstain: Collection[str] = frozenset()
    generator: Sequence[str] = ()
    kind: Sequence[str] = ()
    text: Sequence[str] = ()
    missing: Sequence[str] = ()
    refusals_left_out: bool = False
    ties_wrong: bool = False
    _checked: bool = field(default=False, repr=False)
    #: Codes of columns by name, each with its column; tables that differ only in their labels share this cache.
    _coded: dict[str, tuple[Any, Ints, tuple[str, ...]]] = field(default_factory=dict, repr=False)
    #: Of a part of a table: the masks of the whole table, and the part's rows. ``replace`` doesn't copy it, so masks follow the columns.
    _part_of: tuple[Masks, Mask | Ints] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        size = len(self.unit)
        for name in ("generator", "kind", "text", "missing"):
            if not len(getattr(self, name)):
                object.__setattr__(self, name, [NOT_RATED if name == "missing" else ""] * size)
        for name in _COLUMNS:
            values = np.asarray(getattr(self, name), dtype=object)
            if values.shape != (size,):
                raise ValueError(f"{name}: expected {size} values, as many as unit has, got {values.shape}")
            object.__setattr__(self, name, values)
        object.__setattr__(self, "abstain", frozenset(self.abstain))
        if not self._checked:
            self._check_keys()

    def _check_keys(self) -> None:
        if len(set(self.unit)) != len(self.unit):
            raise ValueError("unit: a unit occurs twice")
        for name in ("instance", "system"):
            codes, names = self.codes(name)
            first = np.full(len(self.explanations), -1, dtype=np.int64)
            first[self.explanation_codes] = codes
            wrong = np.flatnonzero(first[self.explanation_codes] != codes)
            if wrong.size:
                row = int(wrong[0])
                key = self.explanation[row]
                two = sorted({names[codes[row]], names[first[self.explanation_codes[row]]]})
                raise ValueError(f"{name}: explanation {key!r} has two: {', '.join(two)}")

    def __len__(self) -> int:
        return len(self.unit)

    def codes(self, name: str) -> tuple[Ints, tuple[str, ...]]:
        """Codes of a column in the sorted order of its names, and the names."""
        column = getattr(self, name)
        known = self._coded.get(name)
        if known is None or known[0] is not column:
            known = self._coded[name] = (column, *codes_of(column))
        return known[1:]

    @cached_property
    def _explanations(self) -> tuple[Ints, tuple[str, ...]]:
        return self.codes("explanation")

    @property
    def explanation_codes(self) -> Ints:
        return self._explanations[0]

    @property
    def explanations(self) -> tuple[str, ...]:
        """The explanations' names, sorted."""
        return self._explanations[1]

    def of_explanation(self, name: str) -> npt.NDArray[np.object_]:
        """A column that is constant within an explanation, one value for each of ``explanations``."""
        values = np.empty(len(self.explanations), dtype=object)
        values[self.explanation_codes] = getattr(self, name)
        return values

    @property
    def labelled(self) -> Mask:
        """Shape (N,): has an aggregated label."""
        return self._masks.labelled

    @property
    def simulatable(self) -> Mask:
        """Shape (N,): in C*, that is, labelled with something other than "cannot guess"."""
        return self._masks.simulatable

    @property
    def known(self) -> Mask:
        """Shape (N,): the system's real output is known, and counts where it is a refusal or neither answer."""
        return self._masks.known

    @property
    def predicted(self) -> Mask:
        """Shape (N,): the denominator of precision, if the real output is known: C*, and ties that count as wrong."""
        return self._masks.predicted

    @property
    def tied(self) -> Mask:
        """Shape (N,): has no aggregated label because raters tie."""
        return self._masks.tied

    @property
    def unanswered(self) -> Mask:
        """Shape (N,): the system's real output is known to be no answer, a refusal or neither of the answers."""
        return self._masks.unanswered

    @property
    def right(self) -> Mask:
        """Shape (N,): in C*, and the simulated label is the real output."""
        return self._masks.right

    @cached_property
    def _masks(self) -> Masks:
        if self._part_of is not None:
            whole, rows = self._part_of
            return whole.take(rows)
        return Masks.of_columns(
            simulated=self.simulated,
            real=self.real,
            missing=self.missing,
            abstain=self.abstain,
            refusals_left_out=self.refusals_left_out,
            ties_wrong=self.ties_wrong,
        )

    def take(self, rows: Mask | Ints) -> FollowUps:
        """The same table with some rows only."""
        if rows.dtype == bool and rows.all():
            return self
        columns = {name: getattr(self, name)[rows] for name in _COLUMNS}
        coded = {
            name: (columns[name], *_left(codes[rows], names))
            for name, (column, codes, names) in self._coded.items()
            if column is getattr(self, name)
        }
        part = FollowUps(
            **columns,
            abstain=self.abstain,
            refusals_left_out=self.refusals_left_out,
            ties_wrong=self.ties_wrong,
            _checked=True,
            _coded=coded,
        )
        object.__setattr__(part, "_part_of", (self._masks, rows))
        return part

    def where(self, name: Key, value: str) -> FollowUps:
        """The rows whose column ``name`` equals ``value``."""
        codes, names = self.codes(name)
        if value not in names:
            return self.take(np.zeros(len(self), dtype=bool))
        return self.take(codes == names.index(value))

    def with_labels(
        self, labels: Mapping[str, str | None], missing: Mapping[str, str] | None = None
    ) -> FollowUps:
        """The same follow-ups with other aggregated labels, by unit; ``missing`` says why a unit has none."""
        why = missing or {}
        return self.with_columns(
            simulated=[labels.get(unit) for unit in self.unit],
            missing=[why.get(unit, NOT_RATED) for unit in self.unit],
        )

    def with_columns(self, **columns: Sequence[str | None]) -> FollowUps:
        """The same follow-ups with some of simulated, missing, real, generator, kind or text replaced."""
        fixed = set(columns) & {"unit", "explanation", "instance", "system"}
        if fixed:
            raise ValueError(f"columns: {', '.join(sorted(fixed))} cannot be replaced")
        return replace(self, **columns, _checked=True)  # type: ignore[arg-type]

    def why_unlabelled(self) -> dict[str, int]:
        """How many follow-ups have no aggregated label, by reason."""
        reasons, counts = np.unique(self.missing[~self.labelled].astype(str), return_counts=True)  # type: ignore[call-overload]
        return {str(reason): int(count) for reason, count in zip(reasons, counts, strict=True)}


def _left(codes: Ints, names: tuple[str, ...]) -> tuple[Ints, tuple[str, ...]]:
    """Codes and names of a column after some rows have been removed."""
    kept = np.flatnonzero(np.bincount(codes, minlength=len(names)))
    place = np.zeros(len(names), dtype=np.int64)
    place[kept] = np.arange(kept.size)
    return place[codes], tuple(names[number] for number in kept)


_COLUMNS = (
    "unit",
    "explanation",
    "instance",
    "system",
    "simulated",
    "real",
    "generator",
    "kind",
    "text",
    "missing",
)
