"""A confidence sequence may be looked at after every outcome: it contains the true mean at all of them at once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.validation.sequential_grid import DESIGNS, shares_significant
from evaluation.planning.confidence_sequence import confidence_sequence, means_by_cluster


def by_hand(values: list[float], alpha: float) -> tuple[float, float]:
    """Waudby-Smith and Ramdas (2024), equations 13-15, outcome by outcome."""
    total = weighted = penalty = 0.0
    low, high = 0.0, 1.0
    seen: list[float] = []
    means: list[float] = []
    for number, value in enumerate(values, 1):
        mean_before = (0.5 + sum(seen)) / number
        variance_before = (0.25 + sum((x - m) ** 2 for x, m in zip(seen, means, strict=True))) / number
        bet = min(math.sqrt(2 * math.log(2 / alpha) / (variance_before * number * math.log(1 + number))), 0.5)
        psi = (-math.log(1 - bet) - bet) / 4
        penalty += 4 * (value - mean_before) ** 2 * psi
        total += bet
        weighted += bet * value
        half = (math.log(2 / alpha) + penalty) / total
        low, high = max(low, weighted / total - half), min(high, weighted / total + half)
        seen.append(value)
        means.append((0.5 + sum(seen)) / (number + 1))
    return low, high


def test_the_limits_are_the_papers() -> None:
    rng = np.random.default_rng(5)
    for alpha in (0.05, 0.2):
        values = rng.beta(2, 1, size=300).tolist()
        found = confidence_sequence(values, alpha=alpha)
        assert (found.low[-1], found.high[-1]) == pytest.approx(by_hand(values, alpha))


@pytest.mark.parametrize("mean", [0.02, 0.3, 0.5, 0.9])
def test_the_true_mean_is_in_all_intervals_at_once(mean: float) -> None:
    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(500):
        found = confidence_sequence(rng.random(1_000) < mean)
        missed += bool(found.excludes(mean).any())
        assert (np.diff(found.low) >= 0).all()
        assert (np.diff(found.high) <= 0).all()
        assert (found.low <= found.high).all()
    assert missed <= 25, "5 % of 500 studies"


def test_it_closes_in_on_the_mean_and_scales() -> None:
    rng = np.random.default_rng(3)
    values = (rng.random(20_000) < 0.7).astype(float)
    found = confidence_sequence(values)
    assert found.high[-1] - found.low[-1] < 0.04
    wide = confidence_sequence(4 * values - 2, low=-2, high=2)
    assert wide.low == pytest.approx(4 * found.low - 2)
    assert wide.mean == pytest.approx(4 * found.mean - 2)


def test_means_that_drift_leave_no_empty_interval() -> None:
    found = confidence_sequence([0.0] * 300 + [1.0] * 3_000)
    assert (found.low <= found.high).all()


def test_no_outcomes_and_wrong_ones() -> None:
    assert len(confidence_sequence([])) == 0
    with pytest.raises(ValueError, match=r"entry 1 is 1\.5; expected numbers from 0 to 1"):
        confidence_sequence([0.5, 1.5])
    with pytest.raises(ValueError, match="entry 0 is nan"):
        confidence_sequence([math.nan])
    with pytest.raises(ValueError, match="alpha"):
        confidence_sequence([0.5], alpha=0)
    with pytest.raises(ValueError, match="expected low < high"):
        confidence_sequence([0.5], low=1, high=1)
    with pytest.raises(ValueError, match="expected one length"):
        means_by_cluster([1.0], ["a", "b"], size=1)
    with pytest.raises(ValueError, match="size: expected 1 or more"):
        means_by_cluster([1.0], ["a"], size=0)


def test_a_cluster_counts_once_when_it_is_complete() -> None:
    means, seen = means_by_cluster([1, 0, 0, 1, 1, 1], ["b", "a", "b", "a", "a", "c"], size=2)
    assert means.tolist() == [0.5, 0.5]
    assert seen.tolist() == [3, 4]


def test_studies_without_an_effect_are_seldom_called_significant() -> None:
    """The grid of ``benchmarks.validation.sequential_grid`` with fewer studies: watching the plain interval misleads, this doesn't."""
    name = "difference of two systems, 300 x 1 pairs"
    found = shares_significant(DESIGNS[name], studies=60, seed=1)
    assert found["plain"] > 0.1
    assert found["confidence_sequence"] <= 0.05
    assert found["obrien_fleming"] < found["plain"]
