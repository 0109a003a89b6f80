"""Individual raters: each one's agreement with the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evaluation.agreement.counts import DENSE_CELLS, UnitCounts, count_units
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.ratings_table import Codes, Floats, Ints, Ratings

NO_REST = "nobody else rated this rater's units"
NO_CHANCE = "this rater and the rest always gave the same label"


#: Ratings looked at together.
_BLOCK = 100_000

#: Why one rater's agreement with the others has no interval.
DESCRIBED = "none: it describes this rater on these units"


@dataclass(frozen=True, eq=False)
class RestAgreement:
    """Each rater against the rest: arrays of shape (R,), ``nan`` where undefined.

    ``n`` units on which somebody else can be compared with; ``agreement``, the mean share of the others who gave the
    rater's label; ``kappa``, the same beyond chance.
    """

    raters: tuple[str, ...]
    n: Ints
    agreement: Floats
    kappa: Floats

    def of(self, rater: str) -> tuple[Estimate, Estimate]:
        """Agreement and kappa of one rater."""
        if rater not in self.raters:
            raise ValueError(f"rater: {rater!r} is not a rater of the table")
        index = self.raters.index(rater)
        n = int(self.n[index])
        if not n:
            return undefined(NO_REST), undefined(NO_REST)
        kappa = float(self.kappa[index])
        return (
            Estimate(float(self.agreement[index]), n=n, interval=DESCRIBED),
            undefined(NO_CHANCE, n=n) if np.isnan(kappa) else Estimate(kappa, n=n, interval=DESCRIBED),
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """One JSON object per rater."""
        for rater in self.raters:
            agreement, kappa = self.of(rater)
            yield {"rater": rater, "agreement": agreement.to_dict(), "kappa": kappa.to_dict()}


def agreement_with_rest(ratings: Ratings, *, rest: Literal["all", "people"] = "all") -> RestAgreement:
    """Agreement of each rater with the other raters of the same units (or with the other people among them).

    With own label g_u, and s_uk the share of u's *other* raters who gave k, over the n units that have others::

        agreement = (1/n) sum_u s_u,g_u            from 0 to 1
        kappa = (agreement - Pe) / (1 - Pe),  Pe = sum_k (share of k among the g_u) * (mean of s_uk over u)

    which is Cohen's kappa of the rater against a random other rater of the unit. Labels are compared for equality.
    Undefined (``nan``) where nobody else rated the rater's units, and kappa also where all gave one label.

    >>> rows = [("a", "u", "yes"), ("b", "u", "yes"), ("c", "u", "no")]
    >>> agreement_with_rest(Ratings.from_rows(rows)).agreement.tolist()
    [0.5, 0.5, 0.0]
    """
    if rest not in ("all", "people"):
        raise ValueError(f'rest: expected "all" or "people", got {rest!r}')
    raters, labels = len(ratings.raters), max(len(ratings.labels), 1)
    others = ratings if rest == "all" else ratings.where(~ratings.is_simulator[ratings.rater])
    counts = count_units(others)
    is_other = np.ones(raters, dtype=bool) if rest == "all" else ~ratings.is_simulator
    n, same = np.zeros(raters, dtype=np.int64), np.zeros(raters, dtype=np.float64)
    chance = _Chance(counts, (raters, labels))
    for unit, rater, value in _compared(ratings, counts, is_other):
        own = is_other[rater]  # this very rating is among the unit's counts
        weight = 1.0 / (counts.sizes[unit] - own)
        n += np.bincount(rater, minlength=raters)
        given = chance.add(unit, rater, value, own=own, weight=weight)
        # The sums so far come first, so that everything is added in the order of the ratings, whatever the blocks.
        codes, parts = np.arange(raters + rater.size), np.concatenate((same, weight * (given - own)))
        codes[raters:] = rater
        same = np.bincount(codes, weights=parts, minlength=raters).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement = same / n
        expected = chance.total() / (n * n)
        kappa = np.where(1 - expected > 1e-12, (agreement - expected) / (1 - expected), np.nan)
    return RestAgreement(ratings.raters, n, agreement, kappa)


def count_at(counts: UnitCounts, unit: Any, label: Any) -> Ints:
    """How many raters gave each of these units the label beside it."""
    width = max(counts.labels, 1)
    cells = counts.unit * width + counts.label
    if not cells.size:
        return np.zeros(unit.shape, dtype=np.int64)
    wanted = unit.astype(np.int64) * width + label
    size = counts.sizes.size * width
    if size <= max(DENSE_CELLS, 4 * unit.size):
        table = np.zeros(size, dtype=np.int32)
        table[cells] = counts.count
        return table[wanted].astype(np.int64)
    at = np.minimum(np.searchsorted(cells, wanted), cells.size - 1)
    return np.where(cells[at] == wanted, counts.count[at], 0)


def _compared(
    ratings: Ratings, counts: UnitCounts, is_other: npt.NDArray[np.bool_]
) -> Iterator[tuple[Codes, Codes, Codes]]:
    """Unit, rater and value of the ratings that another rater's can be compared with, ``_BLOCK`` of them at a time."""
    grouped = ratings.grouped
    held: list[tuple[Codes, Codes, Codes]] = []
    size = 0
    for start in range(0, len(ratings), _BLOCK):
        rows = slice(start, start + _BLOCK)
        unit, rater, value = grouped.unit[rows], grouped.rater[rows], grouped.value[rows]
        kept = counts.sizes[unit] > is_other[rater]
        held.append((unit[kept], rater[kept], value[kept]))
        size += held[-1][0].size
        if size >= _BLOCK:
            unit, rater, value = (np.concatenate(column) for column in zip(*held, strict=True))
            yield unit[:_BLOCK], rater[:_BLOCK], value[:_BLOCK]
            held, size = [(unit[_BLOCK:], rater[_BLOCK:], value[_BLOCK:])], size - _BLOCK
    if size:
        unit, rater, value = (np.concatenate(column) for column in zip(*held, strict=True))
        yield unit, rater, value


class _Chance:
    """``sum_k (units to which the rater gave k) * (sum over units of s_uk)`` for each rater, from blocks of ratings.

    Taken a block of neighbouring units at a time: a rater's units lie all over a long table, and looking each of them up
    from far away would make ten times the ratings take sixteen times as long.
    """

    def __init__(self, counts: UnitCounts, shape: tuple[int, int]) -> None:
        self.counts, self.shape = counts, shape
        self.given, self.rest = sparse.csr_array(shape), sparse.csr_array(shape)

    def add(self, unit: Codes, rater: Codes, value: Codes, *, own: Any, weight: Floats) -> Ints:
        """Add a block; returns how many raters gave each rating's unit its label."""
        (raters, labels), counts, first = self.shape, self.counts, unit[0]
        near = unit - first
        units = int(near[-1]) + 1
        cells = slice(*np.searchsorted(counts.unit, [first, first + units]))
        cell = (counts.unit[cells] - first, counts.label[cells])
        table = sparse.csr_array((counts.count[cells], cell), shape=(units, labels))
        where = sparse.csr_array((weight, (rater, near)), shape=(raters, units))
        self.given += sparse.csr_array((np.ones(rater.size), (rater, value)), shape=self.shape)
        self.rest += where @ table - sparse.csr_array((weight * own, (rater, value)), shape=self.shape)
        part = UnitCounts(*cell, counts.count[cells], counts.sizes[first : first + units], counts.labels)
        return count_at(part, near, value)

    def total(self) -> Floats:
        """Shape (R,)."""
        return np.asarray((self.given * self.rest).sum(axis=1)).ravel()
