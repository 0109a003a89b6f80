"""Strengths of systems from pairwise preferences: Bradley and Terry's model, with ties as Davidson has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.agreement.bootstrap import DEFAULT_REPLICATES, add_interval, draw_counts
from evaluation.agreement.bradley_terry_fit import Counts, fit, is_unbounded, reachable, solvable
from evaluation.core.estimate import NAN, Estimate, undefined
from evaluation.core.ratings_table import Floats, Ints

#: What a comparison said: the first system is better, the second, or neither.
FIRST, SECOND, TIED = 0, 1, 2
NO_COMPARISON = "no two systems were compared"
ALL_TIED = "every comparison is a tie"
ONE_SIDED = "the stronger system won every comparison that wasn’t a tie, so its strength has no upper limit"
#: At most this many systems are named in a reason.
_NAMED = 3


@dataclass(frozen=True, eq=False)
class PairwiseStrengths:
    """Strengths of systems, each a logarithm with the systems' mean 0; in the order of ``systems``.

    ``ties`` is Davidson's parameter: the odds of a tie against a win of either of two equal systems are ``ties / 2``. ``wins`` of shape
    (systems, systems) counts how often the row's system was preferred to the column's, ``tied`` the ties; both whole numbers.
    """

    systems: tuple[str, ...]
    strengths: tuple[Estimate, ...]
    ties: Estimate
    wins: Ints
    tied: Ints

    def probability(self, first: str, second: str) -> tuple[float, float, float]:
        """Of a win of the first system, of the second, and of a tie; ``nan`` where strengths are undefined."""
        i, j = self.systems.index(first), self.systems.index(second)
        a, b = (np.exp(self.strengths[place].value) for place in (i, j))
        tie = self.ties.value * np.sqrt(a * b)
        return float(a / (a + b + tie)), float(b / (a + b + tie)), float(tie / (a + b + tie))


def bradley_terry(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    choice: npt.ArrayLike,
    *,
    systems: Sequence[str],
    clusters: npt.ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    replicates: int = DEFAULT_REPLICATES,
    word: str = "items",
) -> PairwiseStrengths:
    """The maximum-likelihood strengths of systems that raters compared two at a time.

    ``first``, ``second`` (indices into ``systems``) and ``choice`` (0: the first is better, 1: the second, 2: equal) have shape (N,), one
    entry for each judgment; a comparison of a system with itself is refused. With p_i the strength of system i and v the parameter of ties::

        P(i is preferred to j) = p_i / (p_i + p_j + v sqrt(p_i p_j)),   P(tie) = v sqrt(p_i p_j) / (p_i + p_j + v sqrt(p_i p_j))

    Strengths are given as log p_i with mean 0; without ties, v is 0 and this is Bradley and Terry's model. ``n`` counts a system's
    comparisons, for ``ties`` all. Newton's method, to a gradient of 1e-10 of the comparisons.

    Undefined, all of them, with the systems in the reason: where the comparisons fall apart into groups of systems; where a system, or several,
    won (or lost) every comparison with the others; where every comparison is a tie; where the tie parameter and a strength could
    rise together without limit. Ford (1957) has the condition without ties.

    ``clusters`` of shape (N,) are codes of what is resampled, the items; with ``rng`` there is the interval of the cluster bootstrap
    (:func:`bootstrap`), which counts replicates without a finite estimate as undefined. Bradley and Terry (1952); Davidson (1970), "On
    extending the Bradley-Terry model to accommodate ties in paired comparison experiments", equations 2.4 and 2.5.

    >>> found = bradley_terry([0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1], systems=("a", "b"))
    >>> [round(one.value, 3) for one in found.strengths], round(found.probability("a", "b")[0], 3)  # log(3) / 2
    ([0.549, -0.549], 0.75)
    """
    one, other, said = (np.asarray(column, dtype=np.int64) for column in (first, second, choice))
    _check(one, other, said, len(systems))
    names = tuple(systems)
    cells = _Cells.of(one, other, said, len(names))
    whole = cells.counts(np.ones((1, one.size)) @ cells.rows(np.arange(one.size)))
    compared = (whole.wins[0] + whole.wins[0].T + whole.ties[0]).sum(axis=1).astype(np.int64)
    shown = whole.wins[0].astype(np.int64), whole.ties[0].astype(np.int64)
    if why := _undefined(whole, names):
        none = tuple(undefined(why, n=int(n)) for n in compared)
        return PairwiseStrengths(names, none, undefined(why, n=one.size), *shown)
    strengths, ties = fit(whole)
    found = [Estimate(float(v), n=int(n)) for v, n in zip(strengths[0], compared, strict=True)]
    tie = Estimate(float(ties[0]), n=one.size)
    if rng is not None and replicates:
        codes = np.arange(one.size) if clusters is None else np.asarray(clusters)
        _, code = np.unique(codes, return_inverse=True)
        number = int(code.max()) + 1
        drawn = [_replicates(part) for part in cells.resampled(code, number, replicates, rng)]
        values, of_ties = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
        found = [
            add_interval(point, values[:, place], clusters=number, word=word)
            for place, point in enumerate(found)
        ]
        if shown[1].any():
            tie = _positive(tie, of_ties, number, word)
    return PairwiseStrengths(names, tuple(found), tie, *shown)


def _positive(tie: Estimate, values: Floats, clusters: int, word: str) -> Estimate:
    """The interval of a parameter above 0, made on its logarithm."""
    known = np.where(values > 0, values, np.nan)
    logs = add_interval(
        replace(tie, value=float(np.log(tie.value))), np.log(known), clusters=clusters, word=word
    )
    return replace(tie, low=float(np.exp(logs.low)), high=float(np.exp(logs.high)), interval=logs.interval)


def _check(first: Ints, second: Ints, choice: Ints, systems: int) -> None:
    if not first.shape == second.shape == choice.shape or first.ndim != 1:
        raise ValueError("first, second, choice: expected three arrays of one length")
    for name, codes, size in (("first", first, systems), ("second", second, systems), ("choice", choice, 3)):
        if codes.size and (codes.min() < 0 or codes.max() >= size):
            raise ValueError(f"{name}: codes must lie in [0, {size})")
    if (first == second).any():
        raise ValueError(
            f"first, second: comparison {int(np.argmax(first == second))} is of a system with itself"
        )


@dataclass(frozen=True, eq=False)
class _Cells:
    """Which of the pairs of systems that occur each comparison is about, and which way: its column in sums of comparisons."""

    column: Ints
    names: Ints
    systems: int

    @classmethod
    def of(cls, first: Ints, second: Ints, choice: Ints, systems: int) -> _Cells:
        better, worse = np.where(choice == SECOND, second, first), np.where(choice == SECOND, first, second)
        low, high = np.minimum(first, second), np.maximum(first, second)
        size = systems * systems
        key = np.where(choice == TIED, size + low * systems + high, better * systems + worse)
        names, column = np.unique(key, return_inverse=True)
        return cls(column.astype(np.int64), names, systems)

    def rows(self, code: Ints) -> Any:
        """Shape (clusters, columns), sparse: how often each cluster has each column."""
        from scipy.sparse import csr_array

        shape = (int(code.max(initial=-1)) + 1, self.names.size)
        return csr_array((np.ones(code.size), (code, self.column)), shape=shape)

    def counts(self, sums: Floats) -> Counts:
        """Sums of shape (B, columns) as wins and ties of shape (B, systems, systems)."""
        size = self.systems * self.systems
        table = np.zeros((len(sums), 2 * size))
        table[:, self.names] = sums
        shape = len(sums), self.systems, self.systems
        wins, ties = (part.reshape(shape) for part in np.split(table, 2, axis=1))
        return Counts(wins, ties + ties.transpose(0, 2, 1))

    def resampled(
        self, code: Ints, clusters: int, replicates: int, rng: np.random.Generator
    ) -> Iterator[Counts]:
        """The comparisons of each resample of the clusters, so many at a time that their tables fit in memory."""
        rows = self.rows(code)
        step = max(1, 2_000_000 // (self.systems + 1) ** 2)
        for drawn in draw_counts(clusters, replicates, rng):
            for start in range(0, len(drawn), step):
                yield self.counts((rows.T @ drawn[start : start + step].T).T)


def _replicates(counts: Counts) -> tuple[Floats, Floats]:
    kept = solvable(counts)
    strengths = np.full(counts.wins.shape[:2], NAN)
    ties = np.full(len(kept), NAN)
    if kept.any():
        strengths[kept], ties[kept] = fit(Counts(counts.wins[kept], counts.ties[kept]))
    return strengths, ties


def _undefined(whole: Counts, names: tuple[str, ...]) -> str:
    """Why there is no finite estimate; empty if there is one."""
    compared = whole.wins[0] + whole.wins[0].T + whole.ties[0] > 0
    if not compared.any():
        return NO_COMPARISON
    groups = _groups(reachable(compared[None])[0])
    if len(groups) > 1:
        listed = "; ".join(_some(names, group) for group in groups[:_NAMED])
        more = "; …" if len(groups) > _NAMED else ""
        return f"the comparisons fall apart into {len(groups)} groups of systems that were never compared: {listed}{more}"
    if not whole.wins.any():
        return ALL_TIED
    reach = reachable(whole.wins + whole.ties > 0)[0]
    if not reach.all():
        # The systems that no other one won against, and those that won against none: the fewer are named.
        top = next(
            group
            for group in _groups(reach & reach.T)
            if not reach[:, group[0]][_others(group, len(names))].any()
        )
        bottom = next(
            group
            for group in _groups(reach & reach.T)
            if not reach[group[0]][_others(group, len(names))].any()
        )
        group, what = (top, "won") if len(top) <= len(bottom) else (bottom, "lost")
        return f"{_some(names, group)} {what} every comparison with the other systems"
    return ONE_SIDED if is_unbounded(whole)[0] else ""


def _groups(together: npt.NDArray[np.bool_]) -> list[list[int]]:
    """The classes of an equivalence of systems, as lists of their places."""
    found: dict[bytes, list[int]] = {}
    for place, row in enumerate(together):
        found.setdefault(row.tobytes(), []).append(place)
    return list(found.values())


def _others(group: Sequence[int], size: int) -> list[int]:
    return [place for place in range(size) if place not in set(group)]


def _some(names: Sequence[str], group: Sequence[int]) -> str:
    shown = ", ".join(names[place] for place in group[:_NAMED])
    return f"{shown} and {len(group) - _NAMED} more" if len(group) > _NAMED else shown
