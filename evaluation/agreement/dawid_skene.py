"""Dawid and Skene's estimate of the true labels and of each rater's errors, fast for a million ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evaluation.ratings import Floats, Ratings

#: No probability below this: a rater never seen to err may still err.
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
    compares it with; there the prior is added once a rating in the bound, and so it is here. Labels that nobody
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
    transposed = design.T
    seen = (transposed @ np.ones(sizes.size)) > 0
    rated = sizes > 0
    units = np.count_nonzero(rated)
    # The start: each unit's shares of labels.
    one_hot = np.tile(np.eye(labels), (raters, 1))
    posterior = design @ one_hot
    posterior[rated] /= sizes[rated, None]
    prior = posterior.sum(axis=0) / units
    errors, _ = _maximise(transposed @ posterior, seen, raters, labels)
    bound, step, converged = -np.inf, 0, False
    for step in range(1, iterations + 1):  # noqa: B007 - the number of steps is part of the result
        posterior = _expect(design, prior, errors, seen)
        posterior[~rated] = 0.0
        prior = posterior.sum(axis=0) / units
        weights = transposed @ posterior
        errors, logs = _maximise(weights, seen, raters, labels)
        entropy = -_times_log(posterior[rated] if units < rated.size else posterior)
        joint = (weights * logs).sum() + (sizes @ posterior) @ np.log(np.maximum(prior, FLOOR))
        new = (joint + entropy) / sizes.sum()
        if new - bound < tolerance:
            converged = True
            break
        bound = new
    return posterior, prior, errors, step, converged


def _maximise(
    weights: Floats, seen: npt.NDArray[np.bool_], raters: int, labels: int
) -> tuple[Floats, Floats]:
    """Raters' errors from expected counts, shape (rater * label given, true label), and their logarithms."""
    errors = np.where(seen[:, None], np.maximum(weights, FLOOR), 0.0)
    totals = errors.reshape(raters, labels, labels).sum(axis=1)
    errors /= np.repeat(np.where(totals > 0, totals, 1.0), labels, axis=0)
    return errors, np.log(np.where(seen[:, None], errors, 1.0))


def _expect(design: Any, prior: Floats, errors: Floats, seen: npt.NDArray[np.bool_]) -> Floats:
    """Posterior of the true labels; each row is shifted so that its largest term does not underflow."""
    logs: Floats = design @ np.log(np.where(seen[:, None], errors, 1.0))
    logs += np.log(np.maximum(prior, FLOOR))
    largest = logs[:, 0].copy()
    for label in range(1, logs.shape[1]):  # a column at a time: numpy is slow at reducing short rows
        np.maximum(largest, logs[:, label], out=largest)
    logs -= largest[:, None]
    np.exp(logs, out=logs)
    total = logs[:, 0].copy()
    for label in range(1, logs.shape[1]):
        total += logs[:, label]
    logs /= total[:, None]
    return logs


def _times_log(posterior: Floats) -> float:
    """``sum p log p`` with the floor."""
    floored = np.maximum(posterior, FLOOR)
    return float(np.vdot(floored, np.log(floored)))
