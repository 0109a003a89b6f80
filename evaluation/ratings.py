"""The ratings table: who gave which unit which label, held as integer codes in numpy arrays.

Everything in ``agreement`` and ``metrics`` works on this one form. It holds one variable; a study with several
variables has several tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from annotator.hit_types.base import Level

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Ratings:
    """A long ratings table of one variable.

    ``rater``, ``unit`` and ``value`` are int32 arrays of one length N, one entry a rating: indices into
    ``raters``, ``units`` and ``labels``. No (rater, unit) pair occurs twice. A missing rating is a missing row.
    ``labels`` are in their declared order when the level is ordinal. ``simulators`` are the names of raters
    that are models; all others are people. ``abstain`` are labels that make no statement ("cannot guess").
    ``clusters`` gives each unit's cluster (its instance) as int codes of shape (len(units),), or None.
    """

    raters: tuple[str, ...]
    units: tuple[str, ...]
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
        key = self.rater.astype(np.int64) * max(len(self.units), 1) + self.unit
        if np.unique(key).size != key.size:
            raise ValueError("rater, unit: a rater has rated one unit twice")

    def __len__(self) -> int:
        return int(self.rater.size)

    @cached_property
    def is_simulator(self) -> npt.NDArray[np.bool_]:
        """Shape (len(raters),): which raters are models."""
        return np.array([name in self.simulators for name in self.raters], dtype=bool)

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


def _code(values: Sequence[str]) -> tuple[tuple[str, ...], Codes]:
    names = sorted(set(values))
    index = {name: code for code, name in enumerate(names)}
    return tuple(names), np.fromiter((index[v] for v in values), dtype=np.int32, count=len(values))
