"""The likelihood of Bradley and Terry's model with Davidson's ties: where it has a maximum, and Newton's method for many tables at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evaluation.core.ratings_table import Floats

Mask = npt.NDArray[np.bool_]
#: Steps of Newton's method, and the largest one.
_STEPS, _LONGEST = 200, 1.0
#: The gradient at which it stops, for each comparison.
_GRADIENT = 1e-10


class Counts(NamedTuple):
    """B tables of comparisons, each of shape (B, systems, systems): ``wins`` of the row's system against the column's, and ``ties``,
    symmetric."""

    wins: Floats
    ties: Floats


def reachable(edges: Mask) -> Mask:
    """Shape (B, S, S): whether there is a path from the row's system to the column's, along edges; each reaches itself."""
    size = edges.shape[-1]
    found = edges | np.eye(size, dtype=bool)
    for _ in range(max(size - 1, 1).bit_length()):
        found = (found.astype(np.float32) @ found.astype(np.float32)) > 0
    return np.asarray(found)


def is_unbounded(counts: Counts) -> Mask:
    """Shape (B,): whether strengths and the parameter of ties can rise together without lowering the likelihood.

    That is so if strengths d can be found with ``d_i - d_j >= 1`` where i won against j, and at most 1 apart where they tied: if no cycle of
    such constraints is negative (Floyd and Warshall's algorithm). Only with ties.
    """
    wins, ties = counts.wins > 0, counts.ties > 0
    length = np.where(wins, -1.0, np.where(ties, 1.0, np.inf))
    for middle in range(length.shape[-1]):
        through = length[:, :, middle, None] + length[:, None, middle, :]
        np.maximum(np.minimum(length, through), -1e6, out=length)  # cycles below 0 only get longer
    negative = (np.diagonal(length, axis1=1, axis2=2) < 0).any(axis=1)
    return np.asarray(ties.any(axis=(1, 2)) & ~negative)


def solvable(counts: Counts) -> Mask:
    """Shape (B,): whether there is a finite maximum: each system is connected to each other one by wins and ties, in both directions, and
    ties have a limit."""
    connected = reachable(counts.wins + counts.ties > 0).all(axis=(1, 2))
    return np.asarray(connected & ~is_unbounded(counts))


def fit(counts: Counts) -> tuple[Floats, Floats]:
    """Log strengths with mean 0, shape (B, S), and the parameter of ties, shape (B,), of tables that are ``solvable``.

    The likelihood is concave in the log strengths and the logarithm of the parameter. Rows that haven't converged are ``nan``.
    """
    wins, ties = counts
    rows, size = wins.shape[:2]
    n = wins + wins.transpose(0, 2, 1) + ties
    scores = (wins + ties / 2).sum(axis=2)
    tied = ties.sum(axis=(1, 2)) / 2
    with_ties = tied > 0
    total = n.sum(axis=(1, 2)) / 2
    theta, eta = (
        np.zeros((rows, size)),
        np.log(np.where(with_ties, tied / np.maximum(total - tied, 0.5), 1.0)),
    )
    done = np.zeros(rows, dtype=bool)
    for _ in range(_STEPS):
        gradient, information = _derivatives(theta, eta, n, scores, tied, with_ties)
        done = np.abs(gradient).max(axis=1) <= _GRADIENT * total
        if done.all():
            break
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        step *= np.minimum(1.0, _LONGEST / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
        step[done] = 0.0
        theta, eta = theta + step[:, :size], eta + step[:, size]
    theta = theta - theta.mean(axis=1, keepdims=True)
    theta[~done], eta[~done] = np.nan, np.nan
    return theta, np.where(with_ties, np.exp(eta), np.where(done, 0.0, np.nan))


def _derivatives(
    theta: Floats, eta: Floats, n: Floats, scores: Floats, tied: Floats, with_ties: Mask
) -> tuple[Floats, Floats]:
    """The gradient (B, S + 1) and the information (B, S + 1, S + 1), which the mean of the strengths, free, is fixed in."""
    size = theta.shape[1]
    half = (theta[:, :, None] - theta[:, None, :]) / 2
    tie = np.where(with_ties, np.exp(eta), 0.0)[:, None, None]
    up, down = np.exp(half), np.exp(-half)
    whole = up + down + tie
    win, drawn = up / whole, tie / whole
    score = win + drawn / 2
    variance = n * (win + drawn / 4 - score * score)
    cross = n * (drawn / 2 - score * drawn)
    gradient = np.empty((theta.shape[0], size + 1))
    gradient[:, :size] = scores - (n * score).sum(axis=2)
    gradient[:, size] = np.where(with_ties, tied - (n * drawn).sum(axis=(1, 2)) / 2, 0.0)
    information = np.empty((theta.shape[0], size + 1, size + 1))
    information[:, :size, :size] = -variance
    inside = np.arange(size)
    information[:, inside, inside] = variance.sum(axis=2)
    information[:, :size, :size] += variance.sum(axis=(1, 2))[:, None, None] / size**3 + 1e-300
    information[:, :size, size] = information[:, size, :size] = cross.sum(axis=2)
    information[:, size, size] = np.where(with_ties, (n * drawn * (1 - drawn)).sum(axis=(1, 2)) / 2, 1.0)
    return gradient, information
