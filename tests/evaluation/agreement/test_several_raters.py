"""Fleiss' kappa, Gwet's AC1, percent agreement, prevalences: by hand, against others, invariances, degenerate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

from evaluation.agreement import Ratings, fleiss_kappa, gwet_ac1, percent_agreement, prevalences
from tests.evaluation.agreement.tables import random_matrices, ratings_of

#: Fleiss (1971) as reprinted in reference works: 10 units, 14 raters, 5 labels; kappa .210, Pa .378, Pe .213.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def table_of_counts(counts) -> Ratings:
    rows = []
    for unit, row in enumerate(counts):
        given = [label for label, count in enumerate(row) for _ in range(count)]
        rows += [(f"r{rater:02}", f"u{unit}", str(label)) for rater, label in enumerate(given)]
    return Ratings.from_rows(rows)


def brute_percent(matrix) -> float:
    shares = []
    for column in matrix.T:
        given = column[~np.isnan(column)]
        pairs = [x == y for i, x in enumerate(given) for y in given[i + 1 :]]
        if pairs:
            shares.append(np.mean(pairs))
    return float(np.mean(shares))


def brute_ac1(matrix) -> float:
    labels = np.unique(matrix[~np.isnan(matrix)])
    columns = [column[~np.isnan(column)] for column in matrix.T]
    shares = [np.mean([np.mean(column == k) for column in columns if column.size]) for k in labels]
    expected = sum(share * (1 - share) for share in shares) / (labels.size - 1)
    return (brute_percent(matrix) - expected) / (1 - expected)


def test_fleiss_published():
    table = table_of_counts(FLEISS)
    assert round(fleiss_kappa(table).value, 3) == 0.210
    assert round(percent_agreement(table).value, 3) == 0.378


def test_by_hand():
    # Units yyn, yyy. Pa = (1/3 + 1) / 2 = 2/3. p_y = 5/6: Pe = 25/36 + 1/36 = 26/36; kappa = (24 - 26) / 10.
    table = ratings_of([[1, 1], [1, 1], [0, 1]])
    assert percent_agreement(table).value == pytest.approx(2 / 3)
    assert fleiss_kappa(table).value == pytest.approx(-0.2)
    # AC1: pi_y = (2/3 + 1) / 2 = 5/6; Pe = 2 * 5/6 * 1/6 = 10/36; (24 - 10) / 26 = 7/13.
    assert gwet_ac1(table).value == pytest.approx(7 / 13)
    assert prevalences(table) == {"0": 1 / 6, "1": 5 / 6}


def test_fleiss_against_statsmodels():
    compared = 0
    for matrix in random_matrices(210, seed=2, missing=False):
        found = fleiss_kappa(ratings_of(matrix))
        assert found.n == matrix.shape[1]
        counts, _ = aggregate_raters(matrix.T.astype(int))
        if found.defined:
            assert found.value == pytest.approx(fleiss_of_statsmodels(counts), abs=1e-12)
            compared += 1
        else:
            assert np.unique(matrix).size == 1
    assert compared >= 200


def test_percent_and_ac1_against_plain_loops():
    compared = 0
    for matrix in random_matrices(230, seed=8):
        table = ratings_of(matrix)
        found = gwet_ac1(table)
        if not found.defined:
            assert (~np.isnan(matrix)).sum(axis=0).max() < 2 or len(table.labels) < 2
            continue
        assert percent_agreement(table).value == pytest.approx(brute_percent(matrix), abs=1e-12)
        assert found.value == pytest.approx(brute_ac1(matrix), abs=1e-12)
        compared += 1
    assert compared >= 200


@given(st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_invariances(seed):
    rng = np.random.default_rng(seed)
    matrix = next(random_matrices(1, seed=seed))
    changed = ((matrix * 7919) % 101)[rng.permutation(matrix.shape[0])][:, rng.permutation(matrix.shape[1])]
    for statistic in (percent_agreement, fleiss_kappa, gwet_ac1):
        first, second = statistic(ratings_of(matrix)), statistic(ratings_of(changed))
        assert first.value == pytest.approx(second.value, abs=1e-13, nan_ok=True)
        assert (first.reason, first.n) == (second.reason, second.n)


def test_doubling_the_units_changes_no_estimate():
    for matrix in random_matrices(20, seed=4, missing=False):
        for statistic in (percent_agreement, fleiss_kappa, gwet_ac1):
            once, twice = statistic(ratings_of(matrix)), statistic(ratings_of(np.hstack([matrix, matrix])))
            assert once.value == pytest.approx(twice.value, abs=1e-13, nan_ok=True)


def test_degenerate():
    empty = Ratings.from_rows([])
    for statistic in (percent_agreement, fleiss_kappa, gwet_ac1):
        assert statistic(empty).reason == "no unit has two ratings"
        assert not statistic(ratings_of([[1, 2, 1]])).defined  # one rater
    assert prevalences(empty) == {}
    assert np.isnan(prevalences(Ratings.from_rows([], labels=["yes"]))["yes"])
    uneven = fleiss_kappa(ratings_of([[1, 2], [1, np.nan], [1, 2]]))
    assert uneven.reason == "units have different numbers of ratings, from 2 to 3"
    same = ratings_of(np.ones((3, 4)))
    assert fleiss_kappa(same).reason == "all raters gave the same label"
    assert gwet_ac1(same).reason == "there is only one label to give"
    # Where another label could have been given, AC1 is defined: that is its point.
    assert gwet_ac1(ratings_of(np.ones((3, 4)), labels=["0", "1"])).value == 1.0
    # Total disagreement of two raters on two labels, evenly: Pa = 0, Pe = 1/2.
    apart = ratings_of([[0, 1], [1, 0]])
    assert (percent_agreement(apart).value, fleiss_kappa(apart).value, gwet_ac1(apart).value) == (
        0.0,
        -1.0,
        -1.0,
    )


def test_units_without_a_pair_are_counted():
    table = ratings_of([[1, 2, 1], [1, np.nan, 2]])
    found = percent_agreement(table)
    assert (found.value, found.n, found.left_out) == (0.5, 2, {"units with a single rating": 1})
    assert gwet_ac1(table).left_out == {"units with a single rating": 1}
