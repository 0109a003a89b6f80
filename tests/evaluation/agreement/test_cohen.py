"""Cohen's kappa, one pair and all pairs: by hand, against scikit-learn, invariances, degenerate tables."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from evaluation.agreement import (
    Ratings,
    cohen_kappa,
    gwet_ac1,
    krippendorff_alpha,
    pairwise_kappa,
    percent_agreement,
)
from evaluation.agreement import pairs as pairs_module
from tests.evaluation.agreement.tables import random_matrices, ratings_of, rows_of

WEIGHTS = ("nominal", "linear", "quadratic")


def paradox() -> Ratings:
    """The 2 x 2 table [118, 5; 2, 0]: nearly all "yes"."""
    cells = [("yes", "yes", 118), ("yes", "no", 5), ("no", "yes", 2)]
    pairs = [(a, b) for a, b, count in cells for _ in range(count)]
    return Ratings.from_rows(
        [
            (rater, f"u{u}", label)
            for u, pair in enumerate(pairs)
            for rater, label in zip("ab", pair, strict=True)
        ]
    )


def test_by_hand():
    # a: y y n n, b: y n n n. Po = 3/4; Pe = 2/4*1/4 + 2/4*3/4 = 1/2; kappa = (3/4 - 1/2) / (1/2) = 1/2.
    found = cohen_kappa(["y", "y", "n", "n"], ["y", "n", "n", "n"])
    assert (found.value, found.n) == (0.5, 4)


def test_weighted_by_hand():
    # a: 1 2 3, b: 1 3 3. linear: observed 0+1+0 = 1; expected (1/3) sum_ij |i-j| = (0+2+2 + 1+1+1 + 2+0+0)/3 = 3.
    assert cohen_kappa("123", "133", weights="linear", labels="123").value == pytest.approx(1 - 1 / 3)
    # quadratic: observed 1; expected (0+4+4 + 1+1+1 + 4+0+0)/3 = 5.
    assert cohen_kappa("123", "133", weights="quadratic", labels="123").value == pytest.approx(1 - 1 / 5)


def test_prevalence_paradox():
    table = paradox()
    assert round(percent_agreement(table).value, 3) == 0.944
    assert round(pairwise_kappa(table).mean().value, 3) == -0.023
    assert round(gwet_ac1(table).value, 3) == 0.941


@pytest.mark.parametrize("weights", WEIGHTS)
def test_against_scikit_learn(weights, monkeypatch):
    compared = 0
    for matrix in random_matrices(200, seed=5):
        table = ratings_of(matrix, level="interval" if weights != "nominal" else "nominal")
        monkeypatch.setattr(pairs_module, "DENSE_CELLS", 4_000_000)
        dense = pairwise_kappa(table, weights=weights, min_overlap=1)
        monkeypatch.setattr(pairs_module, "DENSE_CELLS", 0)
        by_cells = pairwise_kappa(table, weights=weights, min_overlap=1)
        labels = [int(label) for label in range(6)]
        for a in range(matrix.shape[0]):
            for b in range(a + 1, matrix.shape[0]):
                both = ~np.isnan(matrix[a]) & ~np.isnan(matrix[b])
                x, y = matrix[a][both].astype(int), matrix[b][both].astype(int)
                if not {f"r{a:03}", f"r{b:03}"} <= set(table.raters):
                    continue
                mine = dense.pair(f"r{a:03}", f"r{b:03}")
                other_way = by_cells.pair(f"r{a:03}", f"r{b:03}")
                assert mine.n == other_way.n == both.sum()
                if not mine.defined:
                    assert not other_way.defined
                    assert both.sum() == 0 or (np.unique(x).size == 1 and np.array_equal(x, y))
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    other = cohen_kappa_score(
                        x, y, labels=labels, weights=None if weights == "nominal" else weights
                    )
                assert mine.value == pytest.approx(other, abs=1e-12)
                assert other_way.value == pytest.approx(other, abs=1e-12)
                compared += 1
    assert compared >= 200


def test_two_units_shared_by_chance_do_not_outweigh_a_hundred():
    """Two raters share 100 units; a third shares two with them, and agrees by luck."""
    rng = np.random.default_rng(3)
    matrix = np.full((3, 100), np.nan)
    matrix[0] = rng.integers(0, 2, 100)
    matrix[1] = np.where(rng.random(100) < 0.6, matrix[0], 1 - matrix[0])
    first_two = np.array([np.flatnonzero(matrix[0] == label)[0] for label in (0, 1)])
    matrix[2, first_two] = matrix[0, first_two]
    matrix[1, first_two] = matrix[0, first_two]
    table = ratings_of(matrix)
    pairs = pairwise_kappa(table, min_overlap=1)
    unweighted, weighted, alpha = pairs.mean(), pairs.weighted_mean(), krippendorff_alpha(table)
    k = pairs.pair("r000", "r001").value
    assert pairs.pair("r000", "r002").value == pairs.pair("r001", "r002").value == 1.0
    assert unweighted.value == pytest.approx((k + 1 + 1) / 3)
    assert weighted.value == pytest.approx((100 * k + 2 * 1 + 2 * 1) / 104)
    assert (unweighted.n, weighted.n) == (3, 104)
    assert len({round(value, 3) for value in (unweighted.value, weighted.value, alpha.value)}) == 3
    # With the default minimum the chance pairs are listed and not averaged.
    default = pairwise_kappa(table)
    assert default.mean().value == default.weighted_mean().value == k
    assert default.mean().left_out == {"pairs that share fewer than 10 units": 2}
    assert [row["averaged"] for row in default.rows()] == [True, False, False]


def test_people_and_simulators():
    # Six units. h1 = h2 on all, so 1; the simulator s agrees with both on 4 of 6.
    h, s = [0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 1, 1]
    table = ratings_of([h, h, s], simulators=["r002"])
    pairs = pairwise_kappa(table, min_overlap=6)
    assert pairs.mean("people").value == 1.0
    assert pairs.mean("people").n == 1
    assert pairs.mean("r002").value == pytest.approx(1 / 3)  # (4/6 - 1/2) / (1/2)
    assert pairs.mean("r002").n == 2
    with pytest.raises(ValueError, match="which"):
        pairs.mean("r000")


@given(st.integers(0, 10**6), st.sampled_from(WEIGHTS))
@settings(max_examples=50, deadline=None)
def test_invariances(seed, weights):
    rng = np.random.default_rng(seed)
    matrix = next(random_matrices(1, seed=seed))
    table = ratings_of(matrix, level="interval")
    base = pairwise_kappa(table, weights=weights, min_overlap=1)
    rows = rows_of(table)
    rng.shuffle(rows)
    again = pairwise_kappa(
        Ratings.from_rows(rows, labels=table.labels, level="interval"), weights=weights, min_overlap=1
    )
    np.testing.assert_array_equal(base.kappa, again.kappa)
    # Raters in the other order: the same kappas, the matrix turned.
    turned = pairwise_kappa(ratings_of(matrix[::-1], level="interval"), weights=weights, min_overlap=1)
    assert sorted(base.kappa.tolist(), key=str) == pytest.approx(
        sorted(turned.kappa.tolist(), key=str), abs=1e-12, nan_ok=True
    )
    # Labels renamed in order (any names at nominal weights).
    names = {
        "nominal": lambda v: (v * 7919) % 101,
        "linear": lambda v: 9 - v,
        "quadratic": lambda v: 3 * v + 4,
    }
    renamed = pairwise_kappa(
        ratings_of(names[weights](matrix), level="interval"), weights=weights, min_overlap=1
    )
    np.testing.assert_allclose(base.kappa, renamed.kappa, atol=1e-12)


def test_degenerate():
    assert pairwise_kappa(Ratings.from_rows([])).mean().reason == "there is no such pair of raters"
    assert not pairwise_kappa(ratings_of([[1, 2, 3]])).mean().defined
    apart = pairwise_kappa(ratings_of([[1, np.nan], [np.nan, 1]]))
    assert apart.pair("r000", "r001").reason == "they share no unit"
    assert apart.mean().left_out == {"pairs that share no unit": 1}
    assert [row["n"] for row in apart.rows(unshared=True)] == [0]
    same = pairwise_kappa(ratings_of(np.ones((2, 20))))
    assert same.pair("r001", "r000").reason == "both always gave the same label"
    assert same.mean().reason == "no pair can be averaged: 1 pair whose kappa is not defined"
    one = cohen_kappa(["y"], ["n"])
    assert (one.value, one.n) == (0.0, 1)
    assert cohen_kappa(["y", "n"], ["n", "y"]).value == -1.0


def test_missing_labels_are_left_out():
    found = cohen_kappa(["y", "n", None, "y"], ["y", "n", "n", None])
    assert (found.value, found.n, found.left_out) == (1.0, 2, {"units that one of them did not rate": 2})


def test_rows_list_every_pair_in_order():
    matrix = np.array([[0, 1, np.nan, np.nan], [np.nan, np.nan, 0, 1], [0, 1, 0, np.nan]])
    rows = list(pairwise_kappa(ratings_of(matrix), min_overlap=1).rows(unshared=True))
    assert [(row["a"], row["b"], row["n"]) for row in rows] == [
        ("r000", "r001", 0),
        ("r000", "r002", 2),
        ("r001", "r002", 1),
    ]
    assert [row["value"] for row in rows] == [None, 1.0, None]


def test_rows_of_very_many_pairs_are_not_made_all_at_once():
    matrix = np.random.default_rng(0).integers(0, 2, (300, 12)).astype(float)
    found = pairwise_kappa(ratings_of(matrix))
    assert found.averaged.all()  # computed once and kept, so not part of the peak
    assert (found.agreement >= 0).all()
    tracemalloc.start()
    try:
        assert sum(1 for _ in found.rows()) == 300 * 299 // 2
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000  # 7 MB with a list of each column


def test_wrong_arguments():
    with pytest.raises(ValueError, match="b: expected 2 labels"):
        cohen_kappa(["y", "n"], ["y"])
    with pytest.raises(ValueError, match="labels: weighted"):
        cohen_kappa(["y"], ["n"], weights="linear")
    with pytest.raises(ValueError, match="weights: linear"):
        pairwise_kappa(ratings_of([[1], [2]]), weights="linear")
    with pytest.raises(ValueError, match="min_overlap"):
        pairwise_kappa(ratings_of([[1], [2]]), min_overlap=0)
    with pytest.raises(ValueError, match="weights: expected"):
        pairwise_kappa(ratings_of([[1], [2]], level="interval"), weights="cubic")  # type: ignore[arg-type]
