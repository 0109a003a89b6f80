"""Forward simulation accuracy: by hand, degenerate input, invariance, and against the paired difference."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.metrics import forward_accuracy

#: predicted, real, instance, condition
ROWS = [
    ("a", "a", "x", "map"),
    ("b", "a", "x", "none"),
    ("a", "a", "y", "map"),
    ("a", "a", "y", "none"),
    ("b", "refusal", "z", "map"),
    (None, "a", "z", "none"),
    ("a", None, "w", "map"),
    ("b", "a", "w", "none"),
]


def columns(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def test_by_hand():
    found = forward_accuracy(*columns(ROWS), control="none", rng=np.random.default_rng(0), replicates=100)
    # map: x and y right, z a refusal, w unknown: 2/3; none: x wrong, y right, z no label, w wrong: 1/3
    assert found.accuracy["map"].value == pytest.approx(2 / 3)
    assert found.accuracy["none"].value == pytest.approx(1 / 3)
    assert found.accuracy["map"].left_out == {"real output not known": 1}
    assert found.accuracy["none"].left_out == {"without a prediction": 1}
    # both on x (1 - 0) and y (1 - 1)
    difference = found.differences["map"].difference
    assert (difference.value, difference.n) == (0.5, 2)


def test_refusals_are_left_out_and_counted_as_such_if_chosen():
    found = forward_accuracy(*columns(ROWS), refusals_left_out=True)
    assert (found.accuracy["map"].value, found.accuracy["map"].n) == (1.0, 2)
    assert found.accuracy["map"].left_out == {
        "real output not known": 1,
        "refused or answered with neither answer": 1,
    }


def test_order_of_rows_does_not_matter():
    one = forward_accuracy(*columns(ROWS), control="none", rng=np.random.default_rng(3), replicates=50)
    two = forward_accuracy(*columns(ROWS[::-1]), control="none", rng=np.random.default_rng(3), replicates=50)
    assert repr(one) == repr(two)


def test_no_control_no_difference_and_nothing_known_is_undefined():
    assert not forward_accuracy(*columns(ROWS), control="nobody", rng=np.random.default_rng(0)).differences
    nothing = forward_accuracy(["a"], [""], ["x"], ["map"]).accuracy["map"]
    assert np.isnan(nothing.value)
    assert nothing.reason == "no prediction with a known real output"
    assert forward_accuracy([], [], [], []).accuracy == {}
    with pytest.raises(ValueError, match="one length"):
        forward_accuracy(["a"], ["a"], ["x"], [])


def test_coverage_of_the_gain():
    """Instances whose difficulty is shared: the paired interval holds the true gain of .2 in most of 100 studies."""
    covered = 0
    for rng in np.random.default_rng(11).spawn(100):
        easy = rng.beta(6, 6, 60)
        rows = []
        for number, level in enumerate(easy):
            for condition, more in (("none", 0.0), ("map", 0.2)):
                right = rng.random(4) < np.clip(level * 0.6 + 0.1 + more, 0, 1)
                rows += [("a" if one else "b", "a", f"x{number}", condition) for one in right]
        found = forward_accuracy(*columns(rows), control="none", rng=rng, replicates=200, permutations=20)
        gain = found.differences["map"].difference
        covered += gain.low <= 0.2 <= gain.high
    assert covered >= 89
