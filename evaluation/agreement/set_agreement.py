"""Agreement on sets of labels: alpha with the MASI and the Jaccard distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evaluation.agreement.bootstrap import DEFAULT_REPLICATES
from evaluation.agreement.counts import count_units
from evaluation.agreement.distance_alpha import (
    MOST_COMPARED,
    Distance,
    ValueCounts,
    distance_alpha,
    sums_against,
)
from evaluation.agreement.value_forms import read_set
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Floats, Ints, Ratings

SetDistance = Literal["masi", "jaccard", "nominal"]
#: Two distances of the same sets.
_Both = Callable[[Ints, Ints], tuple[Floats, Floats]]


@dataclass(frozen=True)
class SetAgreement:
    """Agreement on sets: alpha with each distance. ``nominal`` takes sets that differ in one key as entirely different."""

    masi: Estimate
    jaccard: Estimate
    nominal: Estimate


def set_distances(sets: Sequence[frozenset[str]], kind: SetDistance = "masi") -> Distance:
    """The distance between any of these sets, by their positions.

    With A and B two sets: Jaccard's is ``1 - |A and B| / |A or B|``; MASI's (Passonneau 2006) is ``1 - m |A and B| / |A or B|``, where the
    monotonicity m is 1 for equal sets, 2/3 if one holds the other, 1/3 if they overlap otherwise, and 0 if they have no key in common;
    nominal is 0 for equal sets, else 1. Two empty sets have the distance 0, an empty and another one 1.

    >>> found = set_distances([frozenset("ab"), frozenset("a"), frozenset()])
    >>> found(np.array([0, 0, 2]), np.array([0, 1, 0])).round(3).tolist()  # 1 - 2/3 * 1/2
    [0.0, 0.667, 1.0]
    """
    if kind == "nominal":
        return lambda i, j: np.asarray(i != j, dtype=np.float64)
    masi, jaccard, _ = _distances(sets)
    return masi if kind == "masi" else jaccard


def _distances(sets: Sequence[frozenset[str]]) -> tuple[Distance, Distance, _Both]:
    """MASI's distance, Jaccard's, and both at once with one intersection."""
    keys = {key: place for place, key in enumerate(sorted(set().union(*sets)))}
    member = np.zeros((len(sets), max(len(keys), 1)), dtype=np.float32)
    for row, one in enumerate(sets):
        member[row, [keys[key] for key in one]] = 1.0
    sizes = member.sum(axis=1).astype(np.float64)

    def shares(i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """``|A and B|`` and ``|A and B| / |A or B|``."""
        if i.ndim == 2:  # rows of the table of all pairs
            both = (member[i[:, 0]] @ member[j[0]].T).astype(np.float64)
        else:
            both = np.einsum("nk,nk->n", member[i], member[j]).astype(np.float64)
        union = sizes[i] + sizes[j] - both
        return both, np.divide(both, union, out=np.ones(union.shape), where=union > 0)

    def of_masi(i: Ints, j: Ints, both: Floats, share: Floats) -> Floats:
        within = (both == sizes[i]) | (both == sizes[j])
        return np.asarray(1.0 - share * np.where(share == 1.0, 1.0, np.where(within, 2 / 3, 1 / 3)))

    def together(i: Ints, j: Ints) -> tuple[Floats, Floats]:
        both, share = shares(i, j)
        return of_masi(i, j, both, share), np.asarray(1.0 - share)

    def masi(i: Ints, j: Ints) -> Floats:
        return of_masi(i, j, *shares(i, j))

    def jaccard(i: Ints, j: Ints) -> Floats:
        return np.asarray(1.0 - shares(i, j)[1])

    return masi, jaccard, together


def set_agreement(
    ratings: Ratings, *, rng: np.random.Generator | None = None, replicates: int = DEFAULT_REPLICATES
) -> SetAgreement:
    """Agreement of raters who each gave a unit a set of labels, with any missing data.

    The table's labels are sets as :func:`read_set` reads them. Alpha is :func:`distance_alpha` with each of :func:`set_distances`: 1 is
    perfect agreement, 0 chance. An empty set is a value (nothing applies); a missing rating is a missing row. ``n`` counts pairable ratings.

    Undefined where no unit has two ratings and where all sets are the same; ``masi`` and ``jaccard`` also with more than ``MOST_COMPARED``
    different sets, whose pairs would take minutes. ``ValueError`` for a label that isn't a set.
    Krippendorff (2011); Passonneau (2006), "Measuring agreement on set-valued items (MASI) for semantic and pragmatic annotation".

    >>> rows = [("a", "u", '["x"]'), ("b", "u", '["x", "y"]'), ("a", "v", '["z"]'), ("b", "v", '["z"]')]
    >>> found = set_agreement(Ratings.from_rows(rows))
    >>> round(found.masi.value, 3), round(found.jaccard.value, 3)
    (0.571, 0.667)
    """
    counts, sets = set_counts(ratings)
    word = "units" if ratings.clusters is None else "instances"
    given = counts.pairable.astype(np.float64)
    of_masi, of_jaccard, together = _distances(sets)
    compared = 0 < np.count_nonzero(given) <= MOST_COMPARED
    sums = sums_against(given, together) if compared else [None, None]
    masi, jaccard, nominal = (
        distance_alpha(counts, distance, against=against, rng=rng, replicates=replicates, word=word)
        for distance, against in ((of_masi, sums[0]), (of_jaccard, sums[1]), (None, None))
    )
    return SetAgreement(masi, jaccard, nominal)


def set_counts(ratings: Ratings) -> tuple[ValueCounts, list[frozenset[str]]]:
    """How many raters gave each unit each set, and the different sets, whatever their spelling."""
    read = [read_set(label) for label in ratings.labels]
    sets = list(dict.fromkeys(read))
    place = {one: number for number, one in enumerate(sets)}
    code = np.array([place[one] for one in read], dtype=np.int64)
    cells = count_units(ratings)
    # Two spellings of one set are one value.
    key = cells.unit * max(len(sets), 1) + (code[cells.label] if code.size else cells.label)
    distinct, inverse = np.unique(key, return_inverse=True)
    count = np.bincount(inverse, weights=cells.count, minlength=distinct.size).astype(np.int64)
    unit, value = np.divmod(distinct, max(len(sets), 1))
    units = len(ratings.units)
    clusters = np.arange(units) if ratings.clusters is None else ratings.clusters.astype(np.int64)
    return ValueCounts(unit, value, count, np.ones(units, dtype=np.int64), clusters, len(sets)), sets
