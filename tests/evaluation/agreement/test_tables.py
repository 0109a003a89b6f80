"""The ratings table itself: its checks, its subsets, its order."""

from __future__ import annotations

import numpy as np
import pytest

import evaluation.agreement
from evaluation.agreement import Ratings, aggregate, pairwise_kappa
from evaluation.agreement import counts as counts_module
from evaluation.agreement.counts import count_units
from evaluation.core.ratings_table import sorted_together
from tests.evaluation.agreement.tables import random_matrices, ratings_of, rows_of


def test_public_names_exist():
    for name in evaluation.agreement.__all__:
        assert getattr(evaluation.agreement, name).__doc__


def test_a_duplicate_rating_is_named():
    with pytest.raises(ValueError, match="'b' has rated 'u' twice"):
        Ratings.from_rows([("a", "u", "x"), ("b", "u", "x"), ("b", "u", "y")])


def test_grouped_is_the_table_in_order():
    for matrix in random_matrices(30, seed=1):
        table = ratings_of(matrix)
        rows = rows_of(table)
        np.random.default_rng(0).shuffle(rows)
        grouped = Ratings.from_rows(rows, labels=table.labels).grouped
        found = list(zip(grouped.unit.tolist(), grouped.rater.tolist(), grouped.value.tolist(), strict=True))
        expected = sorted(zip(table.unit.tolist(), table.rater.tolist(), table.value.tolist(), strict=True))
        assert found == expected
        assert grouped.start[-1] == len(table)


def test_grouping_where_codes_are_too_wide_to_pack():
    unit, rater, value = (
        np.array(codes, dtype=np.int32) for codes in ([2**30, 3, 2**30], [2**30, 0, 1], [5, 2**30, 6])
    )
    found = sorted_together(unit, rater, value)
    assert [column.tolist() for column in found] == [[3, 2**30, 2**30], [0, 1, 2**30], [2**30, 6, 5]]


def test_subsets():
    table = ratings_of([[0, 1, 2], [0, 1, np.nan], [1, 1, 1]], simulators=["r002"], abstain=["2"])
    assert len(table.people()) == 5
    assert table.people().raters == ("r000", "r001")
    assert table.people().simulators == frozenset()
    without = table.without_abstain()
    assert without.labels == ("0", "1")
    assert sorted(rows_of(without)) == sorted(row for row in rows_of(table) if row[2] != "2")
    assert table.only_raters(["r002"]).simulators == {"r002"}
    assert len(table.where(table.value == 0)) == 2
    with pytest.raises(ValueError, match="zoe"):
        table.only_raters(["zoe"])
    with pytest.raises(ValueError, match="kept"):
        table.where(np.ones(3, dtype=bool))


def test_the_repr_of_a_table_is_one_line():
    table = ratings_of([[0, 1], [0, 1]])
    assert repr(table) == "<Ratings: 4 of 2 units by 2 raters, 2 nominal labels>"
    assert repr(aggregate(table)) == "<Aggregated by majority: 2 of 2 units>"
    assert repr(pairwise_kappa(table)) == "<PairwiseKappa: 1 pairs of 2 raters, nominal weights>"


def test_numbers():
    rows = [("a", "u", "no"), ("b", "u", "moderate"), ("c", "u", "yes")]
    labels = ["no", "moderate", "yes"]
    assert Ratings.from_rows(rows, labels=labels, level="ordinal").numbers.tolist() == [0, 1, 2]
    scored = Ratings.from_rows(
        rows, labels=labels, level="ordinal", scores={"no": 0, "moderate": 0.5, "yes": 1}
    )
    assert scored.numbers.tolist() == [0, 0.5, 1]
    with pytest.raises(ValueError, match="finite"):
        _ = Ratings.from_rows([("a", "u", "inf")], level="interval").numbers


def test_counting_by_sorting_equals_the_dense_table(monkeypatch):
    for matrix in random_matrices(30, seed=6):
        dense = count_units(ratings_of(matrix))
        with monkeypatch.context() as patch:
            patch.setattr(counts_module, "DENSE_CELLS", -(10**9))
            by_sorting = count_units(ratings_of(matrix))
        for name in ("unit", "label", "count", "sizes"):
            np.testing.assert_array_equal(getattr(dense, name), getattr(by_sorting, name))
