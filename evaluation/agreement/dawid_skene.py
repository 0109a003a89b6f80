"""Dawid and Skene's estimate of the true labels and of each rater's errors, fast for a million ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evaluation.core.ratings_table import Floats, Ratings

#: No probability is below this: a rater who has made no error so far may still make one.
FLOOR = 1e-10


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """The fitted model.

    ``posterior`` (U, L): probability of each true label, rows sum to 1, ``nan`` for a unit that nobody rated.
    ``prior`` (L,). ``confusion`` (R, L, L): ``confusion[r, t, g]`` is the probability that rater r gives g where t is true;
    ``nan`` for a rater without ratings. ``iterations`` of EM; ``converged`` says whether the tolerance was met.
    """

    posterior: Floats
    prior: Floats
    confusion: Floats
    iterations: int
    converged: bool

    @property
    def accuracy(self) -> Floats:
        """Shape (R,): probability that the rater's label is the true one, over the prior of true labels."""
        return np.einsum("t,rtt->r", self.prior, self.confusion)


def dawid_skene(ratings: Ratings, *, iterations: int = 100, tolerance: float = 1e-5) -> DawidSkene:
    """Estimate true labels and raters' confusion matrices together by expectation maximisation.

    Model: the true label of unit u is t with probability ``prior[t]``; rater r then gives g with probability
    ``confusion[r, t, g]``, independently of the others. EM starts from each unit's label shares and ends when the bound
    on the log likelihood per rating grows by less than ``tolerance``, or after ``iterations`` (at least 1).

    The same estimate, start, floor (1e-10), bound and stopping rule as crowd-kit's ``DawidSkene``, which a test
    compares it with; there the prior is added once per rating in the bound, and so it is here. Labels that nobody
    gave have prior 0. Missing ratings are missing rows. With no ratings at all everything is ``nan``.
    ``ValueError`` for ``iterations`` < 1. Dawid and Skene (1979), equations 2.3 to 2.5.

    >>> rows = [(r, u, "yes" if u < "3" else "no") for r in "ab" for u in "1234"] + [("c", u, "yes") for u in "1234"]
    >>> dawid_skene(Ratings.from_rows(rows)).accuracy.round(2).tolist()
    [1.0, 1.0, 0.5]
    """
    if iterations < 1:
        raise ValueError(f"iterations: expected 1 or more, got {iterations}")
    raters, labels = len(ratings.raters), len(ratings.labels)
    given = np.flatnonzero(np.bincount(ratings.value, minlength=labels))
    if not given.size:
        empty = np.full((raters, labels, labels), np.nan)
        return DawidSkene(
            np.full((len(ratings.units), labels), np.nan), np.full(labels, np.nan), empty, 0, False
        )
    design, sizes = _design(ratings, given)
    posterior, prior, errors, steps, converged = _fit(
        design, sizes, raters, given.size, iterations, tolerance
    )
    full_posterior = np.zeros((len(ratings.units), labels))
    full_posterior[:, given] = posterior
    full_posterior[sizes == 0] = np.nan
    full_prior = np.zeros(labels)
    full_prior[given] = prior
    confusion = np.zeros((raters, labels, labels))
    confusion[np.ix_(np.arange(raters), given, given)] = errors.reshape(raters, given.size, -1).transpose(
        0, 2, 1
    )
    confusion[~np.isin(np.arange(raters), ratings.rater)] = np.nan
    return DawidSkene(full_posterior, full_prior, confusion, steps, converged)


def _design(ratings: Ratings, given: npt.NDArray[Any]) -> tuple[Any, Floats]:
    """The ratings as a sparse 0/1 matrix of units by (rater, label), and the number of ratings of each unit."""
    grouped = ratings.grouped
    code = np.zeros(len(ratings.labels), dtype=np.int32)
    code[given] = np.arange(given.size, dtype=np.int32)
    columns = grouped.rater * np.int32(given.size) + code[grouped.value]
    shape = (len(ratings.units), len(ratings.raters) * given.size)
    design = sparse.csr_array((np.ones(columns.size), columns, grouped.start.astype(np.int32)), shape=shape)
    return design, grouped.sizes.astype(np.float64)


def _fit(
    design: Any, sizes: Floats, raters: int, labels: int, iterations: int, tolerance: float
) -> tuple[Floats, Floats, Floats, int, bool]:
    """EM; the posterior is held label by label, shape (labels, units): numpy is slow on short rows."""
    transposed = design.T
    unrated = sizes == 0
    units = sizes.size - np.count_nonzero(unrated)
    seen = (transposed @ np.ones(sizes.size)) > 0
    one_hot = np.tile(np.eye(labels), (raters, 1))
    # The start: each unit's shares of labels.
    posterior = np.stack([design @ one_hot[:, label] for label in range(labels)]) / np.maximum(sizes, 1.0)
    prior = posterior.sum(axis=1) / units
    errors, logs, _ = _maximise(transposed, posterior, seen, raters)
    bound, step, converged = -np.inf, 0, False
    for step in range(1, iterations + 1):  # noqa: B007 - the number of steps is part of the result
        negative_entropy = _expect(design, prior, logs, unrated, posterior)
        prior = posterior.sum(axis=1) / units
        errors, logs, weights = _maximise(transposed, posterior, seen, raters)
        joint = np.vdot(weights, logs) + (posterior @ sizes) @ np.log(np.maximum(prior, FLOOR))
        new = (joint - negative_entropy) / sizes.sum()
        if new - bound < tolerance:
            converged = True
            break
        bound = new
    return np.ascontiguousarray(posterior.T), prior, errors, step, converged


def _maximise(
    transposed: Any, posterior: Floats, seen: npt.NDArray[np.bool_], raters: int
) -> tuple[Floats, Floats, Floats]:
    """Raters' errors, shape (rater * label given, true label), their logarithms, and the expected counts behind them."""
    labels = posterior.shape[0]
    weights = np.stack([transposed @ row for row in posterior], axis=1)
    errors = np.where(seen[:, None], np.maximum(weights, FLOOR), 0.0)
    totals = errors.reshape(raters, labels, labels).sum(axis=1)
    errors /= np.repeat(np.where(totals > 0, totals, 1.0), labels, axis=0)
    return errors, np.log(np.where(seen[:, None], errors, 1.0)), weights


def _expect(
    design: Any, prior: Floats, logs: Floats, unrated: npt.NDArray[np.bool_], posterior: Floats
) -> float:
    """Write the posterior of the true labels in place; return its negative entropy, ``sum p log p`` with the floor."""
    for label, row in enumerate(posterior):
        np.add(design @ np.ascontiguousarray(logs[:, label]), np.log(max(prior[label], FLOOR)), out=row)
    posterior -= posterior.max(axis=0)  # so that the largest term does not underflow
    shifted = posterior.copy()
    np.exp(posterior, out=posterior)
    total = posterior.sum(axis=0)
    posterior /= total
    if unrated.any():
        posterior[:, unrated] = 0.0
        shifted[:, unrated] = 0.0
        total[unrated] = 1.0
    tiny = posterior < FLOOR
    few = np.count_nonzero(tiny) - posterior.shape[0] * np.count_nonzero(unrated)
    # log p = shifted - log(total), except for the probabilities under the floor
    above = float(np.vdot(posterior, shifted)) - float(np.log(total).sum())
    below = float(np.vdot(posterior[tiny], (shifted - np.log(total))[tiny])) if few else 0.0
    return above - below + few * FLOOR * float(np.log(FLOOR))
