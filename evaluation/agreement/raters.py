"""Individual raters: each one's agreement with the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from evaluation.agreement.counts import DENSE_CELLS, UnitCounts, count_units
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.ratings_table import Floats, Ints, Ratings

NO_REST = "nobody else rated this rater's units"
NO_CHANCE = "this rater and the rest always gave the same label"


#: Ratings looked at together in ``_chance``.
_BLOCK = 100_000


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
            Estimate(float(self.agreement[index]), n=n),
            undefined(NO_CHANCE, n=n) if np.isnan(kappa) else Estimate(kappa, n=n),
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
    grouped = ratings.grouped
    unit, rater, value = grouped.unit, grouped.rater, grouped.value
    own = is_other[rater]  # this very rating is among the unit's counts
    compared = counts.sizes[unit] - own
    kept = compared > 0
    unit, rater, value, own, compared = unit[kept], rater[kept], value[kept], own[kept], compared[kept]
    weight = 1.0 / compared
    n = np.bincount(rater, minlength=raters)
    same = np.bincount(rater, weights=weight * (count_at(counts, unit, value) - own), minlength=raters)
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement = same / n
        expected = _chance(counts, unit, rater, value, own=own, weight=weight, shape=(raters, labels)) / (
            n * n
        )
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


def _chance(
    counts: UnitCounts, unit: Any, rater: Any, value: Any, *, own: Any, weight: Floats, shape: tuple[int, int]
) -> Floats:
    """Shape (R,): ``sum_k (units to which the rater gave k) * (sum over units of s_uk)``.

    Taken a block of neighbouring units at a time: a rater's units lie all over a long table, and looking each of them up
    from far away would make ten times the ratings take sixteen times as long.
    """
    raters, labels = shape
    given, rest = sparse.csr_array(shape), sparse.csr_array(shape)
    for start in range(0, unit.size, _BLOCK):
        rows = slice(start, start + _BLOCK)
        who, what, share, first = rater[rows], value[rows], weight[rows], unit[start]
        near = unit[rows] - first
        units = int(near[-1]) + 1
        cells = slice(*np.searchsorted(counts.unit, [first, first + units]))
        table = sparse.csr_array(
            (counts.count[cells], (counts.unit[cells] - first, counts.label[cells])), shape=(units, labels)
        )
        where = sparse.csr_array((share, (who, near)), shape=(raters, units))
        given += sparse.csr_array((np.ones(who.size), (who, what)), shape=shape)
        rest += where @ table - sparse.csr_array((share * own[rows], (who, what)), shape=shape)
    return np.asarray((given * rest).sum(axis=1)).ravel()
