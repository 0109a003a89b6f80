"""The table for the simulatability metrics: one row per follow-up, with the predicted and the real output."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from evaluation.metrics.coded_columns import CodedTexts
from evaluation.metrics.masks import Mask, Masks
from evaluation.metrics.resample import Ints, codes_of

Key = Literal["system", "generator", "instance", "explanation", "kind"]
NOT_RATED = "not rated"


@dataclass(frozen=True, eq=False)
class FollowUps:
    """Follow-ups (counterfactuals) with their aggregated simulation and the system's real output.

    All columns are sequences of one length N, or ``CodedTexts``: then an array of objects is made whenever an attribute such as
    ``system`` is read, and isn't kept. ``unit`` names the rated unit; ``explanation`` the explanation
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
    generator: Sequence[str] = field(default_factory=tuple)
    kind: Sequence[str] = field(default_factory=tuple)
    text: Sequence[str] = field(default_factory=tuple)
    missing: Sequence[str] = field(default_factory=tuple)
    refusals_left_out: bool = False
    ties_wrong: bool = False
    _checked: bool = field(default=False, repr=False)
    #: Codes of columns by name, each with its column; tables that differ only in their labels share this cache.
    _coded: dict[str, tuple[Any, Any, tuple[str, ...]]] = field(default_factory=dict, repr=False)
    _columns: dict[str, CodedTexts] = field(default_factory=dict, init=False, repr=False)
    #: Of a part of a table: the masks of the whole table, and the part's rows. ``replace`` doesn't copy it, so masks follow the columns.
    _part_of: tuple[Masks, Mask | Ints] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        size = len(self.unit)
        coded = isinstance(self.unit, CodedTexts)
        for name in ("generator", "kind", "text", "missing"):
            if not len(getattr(self, name)):
                same = NOT_RATED if name == "missing" else ""
                object.__setattr__(self, name, CodedTexts.constant(same, size) if coded else [same] * size)
        for name in _COLUMNS:
            values: Any = getattr(self, name)
            shape = (len(values),) if isinstance(values, CodedTexts) else np.shape(values)
            if not isinstance(values, CodedTexts):
                values = np.asarray(values, dtype=object)
                shape = values.shape
            if shape != (size,):
                raise ValueError(f"{name}: expected {size} values, as many as unit has, got {shape}")
            if isinstance(values, CodedTexts):
                self._columns[name] = values
                object.__delattr__(self, name)  # so that reading it calls __getattr__
            else:
                object.__setattr__(self, name, values)
        object.__setattr__(self, "_size", size)
        object.__setattr__(self, "abstain", frozenset(self.abstain))
        if not self._checked:
            self._check_keys()

    def __getattr__(self, name: str) -> Any:
        """A coded column's values; only called for attributes that aren't there."""
        columns = self.__dict__.get("_columns", {})
        if name not in columns:
            raise AttributeError(name)
        return columns[name].values()

    def column(self, name: str) -> Any:
        """A column as it is stored: a ``CodedTexts``, or an array of objects."""
        found = self._columns.get(name)
        return getattr(self, name) if found is None else found

    def _check_keys(self) -> None:
        unit = self.column("unit")
        if len(np.unique(unit.codes) if isinstance(unit, CodedTexts) else set(unit)) != len(self):
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
        return int(self.__dict__["_size"])

    def codes(self, name: str) -> tuple[Ints, tuple[str, ...]]:
        """Codes of a column in the sorted order of its names, and the names."""
        codes, names = self._known_codes(name)
        return codes.astype(np.int64, copy=False), names

    def names(self, name: str) -> tuple[str, ...]:
        """The texts of a column that has no None, sorted; without an array as long as the table."""
        return self._known_codes(name)[1]

    def _known_codes(self, name: str) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
        """``codes`` as they are stored, of a coded column in as few bytes as possible."""
        column = self.column(name)
        known = self._coded.get(name)
        if known is None or known[0] is not column:
            if isinstance(column, CodedTexts):
                codes, names = column.sorted_used()
                known = (column, CodedTexts.of(codes, names).codes, names)
            else:
                known = (column, *codes_of(column))
            self._coded[name] = known
        return known[1:]

    @property
    def explanation_codes(self) -> Ints:
        return self.codes("explanation")[0]

    @property
    def explanations(self) -> tuple[str, ...]:
        """The explanations' names, sorted."""
        return self.names("explanation")

    def of_explanation(self, name: str) -> npt.NDArray[np.object_]:
        """A column that is constant within an explanation, one value for each of ``explanations``."""
        codes, names = self._known_codes("explanation")
        values: npt.NDArray[Any] = np.empty(len(names), dtype=object)
        column = self.column(name)
        if isinstance(column, CodedTexts):
            places = np.full(len(names), -1, dtype=np.int32)
            places[codes] = column.codes
            return CodedTexts(places, column.names).values()
        values[codes] = column
        return values

    def among(self, name: str, wanted: Collection[str]) -> Mask:
        """Shape (N,): which rows of a column have one of these texts."""
        column = self.column(name)
        if isinstance(column, CodedTexts):
            return column.among(wanted)
        return np.array([value in wanted for value in column], dtype=bool)

    def distinct(self, name: str) -> set[str]:
        """The texts that occur in a column that has no None."""
        column = self.column(name)
        return set(self.names(name) if isinstance(column, CodedTexts) else column)

    def units_in(self, other: FollowUps) -> Mask:
        """Shape (N,): which rows' units are in another table, too."""
        own, others = self.column("unit"), other.column("unit")
        if isinstance(own, CodedTexts) and isinstance(others, CodedTexts) and own.names is others.names:
            held = np.zeros(len(own.names), dtype=bool)
            held[others.codes] = True
            return held[own.codes]
        return self.among("unit", set(other.unit))

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
        columns = {name: self.column(name) for name in ("simulated", "real", "missing")}
        coded = all(isinstance(column, CodedTexts) for column in columns.values())
        if not coded:
            columns = {name: getattr(self, name) for name in columns}
        return (Masks.of_coded if coded else Masks.of_columns)(
            **columns,
            abstain=self.abstain,
            refusals_left_out=self.refusals_left_out,
            ties_wrong=self.ties_wrong,
        )

    def take(self, rows: Mask | Ints) -> FollowUps:
        """The same table with some rows only."""
        if rows.dtype == bool and rows.all():
            return self
        columns: dict[str, Any] = {}
        for name in _COLUMNS:
            column = self.column(name)
            columns[name] = column.take(rows) if isinstance(column, CodedTexts) else column[rows]
        coded = {
            name: (columns[name], *_left(codes[rows], names))
            for name, (column, codes, names) in self._coded.items()
            if column is self.column(name)
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
        codes, names = self._known_codes(name)
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
        return self.replaced(**columns)

    def replaced(self, **columns: Any) -> FollowUps:
        """The same table with some columns replaced, each by a sequence or a ``CodedTexts``; the others stay as they are stored."""
        kept = {
            one.name: self.column(one.name) if one.name in _COLUMNS else getattr(self, one.name)
            for one in fields(self)
            if one.init
        }
        return FollowUps(**kept | columns | {"_checked": True})

    def why_unlabelled(self) -> dict[str, int]:
        """How many follow-ups have no aggregated label, by reason."""
        missing = self.column("missing")
        if isinstance(missing, CodedTexts):
            return missing.counts(~self.labelled)
        reasons, counts = np.unique(self.missing[~self.labelled].astype(str), return_counts=True)  # type: ignore[call-overload]
        return {str(reason): int(count) for reason, count in zip(reasons, counts, strict=True)}


def _left(codes: npt.NDArray[Any], names: tuple[str, ...]) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Codes and names of a column after some rows have been removed."""
    kept = np.flatnonzero(np.bincount(codes, minlength=len(names)))
    if kept.size == len(names):
        return codes, names
    place = np.zeros(len(names), dtype=codes.dtype)
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
