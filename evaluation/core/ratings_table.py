"""The ratings table: who gave which unit which label, as integer codes in numpy arrays. Everything in ``agreement`` and
``metrics`` works on this form. A table has one variable; a study with several variables has several tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from annotator.hit_types.base import Level
from evaluation.core.names import in_order

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: How many ratings are unpacked at a time.
_PIECE = 1_000_000


@dataclass(frozen=True, eq=False)
class Grouped:
    """The ratings in order of unit, then rater: those of unit u are the slice ``start[u]:start[u + 1]``.

    ``rater``, ``value`` and ``unit`` are int32 codes of shape (N,), those of the table itself if it is in this order;
    ``start`` is int64 of shape (units + 1,).
    """

    start: Ints
    rater: Codes
    value: Codes
    #: Shape (N,): the unit of each rating.
    unit: Codes

    @cached_property
    def sizes(self) -> Ints:
        """Shape (units,): how many ratings each unit has."""
        return np.diff(self.start)


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """A long ratings table of one variable.

    ``rater``, ``unit`` and ``value`` are int32 arrays of one length N, one entry per rating: indices into
    ``raters``, ``units`` and ``labels``. No (rater, unit) pair occurs twice. A missing rating is a missing row.
    ``labels`` are in their declared order when the level is ordinal. ``simulators`` are the names of raters
    that are models; all others are people. ``abstain`` are labels that make no statement ("cannot guess").
    ``clusters`` gives each unit's cluster (its instance) as int codes of shape (len(units),), or None.
    """

    raters: tuple[str, ...]
    units: Sequence[str]
    labels: tuple[str, ...]
    rater: Codes
    unit: Codes
    value: Codes
    level: Level = "nominal"
    simulators: frozenset[str] = frozenset()
    abstain: frozenset[str] = frozenset()
    scores: Mapping[str, float] = field(default_factory=dict)
    clusters: Codes | None = None

    def __post_init__(self) -> None:
        if not (self.rater.shape == self.unit.shape == self.value.shape) or self.rater.ndim != 1:
            raise ValueError("rater, unit, value: expected three arrays of one length")
        for name, codes, names in (
            ("rater", self.rater, self.raters),
            ("unit", self.unit, self.units),
            ("value", self.value, self.labels),
        ):
            if codes.size and (codes.min() < 0 or codes.max() >= len(names)):
                raise ValueError(f"{name}: codes must lie in [0, {len(names)})")
        if self.clusters is not None and self.clusters.shape != (len(self.units),):
            raise ValueError(f"clusters: expected shape ({len(self.units)},), got {self.clusters.shape}")
        grouped = self.grouped
        same = (grouped.unit[1:] == grouped.unit[:-1]) & (grouped.rater[1:] == grouped.rater[:-1])
        if same.any():
            at = int(np.argmax(same))
            raise ValueError(
                f"rater, unit: {self.raters[grouped.rater[at]]!r} has rated "
                f"{self.units[grouped.unit[at]]!r} twice"
            )

    def __len__(self) -> int:
        return int(self.rater.size)

    def __repr__(self) -> str:
        return (
            f"<Ratings: {len(self):,} of {len(self.units):,} units by {len(self.raters):,} raters, "
            f"{len(self.labels):,} {self.level} labels>"
        )

    @cached_property
    def is_simulator(self) -> npt.NDArray[np.bool_]:
        """Shape (len(raters),): which raters are models."""
        return np.array([name in self.simulators for name in self.raters], dtype=bool)

    @cached_property
    def grouped(self) -> Grouped:
        """The ratings in order of unit, then rater, whatever order they came in."""
        unit, rater, value = sorted_together(self.unit, self.rater, self.value)
        counts = np.bincount(unit, minlength=len(self.units))
        return Grouped(np.concatenate(([0], np.cumsum(counts))).astype(np.int64), rater, value, unit)

    @cached_property
    def numbers(self) -> Floats:
        """Shape (len(labels),): each label as a number: its score, else its rank (ordinal), else its value.

        A nominal label without a score has no number: ``ValueError`` names it.

        >>> Ratings.from_rows([("a", "u", "2.5"), ("b", "u", "10")], level="interval").numbers.tolist()
        [10.0, 2.5]
        """
        if self.labels and all(label in self.scores for label in self.labels):
            return np.array([self.scores[label] for label in self.labels], dtype=np.float64)
        if self.level == "ordinal":
            return np.arange(len(self.labels), dtype=np.float64)
        try:
            numbers = np.array([float(label) for label in self.labels], dtype=np.float64)
        except ValueError as error:
            raise ValueError(
                f"labels: a number is needed for each label at {self.level} level: {error}"
            ) from None
        if not np.isfinite(numbers).all():
            raise ValueError("labels: every number must be finite")
        return numbers

    @cached_property
    def ranked(self) -> bool:
        """Whether labels have an order but no numbers: a mean of theirs can only be one of ranks.

        >>> Ratings.from_rows([("a", "u", "low")], labels=["low", "high"], level="ordinal").ranked
        True
        """
        return self.level == "ordinal" and self._declared_numbers is None

    @cached_property
    def amounts(self) -> Floats:
        """Shape (len(labels),): each label as means and medians take it.

        These are ``numbers``, except at ordinal level without scores: there they are the labels themselves if all are numbers
        that rise or fall in the declared order (1 to 7), else ranks that begin with 1 for the lowest label.

        >>> Ratings.from_rows([("a", "u", "5")], labels=["3", "4", "5"], level="ordinal").amounts.tolist()
        [3.0, 4.0, 5.0]
        """
        if self.level != "ordinal":
            return self.numbers
        declared = self._declared_numbers
        return np.arange(1.0, len(self.labels) + 1) if declared is None else declared

    @cached_property
    def _declared_numbers(self) -> Floats | None:
        """The scores or numbers of ordinal labels, None if they have none."""
        if self.labels and all(label in self.scores for label in self.labels):
            return self.numbers
        try:
            numbers = np.array([float(label) for label in self.labels], dtype=np.float64)
        except ValueError:
            return None
        steps = np.diff(numbers)
        ordered = np.isfinite(numbers).all() and ((steps > 0).all() or (steps < 0).all())
        return numbers if ordered and numbers.size else None

    def where(self, kept: npt.NDArray[np.bool_]) -> Ratings:
        """The ratings for which ``kept``, of shape (N,), is true; raters, units and labels stay as they are."""
        if kept.shape != self.rater.shape:
            raise ValueError(f"kept: expected shape {self.rater.shape}, got {kept.shape}")
        if kept.all():
            return self
        return replace(self, rater=self.rater[kept], unit=self.unit[kept], value=self.value[kept])

    def only_raters(self, names: Collection[str]) -> Ratings:
        """The ratings of these raters, and no other rater."""
        strange = set(names) - set(self.raters)
        if strange:
            raise ValueError(f"raters: not in the table: {', '.join(sorted(strange))}")
        return self._only_raters(np.array([name in names for name in self.raters], dtype=bool))

    def people(self) -> Ratings:
        """The ratings of people: every rater who is not a simulator."""
        return self._only_raters(~self.is_simulator)

    def only_rated_units(self) -> Ratings:
        """The table without units that nobody rated, as for a group of ratings: the other groups' units aren't its own."""
        kept = self.grouped.sizes > 0
        if kept.all():
            return self
        return replace(
            self,
            units=in_order(self.units, np.flatnonzero(kept)),
            unit=(np.cumsum(kept, dtype=np.int32) - 1)[self.unit].astype(np.int32),
            clusters=None if self.clusters is None else self.clusters[kept],
        )

    def without_labels(self, names: Collection[str]) -> Ratings:
        """The table as if these labels could not be given: their ratings are missing.

        >>> table = Ratings.from_rows([("a", "u", "yes"), ("b", "u", "cannot guess")])
        >>> len(table.without_labels(["cannot guess"]))
        1
        """
        kept = np.array([name not in names for name in self.labels], dtype=bool)
        if kept.all():
            return self
        rows, codes = _kept_codes(self.value, kept)
        left = tuple(name for name in self.labels if name not in names)
        return replace(
            self,
            labels=left,
            rater=self.rater[rows],
            unit=self.unit[rows],
            value=codes,
            abstain=self.abstain & set(left),
        )

    def without_abstain(self) -> Ratings:
        """The table without the labels that make no statement (``abstain``)."""
        return self.without_labels(self.abstain)

    def _only_raters(self, kept: npt.NDArray[np.bool_]) -> Ratings:
        if kept.all():
            return self
        rows, codes = _kept_codes(self.rater, kept)
        names = tuple(name for name, keep in zip(self.raters, kept, strict=True) if keep)
        return replace(
            self,
            raters=names,
            rater=codes,
            unit=self.unit[rows],
            value=self.value[rows],
            simulators=self.simulators & set(names),
        )

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[tuple[str, str, str]],
        *,
        labels: Sequence[str] | None = None,
        level: Level = "nominal",
        simulators: Iterable[str] = (),
        abstain: Iterable[str] = (),
        scores: Mapping[str, float] | None = None,
        cluster_of: Mapping[str, str] | None = None,
    ) -> Ratings:
        """Build from (rater, unit, label) rows; ``labels`` fixes the label set and its order.

        >>> table = Ratings.from_rows([("a", "u1", "yes"), ("b", "u1", "no")])
        >>> len(table), table.labels
        (2, ('no', 'yes'))
        """
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        raters, rater = _code(columns[0])
        units, unit = _code(columns[1])
        if labels is None:
            names, value = _code(columns[2])
        else:
            names = tuple(labels)
            index = {name: code for code, name in enumerate(names)}
            strange = set(columns[2]) - set(index)
            if strange:
                raise ValueError(f"value: not among the labels: {', '.join(sorted(map(str, strange)))}")
            value = np.fromiter((index[v] for v in columns[2]), dtype=np.int32, count=len(columns[2]))
        clusters = None
        if cluster_of is not None:
            _, clusters = _code([cluster_of[name] for name in units])
        return cls(
            raters=raters,
            units=units,
            labels=names,
            rater=rater,
            unit=unit,
            value=value,
            level=level,
            simulators=frozenset(simulators),
            abstain=frozenset(abstain),
            scores=scores or {},
            clusters=clusters,
        )


def _kept_codes(codes: Codes, kept: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], Codes]:
    """Which rows have a code that is kept, and their new codes."""
    rows = kept[codes]
    return rows, (np.cumsum(kept, dtype=np.int32) - 1)[codes[rows]].astype(np.int32)


def sorted_together(first: Codes, second: Codes, third: Codes) -> tuple[Codes, Codes, Codes]:
    """Three columns of codes (none negative) in the order of the first, then the second: one sort of packed integers.
    Columns that are in order already are returned as they are, without a copy."""
    same = first[1:] == first[:-1]
    if ((first[1:] > first[:-1]) | (same & (second[1:] >= second[:-1]))).all():
        return first, second, third
    del same
    columns = (first, second, third)
    widths = [int(column.max()).bit_length() if column.size else 0 for column in columns]
    if sum(widths) > 63:
        order = np.lexsort((second, first))
        return first[order], second[order], third[order]
    key = first.astype(np.int64)
    for column, width in zip(columns[1:], widths[1:], strict=True):
        key <<= width
        key |= column
    key.sort()
    return (
        _bits(key, widths[1] + widths[2], widths[0]),
        _bits(key, widths[2], widths[1]),
        _bits(key, 0, widths[2]),
    )


def _bits(key: Ints, shift: int, width: int) -> Codes:
    """Some bits of each packed integer as codes, a piece at a time, so that no other array of its length is made."""
    found = np.empty(key.size, dtype=np.int32)
    for start in range(0, key.size, _PIECE):
        piece = slice(start, start + _PIECE)
        found[piece] = (key[piece] >> shift) & ((1 << width) - 1)
    return found


def _code(values: Sequence[str]) -> tuple[tuple[str, ...], Codes]:
    names = sorted(set(values))
    index = {name: code for code, name in enumerate(names)}
    return tuple(names), np.fromiter((index[v] for v in values), dtype=np.int32, count=len(values))
