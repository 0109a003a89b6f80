"""Aggregation rules: by hand, against crowd-kit, invariances, degenerate tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import MACE
from crowdkit.aggregation import DawidSkene as CrowdKitDawidSkene

from evaluation.agreement import MaceRule, PerRater, Ratings, aggregate, dawid_skene, mace, parse_rule
from tests.evaluation.agreement.tables import random_matrices, ratings_of, rows_of

#: crowd-kit's pandas idioms.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::RuntimeWarning"
)


def test_majority_by_hand():
    # u0: 1 1 2 -> 1; u1: 1 2 3 -> tie; u2: 2 2 2 -> 2; u3: nobody.
    matrix = np.array([[1, 1, 2, np.nan], [1, 2, 2, np.nan], [2, 3, 2, np.nan]])
    table = ratings_of(matrix)
    table = Ratings(table.raters, (*table.units, "u0003"), table.labels, table.rater, table.unit, table.value)
    found = aggregate(table)
    assert found.by_unit() == {"u0000": "1", "u0001": None, "u0002": "2", "u0003": None}
    assert found.left_out == {"units whose raters tie": 1, "units that nobody rated": 1}
    assert (found.n, found.rule) == (2, "majority")
    assert found.shares() == {"1": 0.5, "2": 0.5, "3": 0.0}


def test_majority_against_pandas_modes():
    for matrix in random_matrices(200, seed=21):
        found = aggregate(ratings_of(matrix)).by_unit()
        for unit, column in enumerate(matrix.T):
            modes = pd.Series(column).mode()
            if modes.size:
                assert found[f"u{unit:04}"] == (str(int(modes[0])) if modes.size == 1 else None)


def frame_of(table: Ratings) -> pd.DataFrame:
    return pd.DataFrame(rows_of(table), columns=["worker", "task", "label"])


def test_dawid_skene_equals_crowd_kit():
    compared = 0
    for number, matrix in enumerate(random_matrices(204, seed=31)):
        table = ratings_of(matrix)
        if not len(table):
            continue
        # crowd-kit takes 20 ms a step: one shows the formulas, eight that they follow each other, a hundred when it stops.
        steps = 100 if number == 50 else 8 if number % 25 == 0 else 1
        model = CrowdKitDawidSkene(n_iter=steps)
        theirs = model.fit_predict_proba(frame_of(table))
        mine = dawid_skene(table, iterations=steps)
        assert mine.iterations == len(model.loss_history_)
        expected = theirs.loc[list(table.units), list(table.labels)].to_numpy()
        # crowd-kit's table is clipped from below at its floor.
        np.testing.assert_allclose(np.maximum(mine.posterior, 1e-10), expected, atol=1e-9)
        np.testing.assert_allclose(mine.prior, model.priors_[list(table.labels)], atol=1e-9)
        for (rater, label), row in model.errors_.iterrows():
            errors = mine.confusion[table.raters.index(rater), :, table.labels.index(label)]
            np.testing.assert_allclose(errors, row[list(table.labels)], atol=1e-9)
        compared += 1
    assert compared >= 200


def test_mace_is_crowd_kits():
    for matrix in random_matrices(3, seed=41, missing=False):
        table = ratings_of(matrix)
        frame = frame_of(table).sort_values(["task", "worker"])
        theirs = MACE(n_restarts=2, n_iter=6, random_state=0).fit_predict_proba(frame)
        np.testing.assert_allclose(
            mace(table, iterations=6), theirs.loc[list(table.units), list(table.labels)].to_numpy(), atol=1e-9
        )


def simulated(seed: int, accuracies: list[float], units: int = 300) -> tuple[Ratings, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, units)
    right = rng.random((len(accuracies), units)) < np.array(accuracies)[:, None]
    wrong = (truth + rng.integers(1, 3, (len(accuracies), units))) % 3
    return ratings_of(np.where(right, truth, wrong)), truth


@pytest.mark.parametrize("rule", ["dawid_skene", "mace"])
def test_models_trust_the_good_raters(rule):
    table, truth = simulated(1, [0.95, 0.9, 0.35, 0.35, 0.3])
    model, majority = aggregate(table, rule), aggregate(table)
    assert (model.value == truth).mean() > 0.9
    assert (model.value == truth).mean() > (majority.value == truth).mean() + 0.1


def test_dawid_skene_recovers_accuracies():
    table, _ = simulated(2, [0.95, 0.8, 0.6], units=3000)
    np.testing.assert_allclose(dawid_skene(table).accuracy, [0.95, 0.8, 0.6], atol=0.04)


@pytest.mark.parametrize("rule", ["majority", "dawid_skene", MaceRule(iterations=5), "single:r001"])
def test_row_order_does_not_matter(rule):
    table, _ = simulated(3, [0.9, 0.7, 0.5], units=60)
    rows = rows_of(table)
    np.random.default_rng(0).shuffle(rows)
    assert (
        aggregate(Ratings.from_rows(rows, labels=table.labels), rule).by_unit()
        == aggregate(table, rule).by_unit()
    )


def test_unused_labels_and_unrated_units_change_nothing():
    table, _ = simulated(4, [0.9, 0.7, 0.5], units=60)
    more = Ratings.from_rows(rows_of(table), labels=["0", "extra", "1", "2"])
    more = Ratings(more.raters, (*more.units, "new"), more.labels, more.rater, more.unit, more.value)
    mine, wider = dawid_skene(table), dawid_skene(more)
    np.testing.assert_allclose(wider.posterior[:-1][:, [0, 2, 3]], mine.posterior, atol=1e-12)
    assert np.isnan(wider.posterior[-1]).all()
    assert wider.prior[1] == 0
    assert aggregate(more, "dawid_skene").left_out == {"units that nobody rated": 1}


def test_single_and_per_rater():
    table = ratings_of([[1, 2, np.nan], [2, 2, 1]])
    single = aggregate(table, "single:r000")
    assert single.by_unit() == {"u0000": "1", "u0001": "2", "u0002": None}
    assert single.left_out == {"units that r000 did not rate": 1}
    assert [t.rule for t in PerRater().tables(table)] == ["single:r000", "single:r001"]
    assert len(parse_rule("majority").tables(table)) == 1


def test_even_evidence_is_a_tie_for_the_models_too():
    table = ratings_of([[0, 1], [1, 0]])
    assert aggregate(table, "dawid_skene").left_out == {"units whose raters tie": 2}


@pytest.mark.parametrize("rule", ["majority", "dawid_skene", MaceRule(iterations=5)])
def test_degenerate(rule):
    assert aggregate(Ratings.from_rows([]), rule).n == 0
    assert aggregate(Ratings.from_rows([], labels=["yes"]), rule).n == 0
    one = aggregate(ratings_of([[1]]), rule)
    assert one.by_unit() == {"u0000": "1"}
    same = aggregate(ratings_of(np.ones((3, 5))), rule)
    assert same.n == 5


def test_wrong_rules():
    table = ratings_of([[1]])
    with pytest.raises(ValueError, match="rule: expected one of"):
        aggregate(table, "average")
    with pytest.raises(ValueError, match="one table per rater"):
        aggregate(table, "per_rater")
    with pytest.raises(ValueError, match="'zoe' is not a rater"):
        aggregate(table, "single:zoe")
    with pytest.raises(ValueError, match="iterations"):
        dawid_skene(table, iterations=0)
