"""A column of follow-ups as codes: 1 to 4 bytes for each row, where an array of Python objects takes 8."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.core.names import in_order

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class CodedTexts:
    """A column of texts: ``codes`` of shape (N,) are indices into ``names``; -1 for None.

    >>> column = CodedTexts(np.array([0, -1, 1], dtype=np.int8), ("yes", "no"))
    >>> column.values().tolist(), column.among({"yes"}).tolist()
    (['yes', None, 'no'], [True, False, False])
    """

    codes: npt.NDArray[Any]
    names: Sequence[str]

    @classmethod
    def of(cls, codes: npt.NDArray[Any], names: Sequence[str]) -> CodedTexts:
        """A column whose codes take as few bytes as its names allow."""
        small = next(kind for kind in (np.int8, np.int16, np.int32) if len(names) <= np.iinfo(kind).max)
        return cls(codes.astype(small, copy=False), names)

    @classmethod
    def constant(cls, name: str | None, size: int) -> CodedTexts:
        """A column with one text, or None, in every row."""
        code = -1 if name is None else 0
        return cls(np.full(size, code, dtype=np.int8), () if name is None else (name,))

    def __len__(self) -> int:
        return len(self.codes)

    def values(self) -> npt.NDArray[np.object_]:
        """Shape (N,): the texts themselves, as Python objects."""
        if len(self.names) > len(self.codes):  # a few rows of a long table
            used = in_order(self.names, np.unique(self.codes[self.codes >= 0]))
            place = np.unique(self.codes[self.codes >= 0], return_inverse=True)[1]
            found = np.full(len(self.codes), None, dtype=object)
            found[self.codes >= 0] = np.array([*used, None], dtype=object)[place]
            return found
        return np.array([*self.names, None], dtype=object)[self.codes]

    def take(self, rows: npt.NDArray[Any]) -> CodedTexts:
        return CodedTexts(self.codes[rows], self.names)

    def among(self, wanted: Collection[str]) -> Mask:
        """Shape (N,): which rows have one of these texts."""
        return np.array([*(name in wanted for name in self.names), False], dtype=bool)[self.codes]

    def counts(self, rows: Mask) -> dict[str, int]:
        """How many of some rows have each text, in sorted order; rows without one aren't counted."""
        codes = self.codes[rows]
        found = np.bincount(codes[codes >= 0], minlength=len(self.names)).tolist()
        return {name: number for name, number in sorted(zip(self.names, found, strict=True)) if number}

    def sorted_used(self) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
        """Codes in the sorted order of the texts that occur, and those texts; the column must have no None."""
        used = np.flatnonzero(np.bincount(self.codes, minlength=len(self.names)))
        names = list(in_order(self.names, used))
        order = sorted(range(used.size), key=names.__getitem__)
        place = np.zeros(len(self.names), dtype=np.int64)
        place[used[order]] = np.arange(used.size)
        return place[self.codes], tuple(names[number] for number in order)

    def coded_as(self, names: Sequence[str]) -> npt.NDArray[np.int32]:
        """Shape (N,): each row's place among other names, -2 where its text isn't one of them or is None."""
        known = {name: place for place, name in enumerate(names)}
        places = np.array([*(known.get(name, -2) for name in self.names), -2], dtype=np.int32)
        return places[self.codes]
