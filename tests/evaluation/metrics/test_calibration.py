"""Brier score, expected calibration error and reliability, on figures worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from evaluation.metrics.calibration import calibration
from evaluation.runs.confidence import answer_confidence


def test_scores_worked_out_by_hand() -> None:
    found = calibration([1.0, 0.8, 0.8, 0.3, 0.3], [1, 1, 0, 0, 1])
    assert found.brier.value == pytest.approx((0 + 0.04 + 0.64 + 0.09 + 0.49) / 5)
    # bins 0.9 to 1, 0.8 to 0.9 and 0.3 to 0.4: |1 - 1| / 5 + 2 |0.5 - 0.8| / 5 + 2 |0.5 - 0.3| / 5
    assert found.ece.value == pytest.approx((2 * 0.3 + 2 * 0.2) / 5)
    assert [(one.low, one.accuracy.n) for one in found.bins] == [(0.3, 2), (0.8, 2), (0.9, 1)]
    assert found.accuracy.value == pytest.approx(0.6)
    assert found.confidence.value == pytest.approx(0.64)


def test_a_calibrated_simulator_scores_better_than_an_overconfident_one() -> None:
    rng = np.random.default_rng(1)
    chance = rng.uniform(0.5, 1.0, 4000)
    right = rng.uniform(size=4000) < chance
    good, bad = calibration(chance, right), calibration(np.full(4000, 0.99), right)
    assert good.ece.value < 0.04 < bad.ece.value
    assert good.brier.value < bad.brier.value


def test_intervals_draw_clusters_and_hold_the_value() -> None:
    rng = np.random.default_rng(2)
    found = calibration(
        rng.uniform(size=200),
        rng.integers(0, 2, 200),
        [str(n // 4) for n in range(200)],
        rng=rng,
        replicates=300,
    )
    assert found.brier.low < found.brier.value < found.brier.high
    assert math.isnan(found.ece.low)
    assert "resampling" in found.ece.interval


def test_what_is_not_known_is_counted_and_what_cannot_be_is_refused() -> None:
    found = calibration([math.nan, 0.5], [1, 1])
    assert (found.brier.n, dict(found.brier.left_out)) == (1, {"without a confidence": 1})
    assert not calibration([], []).brier.defined
    assert not calibration([math.nan], [1]).ece.defined
    with pytest.raises(ValueError, match="from 0 to 1"):
        calibration([1.2], [1])
    with pytest.raises(ValueError, match="one length"):
        calibration([0.2, 0.3], [1])


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("ANSWER: YES", [("ANSWER:", -1.0), (" YES", -0.5)], math.exp(-0.5)),
        ("ANSWER: CANNOT GUESS.", [("ANSWER:", -1), (" CANNOT", -0.5), (" GUESS", -0.25), (".", -2)], math.exp(-0.75)),
        ("Hm.\nYes", [("Hm", -1), (".\n", -1), ("Yes", -0.1)], math.exp(-0.1)),
        ('{"thoughts": "x", "helpful": "no"}', [('{"thoughts": "x", "helpful": "', -1), ("no", -0.2), ('"}', -1)], math.exp(-0.2)),
        ("ANSWER: YES", [("something else", -1)], None),
        ("ANSWER: YES", [], None),
        ("", [], None),
    ],
)  # fmt: skip
def test_the_confidence_of_an_answer_is_that_of_its_own_tokens(
    text: str, tokens: list[tuple[str, float]], expected: float | None
) -> None:
    found = answer_confidence(text, tokens)
    assert found == (None if expected is None else pytest.approx(expected))


def test_the_brier_score_is_scikit_learns():
    rng = np.random.default_rng(3)
    for _ in range(20):
        confidence, right = rng.random(40), rng.integers(0, 2, 40)
        expected = brier_score_loss(right, confidence, labels=[0, 1])
        assert calibration(confidence, right).brier.value == pytest.approx(expected, abs=1e-15)
