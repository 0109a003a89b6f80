"""The jackknife of kappa: against kappas computed anew without each cluster, by hand, coverage, refusals."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from evaluation.agreement import Ratings, as_text, pairwise_kappa, summarize
from evaluation.agreement import kappa_jackknife as module
from evaluation.agreement.counts import cluster_codes
from evaluation.agreement.kappa_jackknife import jackknife_kappas
from tests.evaluation.agreement.clusters import clustered
from tests.evaluation.agreement.simulate import coverage_of_mean_kappa
from tests.evaluation.agreement.tables import random_matrices, ratings_of


def without(table: Ratings, cluster: int) -> Ratings:
    codes, _ = cluster_codes(table)
    return table.where(codes[table.unit] != cluster)


@pytest.mark.parametrize("weights", ["nominal", "linear", "quadratic"])
def test_equals_kappas_computed_without_each_cluster(weights, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 50)  # several blocks even of small tables
    monkeypatch.setattr(module, "_NUMBERED_RATERS", 4)
    compared = 0
    for seed, matrix in enumerate(random_matrices(12, seed=52)):
        table = clustered(matrix, seed, "interval", labels=[str(i) for i in range(5)])
        pairs = pairwise_kappa(table, weights=weights, min_overlap=3)
        found = jackknife_kappas(table, pairs)
        codes, clusters = cluster_codes(table)
        assert found.clusters == clusters
        for number, index in enumerate(found.kept):
            a, b = pairs.sums.a[index], pairs.sums.b[index]
            both = set(table.unit[table.rater == a]) & set(table.unit[table.rater == b])
            shared = sorted({int(codes[unit]) for unit in both})
            assert found.shared[number] == len(shared)
            left = np.array([
                pairwise_kappa(without(table, c), weights=weights).pair(table.raters[a], table.raters[b]).value
                for c in shared
            ])  # fmt: skip
            known = left[~np.isnan(left)]
            if known.size < 2:
                assert np.isnan(found.bias[number])
                continue
            size = len(shared)
            assert found.bias[number] == pytest.approx(
                (size - 1) * (known.mean() - pairs.kappa[index]), abs=1e-9
            )
            variance = (size - 1) / size * ((known - known.mean()) ** 2).sum()
            assert found.variance[number] == pytest.approx(variance, abs=1e-9)
            compared += 1
    assert compared >= 40


@pytest.mark.parametrize("weights", ["nominal", "quadratic"])
def test_the_corrected_mean_is_that_of_scikit_learns_kappas(weights):
    """The mean over pairs, less the jackknife's bias of each, with every kappa by another implementation."""
    rng = np.random.default_rng(11)
    truth = rng.integers(0, 4, 30)
    matrix = np.array(
        [np.where(rng.random(30) < share, truth, rng.integers(0, 4, 30)) for share in (0.9, 0.7, 0.5)]
    )
    rows = [(f"r{r}", f"u{u:02}", str(matrix[r, u])) for r in range(3) for u in range(30)]
    table = Ratings.from_rows(rows, level="interval")
    how: dict[str, Any] = {"labels": [0, 1, 2, 3], "weights": None if weights == "nominal" else weights}
    corrected = []
    for a, b in combinations(matrix, 2):
        whole = cohen_kappa_score(a, b, **how)
        left = [cohen_kappa_score(np.delete(a, u), np.delete(b, u), **how) for u in range(30)]
        corrected.append(whole - 29 * (np.mean(left) - whole))
    pairs = pairwise_kappa(table, weights=weights)
    found = jackknife_kappas(table, pairs).add_interval(pairs.mean(), np.full(3, 1 / 3))[1]
    assert found.value == pytest.approx(np.mean(corrected), abs=1e-12)
    assert found.value != pytest.approx(pairs.mean().value, abs=1e-4)


def test_one_pair_alone_by_hand():
    rng = np.random.default_rng(4)
    first = rng.integers(0, 2, 40)
    second = np.where(rng.random(40) < 0.8, first, 1 - first)
    table = ratings_of([first, second])
    pairs = pairwise_kappa(table)
    found = jackknife_kappas(table, pairs)
    estimate, corrected = found.add_interval(pairs.mean(), np.ones(1), word="units")
    value, variance = pairs.kappa[0] - found.bias[0], found.variance[0]
    frequent = np.bincount(np.concatenate([first, second])).argmax()
    more = [
        np.append(one, 1 - frequent) for one in (first, second)
    ]  # one unit more, on whose other label both agree
    change = pairwise_kappa(ratings_of(more)).kappa[0] - pairs.kappa[0]
    assert found.one_more**2 == pytest.approx([change**2 * 2 / 3])
    total = variance + 0.9 * change**2 * 2 / 3
    # Of two labels on independent units: Wilson's interval of the share (kappa + 1) / 2 with this standard error.
    share = (value + 1) / 2
    cases = share * (1 - share) / (total / 4)
    expected = 2 * np.array(proportion_confint(share * cases, cases, method="wilson")) - 1
    assert (estimate.low, estimate.high) == pytest.approx(tuple(expected))
    assert corrected.value == pytest.approx(value)
    assert (corrected.low, corrected.high) == (estimate.low, estimate.high)
    np.testing.assert_allclose(found.pair_intervals(pairs), [expected])
    assert estimate.interval.startswith(
        "95 % jackknife score interval over 40 units, for these raters; bias "
    )


