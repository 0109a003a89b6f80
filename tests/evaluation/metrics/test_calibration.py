"""Brier score, expected calibration error and reliability, on figures worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from evaluation.metrics.calibration import calibration, equal_mass
from evaluation.runs.confidence import answer_confidence


def test_scores_worked_out_by_hand() -> None:
    found = calibration([1.0, 0.8, 0.8, 0.3, 0.3], [1, 1, 0, 0, 1])
    assert found.brier.value == pytest.approx((0 + 0.04 + 0.64 + 0.09 + 0.49) / 5)
    # three confidences, a bin each: |1 - 1| / 5 + 2 |0.5 - 0.8| / 5 + 2 |0.5 - 0.3| / 5
    assert found.ece.value == pytest.approx((2 * 0.3 + 2 * 0.2) / 5)
    assert [(one.low, one.accuracy.n) for one in found.bins] == [(0.3, 2), (0.8, 2), (1.0, 1)]
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


def test_the_parts_of_the_brier_score_worked_out_by_hand() -> None:
    found = calibration([1.0, 0.8, 0.8, 0.3, 0.3], [1, 1, 0, 0, 1])
    # bins (share right, confidence): (1, 1) of 1, (.5, .8) of 2, (.5, .3) of 2; overall .6
    assert found.reliability.value == pytest.approx((0 + 2 * 0.09 + 2 * 0.04) / 5)
    assert found.resolution.value == pytest.approx((0.16 + 2 * 0.01 + 2 * 0.01) / 5)
    assert found.uncertainty.value == pytest.approx(0.6 * 0.4)
    assert found.within.value == pytest.approx(0, abs=1e-15), "a bin has one confidence"
    # pairs right > wrong: 1.0 beats .8 and .3; .8 ties .8 and beats .3; .3 loses to .8 and ties .3
    assert found.auc.value == pytest.approx((2 + 1.5 + 0.5) / 6)


def test_the_parts_add_up_to_the_brier_score() -> None:
    rng = np.random.default_rng(4)
    for size in (30, 101, 1000):
        sure = rng.beta(3, 2, size).round(3)
        found = calibration(sure, rng.random(size) < sure)
        parts = (
            found.reliability.value - found.resolution.value + found.uncertainty.value + found.within.value
        )
        assert parts == pytest.approx(found.brier.value, abs=1e-12)
        assert abs(found.within.value) < 0.02
        assert [one.accuracy.n for one in found.bins] == pytest.approx([size / 10] * 10, abs=3)


def test_bins_never_separate_equal_confidences() -> None:
    values = np.repeat([0.1, 0.5, 0.9, 0.95], [1, 70, 20, 9])
    assert [set(values[equal_mass(values, 3) == n]) for n in range(3)] == [{0.1}, {0.5}, {0.9, 0.95}]
    assert equal_mass(values, 4).tolist() == np.repeat([0, 1, 2, 3], [1, 70, 20, 9]).tolist()


def test_the_area_under_the_curve_is_scikit_learns() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        sure, right = rng.random(60).round(1), rng.integers(0, 2, 60)
        expected = roc_auc_score(right, sure)
        assert calibration(sure, right).auc.value == pytest.approx(expected, abs=1e-12)


def test_the_order_of_rows_changes_nothing() -> None:
    rng = np.random.default_rng(6)
    sure, right, names = rng.random(90), rng.integers(0, 2, 90), [f"i{n // 3}" for n in range(90)]
    order = rng.permutation(90)
    one = calibration(sure, right, names, rng=np.random.default_rng(1), replicates=50)
    two = calibration(
        sure[order], right[order], np.array(names)[order], rng=np.random.default_rng(1), replicates=50
    )
    for name in ("reliability", "resolution", "within", "ece", "auc"):
        assert getattr(one, name).value == pytest.approx(getattr(two, name).value, abs=1e-12)
    assert (one.auc.low, one.auc.high) == pytest.approx((two.auc.low, two.auc.high), abs=1e-12)


@pytest.mark.parametrize("clustered", [False, True])
def test_the_interval_of_the_area_covers(clustered: bool) -> None:
    """40 instances of five labels whose confidence and correctness share a part."""
    rng, covered, runs = np.random.default_rng(11), 0, 600
    draws = [_labels(rng, 40, 5, 1.0 if clustered else 0.0) for _ in range(runs)]
    truth = calibration(
        *_labels(np.random.default_rng(8), 20_000, 5, 1.0 if clustered else 0.0)[:2]
    ).auc.value
    for sure, right, names in draws:
        found = calibration(sure, right, names, rng=np.random.default_rng(1), replicates=2).auc
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / runs <= 0.98, covered / runs


def _labels(
    rng: np.random.Generator, instances: int, each: int, shared: float
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    of_instance = np.repeat(rng.normal(size=instances) * shared, each)
    signal = of_instance + rng.normal(size=instances * each)
    right = signal + rng.normal(size=signal.size) > -0.5
    sure = 1 / (1 + np.exp(-(signal + of_instance + rng.normal(size=signal.size))))
    return sure, right.astype(int), [str(n // each) for n in range(signal.size)]


def test_areas_that_are_not_known_say_why() -> None:
    assert calibration([0.2, 0.9], [1, 1]).auc.reason == "all labels are right"
    assert calibration([0.2, 0.9], [0, 0]).resolution.reason == "all labels are wrong"
    rng = np.random.default_rng(1)
    few = calibration([0.2, 0.9, 0.4], [0, 1, 1], ["a", "b", "c"], rng=rng, replicates=20).auc
    assert math.isnan(few.low)
    assert few.interval.startswith("none: at least 8")
    apart = calibration([0.1] * 9 + [0.9] * 9, [0] * 9 + [1] * 9, rng=rng, replicates=20).auc
    assert (apart.value, math.isnan(apart.low)) == (1.0, True)
    assert "separates" in apart.interval
    assert calibration([0.2, 0.9], [0, 1]).auc.interval == "none asked for"
