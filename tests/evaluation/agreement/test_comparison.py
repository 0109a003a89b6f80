"""Paired comparisons and families of tests: by hand, against scipy and statsmodels, invariances, degenerate, type I."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from evaluation.agreement import (
    benjamini_yekutieli,
    compare_sums_by_bootstrap,
    compare_sums_by_permutation,
    holm,
    paired_bootstrap,
    paired_permutation_test,
    paired_t_test,
    ratio,
    undefined,
)
from tests.evaluation.agreement.simulate import rejections

RNG = np.random.default_rng


def test_permutation_by_hand():
    # d = 2, 2, -1: of the 8 sign patterns the sums +-5 (2), +-3 (2) and +-1 (4); |3| or more in 4 of 8.
    found = paired_permutation_test([3, 3, 0], [1, 1, 1], rng=RNG(0))
    assert found.p == 0.5
    assert found.difference.value == 1.0
    assert found.method == "exact paired permutation test, 8 ways"


def test_permutation_swaps_whole_instances():
    # The first two units are one instance: d = (2 + 2), -1; sums +-3 and +-5 of 4 ways, all |3| or more.
    assert paired_permutation_test([3, 3, 0], [1, 1, 1], clusters=[0, 0, 1], rng=RNG(0)).p == 1.0


def test_permutation_against_scipy():
    for seed in range(200):
        rng = RNG(seed)
        a, b = rng.integers(0, 6, (2, rng.integers(2, 8)))
        mine = paired_permutation_test(a, b, rng=rng).p
        theirs = stats.permutation_test(
            (a, b),
            lambda x, y: abs(np.mean(x) - np.mean(y)),
            permutation_type="samples",
            alternative="greater",
        ).pvalue
        assert mine == pytest.approx(theirs, abs=1e-12)


def test_random_permutations_approach_the_exact_p():
    rng = RNG(5)
    a = rng.normal(size=14)
    b = a + rng.normal(0.4, 1, size=14)
    exact = paired_permutation_test(a, b, rng=rng, permutations=2**14).p
    drawn = paired_permutation_test(a, b, rng=rng, permutations=2**14 - 1)
    assert "random" in drawn.method
    assert drawn.p == pytest.approx(exact, abs=0.012)


def test_t_test_against_scipy():
    for seed in range(200):
        rng = RNG(seed)
        a, b = rng.normal(size=(2, rng.integers(2, 40)))
        assert paired_t_test(a, b).p == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=1e-12)


def test_holm_by_hand_and_against_statsmodels(monkeypatch):
    monkeypatch.setattr(gc, "collect", lambda: 0)  # statsmodels collects at every call: a quarter of a second
    # m = 3: .01 * 3, then .02 * 2, then max(.04, .03 * 1).
    np.testing.assert_allclose(holm([0.02, 0.03, 0.01]), [0.04, 0.04, 0.03])
    for seed in range(200):
        p = RNG(seed).random(RNG(seed).integers(1, 12)) ** 2
        np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], atol=1e-12)
        np.testing.assert_allclose(
            benjamini_yekutieli(p), stats.false_discovery_control(p, method="by"), atol=1e-12
        )


def test_families_leave_undefined_tests_out():
    for adjust in (holm, benjamini_yekutieli):
        found = adjust([0.01, np.nan, 0.04])
        np.testing.assert_allclose(found[[0, 2]], adjust([0.01, 0.04]))
        assert np.isnan(found[1])
        assert adjust([]).size == 0
        assert adjust([0.3]).tolist() == [0.3]
        with pytest.raises(ValueError, match="p_values"):
            adjust([1.2])


def test_invariances():
    rng = RNG(2)
    a, b, codes = rng.normal(size=40), rng.normal(size=40), rng.integers(0, 12, 40)
    order = rng.permutation(40)
    for test in (paired_permutation_test, paired_bootstrap):
        there, back = test(a, b, clusters=codes, rng=RNG(1)), test(b, a, clusters=codes, rng=RNG(1))
        assert there.difference.value == pytest.approx(-back.difference.value)
        assert there.p == pytest.approx(back.p)
        shuffled = test(a[order], b[order], clusters=codes[order] + 100, rng=RNG(1))
        assert shuffled.p == pytest.approx(there.p)
        moved = test(a + 5, b + 5, clusters=codes, rng=RNG(1))
        assert moved.p == pytest.approx(there.p)


def test_paired_bootstrap_is_narrower_than_its_parts():
    rng = RNG(3)
    hard = rng.normal(size=200)
    a, b = hard + rng.normal(0.3, 0.2, 200), hard + rng.normal(0, 0.2, 200)
    found = paired_bootstrap(a, b, rng=rng)
    assert 0.2 < found.difference.low < 0.3 < found.difference.high < 0.4
    assert found.p < 0.005


def test_missing_values_are_left_out_in_pairs():
    nan = float("nan")
    for test in (lambda a, b: paired_bootstrap(a, b, rng=RNG(0)), paired_t_test):
        found = test([1, nan, 3, 4], [0, 1, nan, 2])
        assert found.difference.value == 1.5
        assert (found.difference.n, found.difference.left_out) == (2, {"units that one of the two lacks": 2})


def test_any_statistic_of_sums():
    # Pooled precision: right over asked, by instance; the two systems are asked different numbers of questions.
    a = np.array([[9.0, 10], [4, 5], [5, 5]])
    b = np.array([[5.0, 10], [2, 4], [6, 10]])
    point = ratio(a.sum(axis=0)) - ratio(b.sum(axis=0))
    found = compare_sums_by_permutation(type(undefined("x"))(float(point), n=3), a, b, ratio, rng=RNG(0))
    ways = []
    for way in range(8):
        swap = np.array([(way >> i) & 1 for i in range(3)], dtype=bool)[:, None]
        x, y = np.where(swap, b, a).sum(axis=0), np.where(swap, a, b).sum(axis=0)
        ways.append(abs(ratio(x) - ratio(y)) >= abs(point) - 1e-12)
    assert found.p == np.mean(ways)
    with pytest.raises(ValueError, match="sums_b"):
        compare_sums_by_bootstrap(undefined("x"), a, b[:2], ratio, rng=RNG(0))


def test_degenerate():
    for test in (paired_bootstrap, paired_permutation_test):
        empty = test([], [], rng=RNG(0))
        assert empty.difference.reason == "no unit has both values"
        assert np.isnan(empty.p)
        same = test([1, 2, 3], [1, 2, 3], rng=RNG(0))
        assert (same.difference.value, same.p) == (0.0, 1.0)
        with pytest.raises(ValueError, match="b: expected shape"):
            test([1, 2], [1], rng=RNG(0))
        with pytest.raises(ValueError, match="clusters"):
            test([1, 2], [1, 3], clusters=[1], rng=RNG(0))
    assert np.isnan(paired_bootstrap([1], [0], rng=RNG(0)).p)
    assert np.isnan(paired_t_test([1], [0]).p)
    assert np.isnan(paired_t_test([1, 2], [1, 2]).p)
    alike = paired_t_test([2, 3], [1, 2])  # two pairs show nothing certain, though their t is infinite
    assert np.isnan(alike.p)
    assert alike.method.endswith("all differences are the same")
    assert np.isnan(paired_t_test([0.3, 0.4], [0.1, 0.2]).p)  # the same but for rounding
    with pytest.raises(ValueError, match="permutations"):
        paired_permutation_test([1], [2], rng=RNG(0), permutations=0)


@pytest.mark.parametrize("test", ["permutation", "bootstrap", "t-test", "alternative annotator test"])
def test_type_one_error(test):
    """The short version; benchmarks/agreement keeps that of 1,000 studies. 100 runs: 5 +- 2.2."""
    assert rejections(test, studies=100, seed=23) <= 0.12