def many_raters(seed: int) -> Ratings:
    """100 raters of one skill on 1,500 units, ten on each: pairs share about 14 units, so their kappas are all biased downwards."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 1_500)
    rows = []
    for unit, label in enumerate(truth):
        for rater in rng.choice(100, 10, replace=False):
            given = label if rng.random() < 0.75 else rng.integers(0, 3)
            rows.append((f"r{rater:02}", f"u{unit:04}", str(given)))
    return Ratings.from_rows(rows)


def test_a_large_bias_leaves_the_plain_mean_without_an_interval():
    """The interval belongs to the corrected mean; it isn't stretched to include the plain one."""
    table = many_raters(1)
    found = summarize(table, rng=np.random.default_rng(0), replicates=50, min_overlap=10)
    kappa = found.kappa["nominal"]
    plain, corrected = kappa.mean["all"], kappa.corrected["all"]
    assert plain.value == pairwise_kappa(table).mean().value
    assert plain.value < corrected.low < corrected.value < corrected.high
    assert np.isnan([plain.low, plain.high]).all()
    assert "is larger than half the width of an interval; corrected it is " in plain.interval
    assert f"{corrected.value:.3f} [{corrected.low:.3f}, {corrected.high:.3f}]" in plain.interval
    middle = np.tanh((np.arctanh(corrected.low) + np.arctanh(corrected.high)) / 2)
    assert corrected.value == pytest.approx(middle)  # in the middle on Fisher's scale
    told = found.to_dict()
    assert told["cohen_kappa"]["corrected_mean"]["value"] == corrected.value
    assert told["human_human"]["corrected_mean"]["low"] == corrected.low
    text = as_text(found)
    lines = [line.split() for line in text.splitlines()]
    mean = next(n for n, line in enumerate(lines) if line[:5] == ["Cohen's", "kappa,", "mean", "of", "pairs"])
    after = next(line for line in lines[mean:] if line[:5] == ["corrected", "for", "few", "shared", "units"])
    assert after[5:8] == [f"{one:.4f}" for one in (corrected.value, corrected.low, corrected.high)]


def test_a_small_bias_leaves_one_interval_to_both():
    rows = [(r, f"u{u}", str((u + (u % 7 == 0) * (r == "b")) % 2)) for u in range(200) for r in "ab"]
    found = summarize(Ratings.from_rows(rows), rng=np.random.default_rng(0), replicates=50).kappa["nominal"]
    plain, corrected = found.mean["all"], found.corrected["all"]
    assert (plain.low, plain.high) == (corrected.low, corrected.high)
    assert plain.low < plain.value < plain.high


def test_pairs_that_share_few_clusters_leave_no_interval():
    """Three of twelve raters judge a whole explanation of ten follow-ups: a pair shares one or two explanations."""
    rng = np.random.default_rng(1)
    rows, cluster_of = [], {}
    for explanation in range(30):
        raters = rng.choice(12, 3, replace=False)
        for item in range(10):
            unit = f"{explanation}/{item}"
            cluster_of[unit] = str(explanation)
            truth = rng.integers(0, 2)
            rows += [(f"r{r:02}", unit, str(truth if rng.random() < 0.8 else 1 - truth)) for r in raters]
    table = Ratings.from_rows(rows, cluster_of=cluster_of)
    found = summarize(table, rng=np.random.default_rng(0), replicates=50).kappa["nominal"]
    mean = found.mean["all"]
    assert mean.defined
    assert np.isnan([mean.low, mean.high]).all()
    assert "pairs share fewer than 4 instances, too few to tell how biased their kappas are" in mean.interval


@pytest.mark.parametrize(("design", "least"), [("crowd", 0.89), ("explanations", 0.89), ("skewed", 0.89)])
def test_coverage_of_mean_kappa(design, least):
    """100 studies each: 95 expected, 89 or fewer has a chance of .01. benchmarks/validation has the whole grid."""
    assert least <= coverage_of_mean_kappa(design, studies=100, seed=3)
