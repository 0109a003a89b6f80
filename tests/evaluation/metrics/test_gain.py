"""Simulatability gain: by hand, degenerate input, invariance, refusals, coverage, and two systems compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation.metrics import gain_difference, normalized_gain, simulatability_gain
from tests.evaluation.metrics.simulate_gain import DESIGNS, coverage_of_gain, measured

#: predicted, real, follow-up, instance, explained
ROWS = [
    # u1: with yes yes no -> 2/3, without no no yes -> 1/3: helped
    *[(label, "yes", "u1", "x", True) for label in ("yes", "yes", "no")],
    *[(label, "yes", "u1", "x", False) for label in ("no", "no", "yes")],
    # u2: with no no -> 0, without yes cannot_guess yes -> 2/3: misled
    *[(label, "yes", "u2", "x", True) for label in ("no", "no")],
    *[(label, "yes", "u2", "x", False) for label in ("yes", "cannot_guess", "yes")],
    # u3: with 1, without half: neither
    ("no", "no", "u3", "y", True),
    *[(label, "no", "u3", "y", False) for label in ("no", "yes")],
    # u4 has no judgment without the explanation, u5 no known output, u6 no label
    ("no", "no", "u4", "y", True),
    ("no", "", "u5", "y", True),
    ("no", None, "u5", "y", False),
    (None, "no", "u6", "y", False),
]


def columns(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def gain_of(rows, **options):
    return simulatability_gain(*columns(rows), abstain={"cannot_guess"}, **options)


def test_by_hand():
    found = gain_of(ROWS)
    # with: (2/3 + 0 + 1) / 3 = 5/9; without: (1/3 + 2/3 + 1/2) / 3 = 1/2
    assert found.accuracy_with.value == pytest.approx(5 / 9)
    assert found.accuracy_without.value == pytest.approx(1 / 2)
    assert found.gain.value == pytest.approx(1 / 18)
    assert (found.misled.value, found.helped.value) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert {one.n for one in (found.accuracy_with, found.gain, found.misled, found.helped)} == {3}
    assert found.gain.left_out == {
        "without a prediction": 1,
        "real output not known": 2,
        "follow-ups without a judgment in one of the two arms": 1,
    }
    assert found.judgments == (6, 8)
    # x: (1/3 - 2/3) / 2; y: 1 - 1/2
    assert found.by_instance == {"x": pytest.approx(-1 / 6), "y": 0.5}


def test_nsg_is_the_share_of_errors_removed():
    # four follow-ups in each of ten instances: 2 errors without, 1 with
    p, q = np.tile([0.0, 1, 1, 1], 10), np.tile([0.0, 0, 1, 1], 10)
    found = normalized_gain(p, q, np.arange(10).repeat(4))
    assert found.value == pytest.approx((p.mean() - q.mean()) / (1 - q.mean())) == 0.5
    worse = normalized_gain(q, p, np.arange(10).repeat(4))
    assert worse.value == pytest.approx(-1)
    assert worse.interval == "none: the instances do not vary"


def test_interval_of_nsg_by_hand():
    """Eight instances with one follow-up each; -log(1 - NSG) and its linearised error, written out."""
    p, q = np.array([1, 1, 1, 1, 0.5, 0.5, 0.5, 0]), np.full(8, 0.5)
    found = normalized_gain(p, q, np.arange(8))
    ratio = 2.5 / 4
    error = np.sqrt(8 / 7 * (((1 - p) - ratio * (1 - q)) ** 2).sum()) / 4
    half = 2.364624 * error / ratio  # t with 7 degrees of freedom
    assert found.value == pytest.approx(1 - ratio)
    assert found.low == pytest.approx(1 - ratio * np.exp(half), abs=1e-6)
    assert found.high == pytest.approx(1 - ratio * np.exp(-half), abs=1e-6)


@pytest.mark.parametrize(("label", "expected"), [("wrong", 2 / 3), ("left_out", 1.0)])
def test_cannot_guess_is_not_right_or_left_out(label, expected):
    found = gain_of(ROWS, cannot_guess=label)
    of_u2 = gain_of([row for row in ROWS if row[2] == "u2"], cannot_guess=label)
    assert of_u2.accuracy_without.value == pytest.approx(expected)
    assert found.gain.left_out.get("cannot guess", 0) == (label == "left_out")


def test_cannot_guess_is_never_right_even_if_it_is_the_real_output():
    rows = [("cannot_guess", "cannot_guess", "u", "x", True), ("yes", "cannot_guess", "u", "x", False)]
    assert gain_of(rows).accuracy_with.value == 0


def test_refusals_are_wrong_predictions_or_left_out():
    rows = [(label, "refusal", "u", "x", shown) for label in ("yes", "refusal") for shown in (True, False)]
    assert gain_of([row for row in rows if row[0] == "yes"]).accuracy_with.value == 0
    left = gain_of([row for row in rows if row[0] == "yes"], refusals_left_out=True)
    assert not left.gain.defined
    assert left.gain.left_out == {"refused or answered with neither answer": 2}


def test_nsg_is_refused_where_accuracy_without_is_near_one():
    rows = [("a", "a", f"u{n}", f"x{n}", shown) for n in range(40) for shown in (True, False)]
    rows += [("b", "a", f"u{n}", f"x{n}", False) for n in range(7)]
    found = gain_of(rows, rng=np.random.default_rng(1), replicates=50)
    assert not found.nsg.defined
    assert found.nsg.reason == (
        "accuracy without the explanation is too near 1: at least 8 instances with a wrong prediction without it are needed, found 7"
    )
    assert found.nsg.n == 40
    one_more = gain_of([*rows, ("b", "a", "u7", "x7", False)], rng=np.random.default_rng(1), replicates=50)
    assert one_more.nsg.value == 1
    assert one_more.nsg.interval == "none: no prediction with the explanation is wrong"


def test_nothing_and_faults():
    nothing = simulatability_gain([], [], [], [], [])
    assert nothing.gain.reason == nothing.nsg.reason == "no follow-up has judgments in both arms"
    assert nothing.by_instance == {}
    one_arm = gain_of([row for row in ROWS if row[4]])
    assert not one_arm.accuracy_with.defined
    with pytest.raises(ValueError, match="one length"):
        simulatability_gain(["a"], ["a"], ["u"], ["x"], [])
    with pytest.raises(ValueError, match="'u' belongs to two instances"):
        simulatability_gain(["a", "a"], ["a", "a"], ["u", "u"], ["x", "y"], [True, False])


def test_order_of_rows_and_names_do_not_matter():
    one = gain_of(ROWS, rng=np.random.default_rng(3), replicates=50)
    two = gain_of(ROWS[::-1], rng=np.random.default_rng(3), replicates=50)
    assert repr(one) == repr(two)


def test_no_interval_is_asked_for():
    found = measured(DESIGNS["60 x 3, without 0.5"], np.random.default_rng(1), 0)
    assert {found.gain.interval, found.nsg.interval} == {"none asked for"}


def test_both_arms_of_an_instance_are_in_one_cluster():
    """An instance's difficulty is shared by its arms, so the gain's interval is narrower than that of unrelated arms."""
    design = replace(DESIGNS["200 x 5, without 0.7"], nsg=0.0)
    found = measured(design, np.random.default_rng(2), 400)
    apart = np.hypot(*(one.high - one.low for one in (found.accuracy_with, found.accuracy_without)))
    assert found.gain.high - found.gain.low < 0.9 * apart
    assert "200 instances" in found.gain.interval


def test_two_systems_compared():
    one, two = (measured(DESIGNS["60 x 3, without 0.5"], np.random.default_rng(n), 0) for n in (1, 2))
    found = gain_difference(
        one, two, names=("a", "b"), rng=np.random.default_rng(0), replicates=200, permutations=200
    )
    a, b = (np.array([one.by_instance[f"x{n}"] for n in range(60)]) for one in (one, two))
    assert found.difference.value == pytest.approx((a - b).mean())
    assert found.difference.low < found.difference.value < found.difference.high
    same = gain_difference(one, one, rng=np.random.default_rng(0), replicates=200, permutations=200)
    assert (same.difference.value, same.p_permutation) == (0.0, 1.0)


@pytest.mark.parametrize(
    "name", ["60 x 3, without 0.5", "60 x 3, without 0.9", "60 x 3, without 0.8, near 1 with"]
)
def test_coverage_in_a_hundred_studies(name):
    found = coverage_of_gain(DESIGNS[name], studies=100, seed=3, replicates=100)
    for figure, one in found.items():
        assert one["coverage"] >= 0.88, (figure, one)  # fewer than 88 of 100 has a chance of .0015
        assert one["holds its estimate"]
