"""Intervals for new raters: against leaving raters out one by one, and coverage of what a new panel would show."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.agreement import krippendorff_alpha, pairwise_kappa, summarize
from evaluation.agreement.intervals import values_without_groups
from evaluation.agreement.kappa_jackknife import jackknife_kappas
from evaluation.agreement.new_raters import variance_over_pairs, variance_over_raters
from tests.evaluation.agreement.simulate import Panel, coverage_for_new_raters
from tests.evaluation.agreement.tables import random_matrices, ratings_of


def test_leaving_each_rater_out_by_hand():
    for matrix in random_matrices(6, seed=71, missing=False):
        table = ratings_of(np.vstack([matrix, matrix[::-1], matrix]))
        size = len(table.raters)
        names = [set(table.raters) - {name} for name in table.raters]
        alphas = np.array([krippendorff_alpha(table.only_raters(kept)).value for kept in names])
        expected = (size - 1) / size * ((alphas - alphas.mean()) ** 2).sum()
        found = variance_over_raters(table, values_without_groups)["krippendorff_alpha"]
        assert found.raw == pytest.approx(expected)
        assert found.noise == pytest.approx(_noise_of_alpha(table, names))
        pairs = pairwise_kappa(table, min_overlap=1)
        used = ~np.isnan(pairs.kappa)
        kappas = np.array(
            [pairwise_kappa(table.only_raters(kept), min_overlap=1).mean().value for kept in names]
        )
        a, b = pairs.sums.a[used].astype(np.int64), pairs.sums.b[used].astype(np.int64)
        jackknife = jackknife_kappas(table, pairs)
        found = variance_over_pairs(
            pairs.kappa[used],
            np.full(used.sum(), 1 / used.sum()),
            a,
            b,
            size,
            jackknife.deviations_of_means,
        )
        assert found.raw == pytest.approx((size - 1) / size * ((kappas - kappas.mean()) ** 2).sum())
        assert found.noise > 0


def _noise_of_alpha(table, names):
    """By definition: each unit left out of each table without a rater."""
    left = np.array(
        [
            [
                krippendorff_alpha(table.only_raters(kept).where(table.only_raters(kept).unit != unit)).value
                for unit in range(len(table.units))
            ]
            for kept in names
        ]
    )
    size, units = left.shape
    apart = left - left.mean(axis=0)
    return (size - 1) / size * (units - 1) / units * ((apart - apart.mean(axis=1, keepdims=True)) ** 2).sum()


def test_similar_raters_add_almost_no_variance():
    """12 raters of one skill: what leaving raters out shows is the noise of their ratings, counted once."""
    found = []
    for rng in np.random.default_rng(6).spawn(40):
        truth = rng.integers(0, 2, 150)
        table = ratings_of([np.where(rng.random(150) < 0.8, truth, 1 - truth) for _ in range(12)])
        found.append(variance_over_raters(table, values_without_groups)["krippendorff_alpha"])
    raw, noise = np.mean([one.raw for one in found]), np.mean([one.noise for one in found])
    assert noise == pytest.approx(raw, rel=0.25)


def test_few_raters_say_nothing_of_new_ones():
    table = ratings_of(np.random.default_rng(0).integers(0, 2, (4, 40)))
    found = summarize(table, rng=np.random.default_rng(0), replicates=40, new_raters=True)
    for estimate in (found.everyone.krippendorff_alpha, found.kappa["nominal"].mean["all"]):
        assert estimate.interval == "none: 4 raters are too few to generalise to new ones"
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
    """200 studies: 95 % expected, and not more; intervals for the raters at hand hold the same truth far less often."""
    new = coverage_for_new_raters(Panel(), statistic, new_raters=True, studies=200, seed=5)
    these = coverage_for_new_raters(Panel(), statistic, new_raters=False, studies=200, seed=5)
    assert 0.91 <= new <= 0.975
    assert these < 0.8
