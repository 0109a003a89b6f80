"""Intervals for new raters: against leaving raters out one by one, and coverage of what a new panel would show."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.agreement import krippendorff_alpha, pairwise_kappa, summarize
from evaluation.agreement.new_raters import variance_over_pairs, variance_over_raters
from tests.evaluation.agreement.simulate import coverage_for_new_raters
from tests.evaluation.agreement.tables import random_matrices, ratings_of


def test_leaving_each_rater_out_by_hand():
    for matrix in random_matrices(6, seed=71, missing=False):
        table = ratings_of(np.vstack([matrix, matrix[::-1], matrix]))
        size = len(table.raters)
        names = [set(table.raters) - {name} for name in table.raters]
        alphas = np.array([krippendorff_alpha(table.only_raters(kept)).value for kept in names])
        expected = (size - 1) / size * ((alphas - alphas.mean()) ** 2).sum()
        found = variance_over_raters(table, lambda part: {"alpha": krippendorff_alpha(part).value})["alpha"]
        assert found == pytest.approx(expected)
        pairs = pairwise_kappa(table, min_overlap=1)
        used = ~np.isnan(pairs.kappa)
        kappas = np.array(
            [pairwise_kappa(table.only_raters(kept), min_overlap=1).mean().value for kept in names]
        )
        a, b = pairs.sums.a[used].astype(np.int64), pairs.sums.b[used].astype(np.int64)
        found = variance_over_pairs(pairs.kappa[used], np.full(used.sum(), 1 / used.sum()), a, b, size)
        assert found == pytest.approx((size - 1) / size * ((kappas - kappas.mean()) ** 2).sum())


def test_few_raters_say_nothing_of_new_ones():
    table = ratings_of(np.random.default_rng(0).integers(0, 2, (4, 40)))
    found = summarize(table, rng=np.random.default_rng(0), replicates=40, new_raters=True)
    for estimate in (found.everyone.krippendorff_alpha, found.kappa["nominal"].mean["all"]):
        assert estimate.interval == "none: 4 raters are too few to speak of new ones"
        assert np.isnan(estimate.low)


def test_intervals_for_new_raters_are_wider_and_say_so():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 200)
    table = ratings_of(
        [np.where(rng.random(200) < right, truth, 1 - truth) for right in np.linspace(0.55, 0.95, 8)]
    )
    these, new = (
        summarize(table, rng=np.random.default_rng(0), replicates=100, new_raters=flag)
        for flag in (False, True)
    )
    for first, second in (
        (these.everyone.krippendorff_alpha, new.everyone.krippendorff_alpha),
        (these.kappa["nominal"].mean["all"], new.kappa["nominal"].mean["all"]),
    ):
        assert second.value == first.value
        assert second.high - second.low > 1.5 * (first.high - first.low)
        assert "for new raters too" in second.interval


@pytest.mark.parametrize("statistic", ["krippendorff_alpha", "mean kappa"])
def test_coverage_for_new_raters(statistic):
    """100 studies: 95 or a little more expected; intervals for the raters at hand hold the same truth far less often."""
    new = coverage_for_new_raters(statistic, new_raters=True, studies=100, seed=5)
    these = coverage_for_new_raters(statistic, new_raters=False, studies=100, seed=5)
    assert new >= 0.89
    assert these < 0.8
