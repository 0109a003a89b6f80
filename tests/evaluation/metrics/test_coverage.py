"""A hundred studies with known truth for each figure; ``benchmarks/validation`` draws a thousand."""

from dataclasses import replace

import pytest

from benchmarks.validation import coverage

CASES = coverage.cases()
#: The others are based on the same means of clusters.
CHECKED = (
    "precision, macro",
    "precision, difference of two systems",
    "simulatable share",
    "generality, Jaccard",
    "prediction-powered precision",
    "utility, gain",
    "Theil's U",
)


@pytest.mark.parametrize("name", CHECKED)
def test_intervals_hold_the_truth_and_are_no_wider_than_they_must(name, monkeypatch):
    monkeypatch.setattr(coverage, "REPLICATES", 200)
    monkeypatch.setattr(coverage, "DESIGN", replace(coverage.DESIGN, instances=60, follow_ups=5))
    found = coverage.covered(CASES[name], 100, seed=1)
    assert found["coverage"] >= 0.88  # .95 expected; fewer than 88 of 100 has a chance of .0015
    assert found["width"] == pytest.approx(2 * 1.96 * found["sd"], rel=0.25)
    assert found["mean"] == pytest.approx(found["truth"], abs=4 * found["sd"] / 10)


@pytest.mark.parametrize("name", coverage.tests())
def test_tests_keep_their_level(name):
    assert coverage.level(coverage.tests()[name], 100, seed=1)["type I error at .05"] <= 0.12
