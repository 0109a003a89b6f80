"""Intervals include their own estimate and stay within the statistic's range, whatever the numbers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluation.agreement import Ratings, bootstrap_mean, paired_bootstrap, summarize
from evaluation.core.interval import (
    AT_MOST_ONE,
    SHARE,
    SIGNED,
    UNBOUNDED,
    t_interval,
    t_quantile,
    wilson_interval,
)
from evaluation.metrics import FollowUps, simulatability
from tests.evaluation.core.estimates import estimates_in

RANGES = {"share": SHARE, "signed": SIGNED, "at most one": AT_MOST_ONE, "unbounded": UNBOUNDED}
finite = st.floats(-50, 50)


@pytest.mark.parametrize("bounds", RANGES.values(), ids=RANGES)
@settings(max_examples=300, deadline=None)
@given(value=finite, error=st.floats(0, 100), bias=st.floats(-5, 5), degrees=st.integers(1, 500))
def test_an_interval_holds_its_estimate_within_the_bounds(bounds, value, error, bias, degrees):
    value = min(max(value, bounds[0]), bounds[1])
    low, high = t_interval(value, error, degrees_of_freedom=degrees, bounds=bounds, bias=bias)
    assert bounds[0] <= low <= value <= high <= bounds[1]


def test_without_bounds_it_is_the_textbooks_interval():
    low, high = t_interval(3.0, 0.5, degrees_of_freedom=11)
    assert (low, high) == pytest.approx(stats.t.interval(0.95, 11, 3.0, 0.5))


@pytest.mark.parametrize(("bounds", "value"), [(SHARE, 0.3), (SIGNED, -0.2), (AT_MOST_ONE, 0.7)])
def test_small_errors_are_those_of_the_textbook_too(bounds, value):
    """A scale is straight over a small distance: the delta method."""
    found = t_interval(value, 1e-5, degrees_of_freedom=30, bounds=bounds)
    assert found == pytest.approx(stats.t.interval(0.95, 30, value, 1e-5), abs=1e-8)


def test_the_interval_is_corrected_for_bias_and_holds_the_estimate():
    low, high = t_interval(0.5, 0.01, degrees_of_freedom=1000, bounds=SHARE, bias=-0.1)
    assert (low, high) == pytest.approx((0.5, 0.62), abs=0.001)


def test_wilson_by_hand():
    """7 of 10 with z in place of t: (.7 + z^2/20 +- z sqrt(.021 + z^2/400)) / (1 + z^2/10), here with t of 9."""
    q = t_quantile(9)
    centre, half = 0.7 + q * q / 20, q * math.sqrt(0.021 + q * q / 400)
    expected = ((centre - half) / (1 + q * q / 10), (centre + half) / (1 + q * q / 10))
    assert wilson_interval(0.7, 10) == pytest.approx(expected)


labels = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=0, max_size=48)


def of_ratings(given_labels, level):
    rows = [
        (f"r{n % 4}", f"u{n // 4}", {"a": "1", "b": "2", "c": "3"}[label])
        for n, label in enumerate(given_labels)
        if label is not None
    ]
    return Ratings.from_rows(
        rows, level=level, labels=["1", "2", "3"], simulators={"r3"} & {r for r, _, _ in rows}
    )


@settings(max_examples=60, deadline=None)
@given(labels, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_every_interval_of_an_agreement_summary_holds_its_estimate(given_labels, level):
    found = summarize(
        of_ratings(given_labels, level), rng=np.random.default_rng(0), replicates=40, min_overlap=1
    ).to_dict()
    checked = list(estimates_in(found))
    assert checked
    for name, one in checked:
        most = 3 if name in ("mean", "median") else 1  # of the labels; of statistics of agreement
        if one.get("low") is not None:
            assert one["low"] <= one["value"] <= one["high"] <= most


rows_of_followups = st.lists(
    st.tuples(
        st.integers(0, 5), st.sampled_from(["yes", "no", "none", None]), st.sampled_from(["yes", "no", None])
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(rows_of_followups)
def test_every_interval_of_precision_holds_its_estimate(rows):
    table = FollowUps(
        unit=[str(n) for n in range(len(rows))],
        explanation=[f"e{e}" for e, _, _ in rows],
        instance=[f"x{e // 2}" for e, _, _ in rows],
        system=["s"] * len(rows),
        simulated=[simulated for _, simulated, _ in rows],
        real=[real for _, _, real in rows],
        abstain={"none"},
    )
    found = simulatability(table, rng=np.random.default_rng(0), replicates=40)
    figures = (
        found.precision,
        found.precision_micro,
        found.simulatable,
        found.simulatable_macro,
        found.unanswered,
    )
    for one in figures:
        if not math.isnan(one.low):
            assert 0 <= one.low <= one.value <= one.high <= 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=30))
def test_every_interval_of_a_mean_and_of_a_difference_holds_its_estimate(pairs):
    a, b = zip(*pairs, strict=True)
    mean = bootstrap_mean(a, rng=np.random.default_rng(0), replicates=40)
    difference = paired_bootstrap(a, b, rng=np.random.default_rng(0), replicates=40).difference
    for one in (mean, difference):
        assert math.isnan(one.low) or one.low <= one.value <= one.high


def test_the_reference_says_how_intervals_are_made():
    """docs/metrics.md quotes what an estimate says of its own interval."""
    names = [str(number) for number in range(20)]
    table = FollowUps(
        unit=names,
        explanation=names,
        instance=names,
        system=["s"] * 20,
        simulated=["yes", "no"] * 10,
        real=["yes"] * 20,
    )
    method, _, drawn = simulatability(table, rng=np.random.default_rng(1)).precision.interval.rpartition(", ")
    assert drawn == "1000 replicates of 20 instances"
    page = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert f"| {method} |" in page
    assert "1,000 times" in page
