"""A simulator's labels against the whole distribution of people's labels, not only their majority."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.agreement.bootstrap import DEFAULT_REPLICATES, bootstrap, cluster_sums, ratio
from evaluation.agreement.counts import cluster_codes
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.interval import SHARE, UNBOUNDED
from evaluation.core.ratings_table import Floats, Ints, Ratings

#: Added to each label's count, so that a label that none of the others gave has a finite cross-entropy (Krichevsky and Trofimov).
ADDED = 0.5


@dataclass(frozen=True)
class SoftScores:
    """How far a rater's labels are from the distribution of the other people's labels: 0 is closest.

    ``cross_entropy`` is in bits, ``divergence`` (Jensen-Shannon) between 0 and 1. ``people_...`` is what a left-out person gets on
    the same units: the value that a simulator which is as good as one of them has.
    """

    simulator: str
    cross_entropy: Estimate
    divergence: Estimate
    people_cross_entropy: Estimate
    people_divergence: Estimate


def soft_scores(
    ratings: Ratings,
    simulator: str,
    *,
    rng: np.random.Generator | None = None,
    replicates: int = DEFAULT_REPLICATES,
) -> SoftScores:
    """Score a simulator's label on each unit against the labels of the people who rated it, leaving out each of them in turn.

    With n_k of the m - 1 other people giving label k of K, and p_k = n_k / (m - 1)::

        cross-entropy = -log2((n_k + 1/2) / (m - 1 + K/2))
        Jensen-Shannon divergence of p and the label = (log2(2 / (1 + p_k)) + p_k log2(2 p_k / (1 + p_k)) + 1 - p_k) / 2

    A unit's score is the mean over the people left out, of the simulator and of the person left out alike; then the mean over the
    units that two people and the simulator rated. The order of labels isn't used. ``n`` counts units; with ``rng``, intervals draw
    whole clusters. Undefined without such a unit. Raises ``ValueError`` for a name that isn't a simulator of the table.
    Peterson et al. (2019); Uma et al. (2021), section 5.

    >>> rows = [("a", "u", "yes"), ("b", "u", "no"), ("gpt", "u", "yes")]
    >>> found = soft_scores(Ratings.from_rows(rows, simulators=["gpt"]), "gpt")
    >>> found.divergence.value, found.people_divergence.value
    (0.5, 1.0)
    """
    if simulator not in ratings.simulators:
        raise ValueError(f"simulator: {simulator!r} is none of the table's simulators")
    size = max(len(ratings.labels), 1)
    counts = np.zeros((len(ratings.units), size))
    people = ratings.people()
    np.add.at(counts, (people.unit, people.value), 1.0)
    own = np.full(len(ratings.units), -1, dtype=np.int64)
    mine = ratings.rater == ratings.raters.index(simulator)
    own[ratings.unit[mine]] = ratings.value[mine]
    raters = counts.sum(axis=1)
    rows = np.flatnonzero((raters >= 2) & (own >= 0))
    if not rows.size:
        nothing = undefined(f"no unit was rated by {simulator} and by two people")
        return SoftScores(simulator, nothing, nothing, nothing, nothing)
    held, m, label = counts[rows], raters[rows], own[rows]
    same = held[np.arange(rows.size), label]
    others = m - 1
    codes, _ = cluster_codes(ratings)

    def mean(values: Floats, *, share: bool) -> Estimate:
        found = Estimate(float(values.mean()), n=rows.size)
        if rng is None or not replicates:
            return found
        return bootstrap(
            found,
            cluster_sums([values, np.ones(rows.size)], _dense(codes[rows])),
            ratio,
            rng=rng,
            replicates=replicates,
            word="units" if ratings.clusters is None else "instances",
            bounds=SHARE if share else UNBOUNDED,
        )

    scores = []
    for score, share in ((_cross_entropy, False), (_divergence, True)):
        # With each person left out: one of those who gave the simulator's label, or one of the others.
        theirs = same / m * score(np.maximum(same - 1, 0), others, size) + (1 - same / m) * score(
            same, others, size
        )
        left_out = (held / m[:, None] * score(np.maximum(held - 1, 0), others[:, None], size)).sum(axis=1)
        scores.append((mean(theirs, share=share), mean(left_out, share=share)))
    (entropy, people_entropy), (divergence, people_divergence) = scores
    return SoftScores(simulator, entropy, divergence, people_entropy, people_divergence)


def _dense(codes: Ints) -> Ints:
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _cross_entropy(same: Floats, others: Floats, labels: int) -> Floats:
    return np.asarray(-np.log2((same + ADDED) / (others + ADDED * labels)))


def _divergence(same: Floats, others: Floats, labels: int) -> Floats:
    p = same / others
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = np.where(p > 0, p * np.log2(2 * p / (1 + p)), 0.0)
    return np.asarray((np.log2(2 / (1 + p)) + shared + 1 - p) / 2)
