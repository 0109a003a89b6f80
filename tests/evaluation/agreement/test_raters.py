"""Each rater against the rest."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from evaluation.agreement import Ratings, agreement_with_rest
from tests.evaluation.agreement.tables import random_matrices, ratings_of


def brute_rest(matrix, rater, people):
    """(own label, labels of the others) of each unit that has others."""
    found = []
    for column in matrix.T:
        others = [v for r, v in enumerate(column) if r != rater and r in people and not np.isnan(v)]
        if not np.isnan(column[rater]) and others:
            found.append((column[rater], np.array(others)))
    return found


@pytest.mark.parametrize("rest", ["all", "people"])
def test_rest_against_plain_loops(rest):
    compared = 0
    for matrix in random_matrices(60, seed=13):
        table = ratings_of(matrix, simulators=["r000"])
        found = agreement_with_rest(table, rest=rest)
        people = set(range(matrix.shape[0])) - ({0} if rest == "people" else set())
        for index, name in enumerate(table.raters):
            units = brute_rest(matrix, int(name[1:]), people)
            assert found.n[index] == len(units)
            if not units:
                assert found.of(name)[0].reason == "nobody else rated this rater's units"
                continue
            agreement = np.mean([np.mean(others == own) for own, others in units])
            assert found.agreement[index] == pytest.approx(agreement, abs=1e-12)
            expected = sum(
                np.mean([own == k for own, _ in units])
                * np.mean([np.mean(others == k) for _, others in units])
                for k in range(6)
            )
            if expected < 1 - 1e-9:
                kappa = (agreement - expected) / (1 - expected)
                assert found.kappa[index] == pytest.approx(kappa, abs=1e-10)
                compared += 1
            else:
                assert not found.of(name)[1].defined
    assert compared > 100


def test_rest_of_two_raters_is_cohens_kappa():
    for matrix in random_matrices(20, seed=14, missing=False):
        pair = matrix[:2].astype(int)
        if np.unique(pair).size > 1:
            found = agreement_with_rest(ratings_of(pair))
            np.testing.assert_allclose(found.kappa, cohen_kappa_score(*pair), atol=1e-12)


def test_degenerate():
    alone = agreement_with_rest(ratings_of([[1, 2]]))
    assert [e.defined for e in alone.of("r000")] == [False, False]
    same = agreement_with_rest(ratings_of(np.ones((3, 4))))
    agreement, kappa = same.of("r000")
    assert (agreement.value, kappa.reason) == (
        1.0,
        "this rater and the rest always gave the same label",
    )
    assert len(agreement_with_rest(Ratings.from_rows([])).n) == 0
    with pytest.raises(ValueError, match="rest"):
        agreement_with_rest(ratings_of([[1]]), rest="robots")  # type: ignore[arg-type]
