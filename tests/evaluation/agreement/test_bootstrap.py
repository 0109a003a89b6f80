"""The cluster bootstrap: by hand, against literal resampling and scipy, invariances, degenerate input, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evaluation.agreement import (
    Estimate,
    Ratings,
    bootstrap,
    bootstrap_mean,
    cluster_sums,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
    ratio,
    undefined,
)
from evaluation.agreement import intervals as intervals_module
from evaluation.agreement.bootstrap import add_interval, draw_counts, resampled_totals
from evaluation.agreement.counts import cluster_codes, count_units
from evaluation.agreement.intervals import replicate_counts
from evaluation.agreement.krippendorff import scale_of
from tests.evaluation.agreement.clusters import clustered
from tests.evaluation.agreement.simulate import coverage
from tests.evaluation.agreement.tables import LEVELS, random_matrices, ratings_of


def literally(table: Ratings, counts) -> Ratings:
    """The resample itself: every unit of a cluster as often as the cluster was drawn."""
    codes, _ = cluster_codes(table)
    rows = []
    for rater, unit, value in zip(table.rater, table.unit, table.value, strict=True):
        rows += [
            (table.raters[rater], f"{unit}/{copy}", table.labels[value])
            for copy in range(int(counts[codes[unit]]))
        ]
    return Ratings.from_rows(rows, labels=table.labels, level=table.level)


def test_two_clusters_by_hand():
    # Of 0 and 1: both draws 0 with 1/4, one of each with 1/2, both 1 with 1/4.
    totals = resampled_totals(np.array([[0.0, 1.0], [1.0, 1.0]]), 40_000, np.random.default_rng(0))
    values, counts = np.unique(ratio(totals), return_counts=True)
    assert values.tolist() == [0.0, 0.5, 1.0]
    np.testing.assert_allclose(counts / 40_000, [0.25, 0.5, 0.25], atol=0.01)


def test_interval_of_a_mean_against_scipy():
    x = np.random.default_rng(1).gamma(2.0, size=80)
    mine = bootstrap_mean(x, rng=np.random.default_rng(2), replicates=20_000)
    theirs = stats.bootstrap(
        (x,), np.mean, n_resamples=20_000, rng=np.random.default_rng(3), vectorized=True
    ).standard_error
    half = stats.t.ppf(0.975, 79) * theirs * (80 / 79) ** 0.5
    assert mine.value == pytest.approx(x.mean())
    assert (mine.low, mine.high) == pytest.approx((x.mean() - half, x.mean() + half), abs=0.006)
    assert mine.interval == "95 % t interval, bootstrap standard error, 20000 replicates of 80 clusters"


def test_few_kinds_of_clusters_have_the_same_distribution():
    sums = np.repeat(np.array([[1.0, 2.0], [0.0, 1.0], [5.0, 3.0]]), [60, 25, 15], axis=0)
    by_kind = resampled_totals(sums, 20_000, np.random.default_rng(4))
    one_by_one = np.concatenate([c @ sums for c in draw_counts(100, 20_000, np.random.default_rng(5))])
    np.testing.assert_allclose(by_kind.mean(axis=0), one_by_one.mean(axis=0), rtol=0.01)
    np.testing.assert_allclose(np.cov(by_kind.T), np.cov(one_by_one.T), rtol=0.05)


@pytest.mark.parametrize(("clusters", "batch"), [(1, 0), (7, 0), (36, 5), (5_000, 0), (20_000, 0)])
def test_resamples_that_are_drawn_together_are_those_that_are_drawn_one_by_one(
    clusters: int, batch: int
) -> None:
    together = np.concatenate(list(draw_counts(clusters, 12, np.random.default_rng(4), batch=batch)))
    rng = np.random.default_rng(4)
    for row in together:
        drawn = rng.integers(0, clusters, size=clusters, dtype=np.int32)
        assert np.array_equal(row, np.bincount(drawn, minlength=clusters))


@pytest.mark.parametrize("level", LEVELS)
def test_replicates_of_counts_equal_literal_resampling(level):
    for seed, matrix in enumerate(random_matrices(12, seed=51)):
        table = clustered(matrix, seed, level, labels=[str(i) for i in range(5)])
        counts = count_units(table)
        codes, clusters = cluster_codes(table)
        if not clusters:
            continue
        scale = scale_of(table, level, counts.per_label_pairable)
        drawn = np.concatenate(list(draw_counts(clusters, 5, np.random.default_rng(seed))))
        sums = intervals_module._sums(counts, codes, clusters, level, scale)
        fast = intervals_module._from_totals(drawn @ sums, 5, level, scale)
        blocks = list(intervals_module._one_by_one(counts, codes, level, scale, [drawn]))
        slow = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
        for replicate, row in enumerate(drawn):
            literal = literally(table, row)
            fleiss = fleiss_kappa(literal)
            expected = {
                "krippendorff_alpha": krippendorff_alpha(literal).value,
                "percent_agreement": percent_agreement(literal).value,
                "gwet_ac1": gwet_ac1(literal).value,
            }
            if fleiss.defined:
                expected["fleiss_kappa"] = fleiss.value
            for name, value in expected.items():
                assert fast[name][replicate] == pytest.approx(value, abs=1e-10, nan_ok=True)
                assert slow[name][replicate] == pytest.approx(value, abs=1e-10, nan_ok=True)


def test_seeded():
    x = np.arange(30.0)
    first, second, other = (bootstrap_mean(x, rng=np.random.default_rng(seed)) for seed in (7, 7, 8))
    assert first == second
    assert first.low != other.low


def test_row_order_does_not_matter():
    matrix = next(random_matrices(1, seed=60, missing=False))
    table = ratings_of(matrix)
    order = np.random.default_rng(0).permutation(len(table))
    shuffled = Ratings(
        table.raters, table.units, table.labels, table.rater[order], table.unit[order], table.value[order]
    )
    first, second = (
        replicate_counts(t, rng=np.random.default_rng(1), replicates=50).values["krippendorff_alpha"]
        for t in (table, shuffled)
    )
    np.testing.assert_array_equal(first, second)


def test_clusters_widen_the_interval():
    # Each instance holds five copies of one result: only the instances vary.
    x = np.repeat(np.random.default_rng(3).integers(0, 2, 40), 5)
    codes = np.repeat(np.arange(40), 5)
    alone = bootstrap_mean(x, rng=np.random.default_rng(1))
    together = bootstrap_mean(x, clusters=codes, rng=np.random.default_rng(1))
    assert together.value == alone.value
    assert (together.high - together.low) / (alone.high - alone.low) == pytest.approx(5**0.5, rel=0.1)


def test_cluster_sums():
    assert cluster_sums([[1, 2, 3]], None).tolist() == [[1], [2], [3]]
    assert cluster_sums([[1, 2, 3], [1, 1, 1]], [5, 5, 9]).tolist() == [[3, 2], [3, 1]]
    with pytest.raises(ValueError, match="clusters"):
        cluster_sums([[1, 2]], [1])


def test_replicates_without_a_value_are_counted_and_too_many_leave_no_interval():
    values = np.array([np.nan, *np.linspace(0, 1, 99)])
    found = add_interval(Estimate(0.5, n=9), values, clusters=9)
    assert found.interval.endswith("replicates of 9 clusters, undefined in 1")
    half = stats.t.ppf(0.975, 8) * np.linspace(0, 1, 99).std() * (9 / 8) ** 0.5
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))
    values[:9] = np.nan
    none = add_interval(Estimate(0.5, n=9), values, clusters=9)
    assert (np.isnan(none.low), none.interval) == (True, "none: undefined in 9 of 100 replicates")


@pytest.mark.parametrize("replicates", [0, 1, 19])
def test_too_few_replicates_give_no_interval(replicates):
    found = bootstrap_mean([0, 1, 1, 1], rng=np.random.default_rng(0), replicates=replicates)
    assert np.isnan([found.low, found.high]).all()
    assert found.interval == ("none: at least 20 replicates are needed" if replicates else "none asked for")


def test_shares_without_variation_have_wilsons_interval():
    found = bootstrap_mean([1.0] * 20, rng=np.random.default_rng(0))
    q = stats.t.ppf(0.975, 19) ** 2
    assert (found.low, found.high) == pytest.approx((20 / (20 + q), 1.0))
    assert found.interval == "95 % Wilson interval over 20 clusters"
    none = bootstrap_mean([0.0] * 20, rng=np.random.default_rng(0))
    assert (none.low, none.high) == pytest.approx((0.0, q / (20 + q)))


def test_degenerate():
    nothing = undefined("no data")
    assert bootstrap(nothing, np.zeros((0, 2)), ratio, rng=np.random.default_rng(0)) is nothing
    one = bootstrap_mean([1.0], rng=np.random.default_rng(0))
    assert np.isnan(one.low)
    assert one.interval == "none: at least 8 clusters are needed, found 1"
    assert bootstrap_mean([], rng=np.random.default_rng(0)).reason == "there are no values"
    same = bootstrap_mean([2.0] * 8, rng=np.random.default_rng(0))
    assert (np.isnan(same.low), same.interval) == (True, "none: the clusters do not vary")
    assert resampled_totals(np.zeros((0, 2)), 3, np.random.default_rng(0)).tolist() == [[0, 0]] * 3
    with pytest.raises(ValueError, match="replicates"):
        resampled_totals(np.ones((2, 1)), -1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="values: expected one dimension"):
        bootstrap_mean([[1.0]], rng=np.random.default_rng(0))


def test_unrated_units_are_not_drawn():
    table = ratings_of([[1, 2, 1], [1, 2, 2]])
    more = Ratings(table.raters, (*table.units, "x"), table.labels, table.rater, table.unit, table.value)
    assert cluster_codes(more)[1] == 3
    assert cluster_codes(more)[0].tolist() == [0, 1, 2, -1]


@pytest.mark.parametrize("statistic", ["alpha", "kappa", "precision"])
def test_coverage(statistic):
    """The short version; benchmarks/agreement keeps that of 1,000 studies. 100 runs: 95 +- 2.2."""
    covered = coverage(statistic, studies=100, seed=17)
    assert 0.88 <= covered <= 0.995


@pytest.mark.parametrize("clusters", [1, 7, 501, 60_000])
def test_several_rows_are_drawn_at_once_as_one_after_the_other(clusters):
    found = np.concatenate(list(draw_counts(clusters, 9, np.random.default_rng(3))))
    rng = np.random.default_rng(3)
    for row in found:
        drawn = rng.integers(0, clusters, size=clusters, dtype=np.int32)
        assert (row == np.bincount(drawn, minlength=clusters)).all()
