"""How much shares of majority labels would change with other raters: the effect of each rating on them, by rater.

The label of an item with few ratings isn't a mean of them: without one of three, the other two may tie. So leaving out a rater says more about
ties than about the rater, and the jackknife's intervals are too wide. Here each rating is replaced by another one of the same item, which
keeps their number: the difference is what this rating did to the item's outcome. What all ratings of a rater did, beyond what
single instances alone would bring, is the variance over raters (:mod:`evaluation.agreement.new_raters`). These are the main effects of
the Hoeffding decomposition of a statistic of several raters: Owen (2007), section 3; van der Vaart (1998), section 11.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.agreement.new_raters import LEAST_RATERS, RaterVariance
from evaluation.metrics.resample import Floats, Ints

#: From majority labels of shape (n, V), -1 for a tie, and the items that they are of, shape (n,), to outcomes of shape (n, D).
Outcome = Callable[[Ints, Ints], Floats]
#: Of more ratings of one item than this, each is replaced by this many others.
_MOST_OTHERS = 10
#: Cells (rating, variable, label) that are worked on at once.
_CELLS = 4_000_000


@dataclass(frozen=True)
class EffectVariance(RaterVariance):
    """A variance over raters from the effects of their ratings, most of which is noise: an item's label depends on the other ratings too."""

    def added_to(self, variance: float, degrees_of_freedom: float) -> tuple[float, float]:
        """Variance and degrees of freedom for new raters, from those over instances.

        Satterthwaite's degrees of freedom with the square of the variance over raters replaced by its product with the raw one: where all
        of the raw one is noise, nothing is added, and the degrees of freedom are those over instances. With the square of the raw one intervals of
        these figures covered 97 to 98 %; with that of the variance over raters itself, which is cut at 0, fewer.

        >>> variance, degrees = EffectVariance(raw=3.0, noise=3.0, raters=11).added_to(2.0, 99)
        >>> variance, round(degrees)
        (2.0, 99)
        """
        between = max(0.0, self.raw - self.noise)
        total = variance + between
        spread = between * self.raw / (self.raters - 1) + variance**2 / degrees_of_freedom
        degrees = total**2 / spread if spread else degrees_of_freedom
        return total, min(max(degrees, -(-2 * (self.raters - 1) // 3)), degrees_of_freedom)


def variance_of_effects(
    effects: npt.ArrayLike, sizes: npt.ArrayLike, clusters: npt.ArrayLike, raters: npt.ArrayLike
) -> list[EffectVariance]:
    """The variances over raters of F statistics, from the effect of each rating on them.

    ``effects`` has shape (N, F), one row for each rating; ``sizes``, ``clusters`` and ``raters`` have shape (N,): how many ratings the rating's item
    has (effects are compared with the mean of those of as many), its instance and its rater as whole numbers. Fewer raters than
    ``LEAST_RATERS`` are too few. ``ValueError`` for unequal lengths.

    >>> [found] = variance_of_effects(np.array([[1, 1, -1, -1, 1, 1, -1, -1, 0, 0]]).T, [3] * 10, range(10), np.repeat(range(5), 2))
    >>> found.raw, found.noise, found.raters
    (20.0, 0.0, 5)
    """
    rater, cluster = (np.unique(np.asarray(one), return_inverse=True)[1] for one in (raters, clusters))
    effect = np.asarray(effects, dtype=np.float64)
    if effect.ndim != 2 or not effect.shape[:1] == np.asarray(sizes).shape == rater.shape == cluster.shape:
        raise ValueError("effects, sizes, clusters, raters: expected one length")
    number = int(rater.max(initial=-1)) + 1
    if number < LEAST_RATERS:
        return [EffectVariance(float("nan"), float("nan"), number)] * effect.shape[1]
    size = np.unique(np.asarray(sizes), return_inverse=True)[1]
    cells, cell = np.unique(rater * (int(cluster.max()) + 1) + cluster, return_inverse=True)
    of_cell = cells // (int(cluster.max()) + 1)
    several, scale = np.bincount(of_cell), number / (number - 1)
    found = []
    for column in effect.T:
        centred = column - (np.bincount(size, weights=column) / np.bincount(size))[size]
        sums = np.bincount(cell, weights=centred)
        total, squares = np.bincount(of_cell, weights=sums), np.bincount(of_cell, weights=sums**2)
        # The variance of a sum over independent instances; of one instance all is noise.
        within = (squares - total**2 / several) * several / np.maximum(several - 1, 1)
        noise = np.where(several > 1, within, total**2)
        found.append(EffectVariance(scale * float((total**2).sum()), scale * float(noise.sum()), number))
    return found


def majority_effects(item: Ints, values: Ints, outcome: Outcome, gradient: Floats) -> tuple[Floats, Ints]:
    """The effect of each rating on F statistics of the items' majority labels, shape (N, F), and how many ratings its item has.

    ``item`` of shape (N,) and ``values`` of shape (N, V), both codes from 0: an entry is what one rater said of an item, on each of V questions.
    ``outcome`` gives the D figures of items from their majority labels, and ``gradient`` of shape (items, D, F) is how much the statistics change with
    each of them. A rating's effect is the statistic less its mean with the rating replaced by each of the item's others; of an item's only
    rating, the outcome itself.

    >>> same = lambda label, of: (label == 1).astype(float)
    >>> effects, _ = majority_effects(np.zeros(3, int), np.array([[1], [1], [0]]), same, np.ones((1, 1, 1)))
    >>> effects[:, 0].tolist()
    [0.5, 0.5, 0.0]
    """
    if not item.size:
        return np.zeros((0, gradient.shape[2])), np.zeros(0, dtype=np.int64)
    number = len(gradient)
    order = np.argsort(item, kind="stable")
    of = item[order]
    tallies = _Tallies(of, values[order], number)
    sizes = np.bincount(of, minlength=number)
    start = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    place = np.arange(of.size) - start[of]
    own = outcome(tallies.majority(tallies.counts, np.arange(number)), np.arange(number))
    effects = np.einsum("nd,ndf->nf", own[of], gradient[of])
    step = max(1, _CELLS // tallies.counts[0].size)
    for first in range(0, of.size, step):
        rows = np.arange(first, min(first + step, of.size))
        others = np.minimum(sizes[of[rows]] - 1, _MOST_OTHERS)
        mean = np.zeros((rows.size, gradient.shape[2]))
        for shift in range(1, int(others.max()) + 1):
            some = np.flatnonzero(others >= shift)
            at, where = of[rows[some]], rows[some]
            other = start[at] + (place[where] + shift) % sizes[at]
            tally, line = tallies.counts[at], np.arange(some.size)
            for variable, code in enumerate(tallies.codes.T):
                tally[line, variable, code[where]] -= 1
                tally[line, variable, code[other]] += 1
            mean[some] += np.einsum("nd,ndf->nf", outcome(tallies.majority(tally, at), at), gradient[at])
        effects[rows] -= mean / np.maximum(others, 1)[:, None]
    back = np.empty(effects.shape)
    back[order] = effects
    return back, sizes[item]


def majority_labels(item: Ints, values: Ints, items: int) -> Ints:
    """Shape (items, V): each item's most frequent label on each question; -1 for a tie, or without any.

    ``item`` and ``values`` are those of ``majority_effects``.

    >>> majority_labels(np.array([0, 0, 0, 1]), np.array([[7], [7], [3], [5]]), 3).tolist()
    [[7], [5], [-1]]
    """
    if not item.size:
        return np.full((items, values.shape[1]), -1, dtype=np.int64)
    tallies = _Tallies(item, values, items)
    return tallies.majority(tallies.counts, np.arange(items))


class _Tallies:
    """How many ratings each item has of each of its own labels: there may be thousands, but an item has no more than ratings.

    ``codes`` of shape (N, V) are places among the item's labels, ``counts`` has the shape (items, V, labels of an item).
    """

    def __init__(self, item: Ints, values: Ints, items: int) -> None:
        labels = int(values.max()) + 1
        found = [np.unique(item * labels + column, return_inverse=True) for column in values.T]
        firsts = [np.searchsorted(pairs // labels, np.arange(items)) for pairs, _ in found]
        self.codes = np.stack(
            [at - first[item] for (_, at), first in zip(found, firsts, strict=True)], axis=1
        )
        width = int(self.codes.max()) + 1
        self.counts = np.zeros((items, len(found), width), dtype=np.int32)
        self._labels = np.full((items, len(found), width), -1, dtype=np.int64)
        for variable, ((pairs, _), first) in enumerate(zip(found, firsts, strict=True)):
            np.add.at(self.counts[:, variable], (item, self.codes[:, variable]), 1)
            owner = pairs // labels
            self._labels[owner, variable, np.arange(pairs.size) - first[owner]] = pairs % labels

    def majority(self, counts: npt.NDArray[np.int32], at: Ints) -> Ints:
        """Shape (n, V): the most frequent labels by counts of the items ``at``."""
        code = majority_codes(counts)
        questions = np.arange(code.shape[1])
        return np.where(code >= 0, self._labels[at[:, None], questions, code], -1)


def majority_codes(counts: npt.NDArray[np.int32]) -> Ints:
    """The most frequent label of each table of counts of shape (..., L); -1 for a tie, or without any.

    >>> majority_codes(np.array([[2, 1], [1, 1]], dtype=np.int32)).tolist()
    [0, -1]
    """
    most = counts.max(axis=-1)
    tied = (counts == most[..., None]).sum(axis=-1) > 1
    return np.where(tied | (most == 0), -1, counts.argmax(axis=-1)).astype(np.int64)


def ratio_gradient(
    top: Floats | Ints, bottom: Floats | Ints, items: int, columns: tuple[int, int], width: int
) -> Floats:
    """Shape (items, ``width``): the gradient of a pooled share, sum of ``top`` over sum of ``bottom``, which are the outcomes' ``columns``.

    >>> ratio_gradient(np.array([1.0, 0.0]), np.ones(2), 2, (1, 0), 2).tolist()
    [[-0.25, 0.5], [-0.25, 0.5]]
    """
    found = np.zeros((items, width))
    total = float(bottom.sum())
    if total:
        found[:, columns[0]] = 1 / total
        found[:, columns[1]] -= float(top.sum()) / total**2
    return found
