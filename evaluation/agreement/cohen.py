"""Cohen's kappa: of two raters, and of every pair of raters at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from annotator.hit_types.base import Level
from evaluation.agreement.pairs import PairSums, Weights, pair_sums
from evaluation.core.counted import counted
from evaluation.core.estimate import Estimate, none_if_nan, undefined
from evaluation.core.ratings_table import Floats, Ratings

NO_SHARED = "they share no unit"
ONE_LABEL = "both always gave the same label"
DEFAULT_MIN_OVERLAP = 10
#: Pairs turned into Python numbers at once: there may be a hundred thousand.
_ROWS = 1_000

#: Which pairs to average: every pair, pairs of people, or pairs of a person and one simulator.
Which = Literal["all", "people"] | str


def cohen_kappa(
    a: Sequence[str | None],
    b: Sequence[str | None],
    *,
    weights: Weights = "nominal",
    labels: Sequence[str] | None = None,
    level: Level | None = None,
) -> Estimate:
    """Agreement beyond chance of two raters, given as two sequences of labels over the same units.

    ``kappa = 1 - sum_ij w_ij o_ij / sum_ij w_ij r_i c_j n^-1``, where o_ij units got label i from a and j from b, r
    and c are the row and column sums, n all units. ``weights`` of a disagreement: ``nominal`` [i != j], ``linear``
    |x_i - x_j|, ``quadratic`` (x_i - x_j)^2; x is the label's place in ``labels`` (its order must be given), or its
    numeric value at ``level`` interval or ratio. From -1 to 1.

    A unit where either has None is left out and counted; ``n`` is the units that both rated. Undefined where they
    share no unit and where both always gave the same label (nothing is expected by chance). Cohen
    (1960), (1968).

    >>> round(cohen_kappa(["y"] * 118 + ["y"] * 5 + ["n"] * 2, ["y"] * 118 + ["n"] * 5 + ["y"] * 2).value, 4)
    -0.0234
    """
    if len(a) != len(b):
        raise ValueError(f"b: expected {len(a)} labels, as many as a has, got {len(b)}")
    if weights != "nominal" and labels is None and level not in ("interval", "ratio"):
        raise ValueError("labels: weighted kappa needs the labels in their order")
    rows = [
        (rater, str(unit), label)
        for unit, pair in enumerate(zip(a, b, strict=True))
        if None not in pair
        for rater, label in zip(("a", "b"), pair, strict=True)
        if label is not None
    ]
    level = level or ("nominal" if weights == "nominal" else "ordinal")
    table = Ratings.from_rows(rows, labels=labels, level=level)
    missing = len(a) - len(rows) // 2
    left_out = {"units that one of them did not rate": missing} if missing else {}
    pairs = pairwise_kappa(table, weights=weights)
    if not len(pairs):
        return undefined(NO_SHARED, left_out=left_out)
    found = pairs.pair("a", "b")
    return Estimate(found.value, n=found.n, reason=found.reason, left_out=left_out)


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseKappa:
    """Kappa of every pair of raters that share a unit.

    ``sums`` holds the pairs' counts, ``kappa`` of shape (P,) their kappas (``nan`` where undefined), in order of
    rater a, then b. Pairs under ``min_overlap`` shared units are listed, not averaged.
    """

    raters: tuple[str, ...]
    is_simulator: npt.NDArray[np.bool_]
    sums: PairSums
    kappa: Floats
    weights: Weights
    min_overlap: int

    def __len__(self) -> int:
        return int(self.kappa.size)

    def __repr__(self) -> str:
        return f"<PairwiseKappa: {len(self):,} pairs of {len(self.raters):,} raters, {self.weights} weights>"

    @cached_property
    def agreement(self) -> Floats:
        """Shape (P,): share of the shared units on which the two gave the same label."""
        return self.sums.agreed / self.sums.n

    @cached_property
    def averaged(self) -> npt.NDArray[np.bool_]:
        """Shape (P,): pairs that enter the averages: enough shared units, and a defined kappa."""
        return (self.sums.n >= self.min_overlap) & ~np.isnan(self.kappa)

    def of_group(self, which: Which) -> npt.NDArray[np.bool_]:
        """Shape (P,): the pairs of a group: "all", "people", or the pairs of people with the named simulator."""
        a, b = self.sums.a, self.sums.b
        if which == "all":
            return np.ones(len(self), dtype=bool)
        people = ~self.is_simulator
        if which == "people":
            return people[a] & people[b]
        if which not in self.raters or people[self.raters.index(which)]:
            raise ValueError(f'which: expected "all", "people" or a simulator of the table, got {which!r}')
        code = self.raters.index(which)
        return ((a == code) & people[b]) | ((b == code) & people[a])

    def mean(self, which: Which = "all") -> Estimate:
        """Unweighted mean over pairs (the papers' average): ``n`` is the number of pairs averaged."""
        used, left_out, reason = self._used(which)
        if reason:
            return undefined(reason, left_out=left_out)
        return Estimate(float(np.mean(self.kappa[used])), n=int(used.sum()), left_out=left_out)

    def weighted_mean(self, which: Which = "all") -> Estimate:
        """Mean over pairs weighted by their shared units: ``n`` is the sum of those units."""
        used, left_out, reason = self._used(which)
        if reason:
            return undefined(reason, left_out=left_out)
        n = self.sums.n[used]
        return Estimate(float((self.kappa[used] * n).sum() / n.sum()), n=int(n.sum()), left_out=left_out)

    def _used(self, which: Which) -> tuple[npt.NDArray[np.bool_], dict[str, int], str]:
        """Pairs averaged; pairs left out, by reason; and why there is no average, if there is none."""
        group = self.of_group(which)
        few = group & (self.sums.n < self.min_overlap)
        used = group & self.averaged
        found = {
            "pairs that share no unit": self.size_of_group(which) - int(group.sum()),
            f"pairs that share fewer than {self.min_overlap} units": int(few.sum()),
            "pairs whose kappa is not defined": int((group & ~few & ~used).sum()),
        }
        left_out = {reason: count for reason, count in found.items() if count}
        if used.any():
            return used, left_out, ""
        if not self.size_of_group(which):
            return used, left_out, "there is no such pair of raters"
        return (
            used,
            left_out,
            "no pair can be averaged: " + ", ".join(counted(n, r) for r, n in left_out.items()),
        )

    def size_of_group(self, which: Which) -> int:
        """How many pairs the group has, whether or not they share a unit."""
        people = int((~self.is_simulator).sum())
        if which in ("all", "people"):
            size = len(self.raters) if which == "all" else people
            return size * (size - 1) // 2
        return people

    def pair(self, a: str, b: str) -> Estimate:
        """Kappa of two raters, in either order; ``n`` is the number of units that both rated."""
        for name in (a, b):
            if name not in self.raters:
                raise ValueError(f"{name!r} is not a rater of the table")
        low, high = sorted((self.raters.index(a), self.raters.index(b)))
        found = np.flatnonzero((self.sums.a == low) & (self.sums.b == high))
        if not found.size:
            return undefined(NO_SHARED)
        return self._estimate(int(found[0]))

    def _estimate(self, index: int) -> Estimate:
        value, n = float(self.kappa[index]), int(self.sums.n[index])
        return undefined(ONE_LABEL, n=n) if np.isnan(value) else Estimate(value, n=n)

    def matrix(self) -> Floats:
        """Shape (R, R): kappa of each two raters, symmetric; ``nan`` where undefined and on the diagonal."""
        table = np.full((len(self.raters), len(self.raters)), np.nan)
        table[self.sums.a, self.sums.b] = self.kappa
        table[self.sums.b, self.sums.a] = self.kappa
        return table

    def rows(self, *, unshared: bool = False) -> Iterator[dict[str, Any]]:
        """One JSON object per pair; with ``unshared`` also the pairs that share no unit."""
        shared = self._shared_rows()
        if not unshared:
            yield from (self._row(*row) for row in shared)
            return
        upcoming = next(shared, None)
        for a in range(len(self.raters)):
            for b in range(a + 1, len(self.raters)):
                if upcoming is not None and (a, b) == upcoming[:2]:
                    yield self._row(*upcoming)
                    upcoming = next(shared, None)
                else:
                    yield self._row(a, b, 0, np.nan, np.nan, False)

    def _shared_rows(self) -> Iterator[tuple[int, int, int, float, float, bool]]:
        """The arguments of ``_row`` for each pair that shares a unit, some thousand at a time."""
        sums = self.sums
        columns = (sums.a, sums.b, sums.n, self.kappa, self.agreement, self.averaged)
        for start in range(0, len(self), _ROWS):
            yield from zip(*(column[start : start + _ROWS].tolist() for column in columns), strict=True)

    def _row(self, a: int, b: int, n: int, kappa: float, agreement: float, averaged: bool) -> dict[str, Any]:
        value = none_if_nan(kappa)
        return {
            "a": self.raters[a],
            "b": self.raters[b],
            "n": n,
            "value": value,
            "reason": "" if value is not None else ONE_LABEL if n else NO_SHARED,
            "agreement": none_if_nan(agreement),
            "averaged": averaged,
        }


def pairwise_kappa(
    ratings: Ratings, *, weights: Weights = "nominal", min_overlap: int = DEFAULT_MIN_OVERLAP
) -> PairwiseKappa:
    """Cohen's kappa of every pair of raters over the units that both rated, all pairs in one pass.

    The formula is :func:`cohen_kappa`'s. Positions for ``linear`` and ``quadratic`` weights are ``Ratings.numbers``:
    scores, ranks (ordinal) or values (interval, ratio). ``min_overlap`` is the least number of shared units of a
    pair that enters an average.

    >>> rows = [(r, u, "yes" if (u + r)[-2:] != "2b" else "no") for r in "ab" for u in "123"]
    >>> pairwise_kappa(Ratings.from_rows(rows), min_overlap=1).pair("a", "b").reason
    ''
    """
    if min_overlap < 1:
        raise ValueError(f"min_overlap: expected 1 or more, got {min_overlap}")
    sums = pair_sums(ratings, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(sums.expected > 0, 1.0 - sums.n * sums.observed / sums.expected, np.nan)
    return PairwiseKappa(ratings.raters, ratings.is_simulator, sums, kappa, weights, min_overlap)
