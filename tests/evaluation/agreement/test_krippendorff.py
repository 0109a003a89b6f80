"""Krippendorff's alpha: by hand, against the krippendorff package, invariances, degenerate tables."""

from __future__ import annotations

import csv

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.agreement import Ratings, krippendorff_alpha
from evaluation.agreement.krippendorff import PACKAGE_CELLS
from tests.evaluation.agreement.tables import KRIPPENDORFF, LEVELS, NAN, random_matrices, ratings_of


def test_by_hand():
    # Units (1, 1), (1, 2), (2, 2): o_11 = 2, o_12 = o_21 = 1, o_22 = 2; n = 6, n_1 = n_2 = 3.
    # Do = 2/6; De = 2 * 3 * 3 / (6 * 5) = 18/30; alpha = 1 - (2/6) / (18/30) = 1 - 5/9 = 4/9.
    found = krippendorff_alpha(ratings_of([[1, 1, 2], [1, 2, 2]]))
    assert found.value == pytest.approx(4 / 9, abs=1e-15)
    assert found.n == 6


def test_ratio_by_hand():
    # Units (1, 3), (1, 1): d(1, 3)^2 = (2/4)^2 = 1/4. Do = 2 * 1/4 / 4 = 1/8; De = 2 * 3 * 1 * 1/4 / 12 = 1/8.
    assert krippendorff_alpha(ratings_of([[1, 1], [3, 1]], level="ratio")).value == pytest.approx(
        0.0, abs=1e-15
    )


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorffs_example(level, published):
    found = krippendorff_alpha(ratings_of(KRIPPENDORFF, level=level))
    assert round(found.value, 3) == published
    assert found.n == 40
    assert found.left_out == {"units with a single rating": 1}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("cells", [PACKAGE_CELLS, 0], ids=["package", "sums"])
def test_against_the_krippendorff_package(level, cells, monkeypatch):
    """Of small tables the value is the package's; of large ones it's computed from sums."""
    monkeypatch.setattr("evaluation.agreement.krippendorff.PACKAGE_CELLS", cells)
    compared = 0
    for matrix in random_matrices(220, seed=11):
        found = krippendorff_alpha(ratings_of(matrix, level=level))
        if not found.defined:
            counts = (~np.isnan(matrix)).sum(axis=0)
            pairable = matrix[:, counts >= 2]
            assert np.unique(pairable[~np.isnan(pairable)]).size < 2
            continue
        assert found.value == pytest.approx(krippendorff.alpha(matrix, level_of_measurement=level), abs=1e-12)
        compared += 1
    assert compared >= 200


@pytest.mark.parametrize("name", ["commonsenseqa_test", "snli_test", "snli_test_group2"])
def test_acceptability_judgments(name, public_data):
    published = {"commonsenseqa_test": 0.4014, "snli_test": 0.4971, "snli_test_group2": 0.4702}[name]
    folder = public_data.folder / "few_shot_explanations" / "acceptability_annotations"
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as handle:
        records = list(csv.DictReader(handle))
    identifier = next(iter(records[0]))
    rows, seen = [], {}
    for record in records:
        item = record[identifier]
        seen[item] = seen.get(item, 0) + 1
        listed = set(record["Answer.acceptable"].split("|"))
        rows += [(f"{seen[item]}", f"{item}/{i}", "yes" if str(i) in listed else "no") for i in range(1, 6)]
    table = Ratings.from_rows(rows)
    assert len(table.units) == 1250
    counts = [[sum(v == label for v in given) for label in ("no", "yes")] for given in _by_unit(rows)]
    theirs = krippendorff.alpha(value_counts=np.array(counts), level_of_measurement="nominal")
    assert krippendorff_alpha(table).value == pytest.approx(theirs, abs=1e-12)
    if public_data.real:
        assert round(krippendorff_alpha(table).value, 4) == published


def _by_unit(rows):
    found = {}
    for _, unit, label in rows:
        found.setdefault(unit, []).append(label)
    return found.values()


@given(st.integers(0, 10**6), st.sampled_from(LEVELS))
@settings(max_examples=60, deadline=None)
def test_invariances(seed, level):
    rng = np.random.default_rng(seed)
    matrix = next(random_matrices(1, seed=seed))
    alpha = krippendorff_alpha(ratings_of(matrix, level=level)).value
    shuffled = matrix[rng.permutation(matrix.shape[0])][:, rng.permutation(matrix.shape[1])]
    assert krippendorff_alpha(ratings_of(shuffled, level=level)).value == pytest.approx(
        alpha, abs=1e-13, nan_ok=True
    )
    # A unit rated once tells nothing about agreement.
    alone = np.full((matrix.shape[0], 1), NAN)
    alone[0, 0] = 0
    more = krippendorff_alpha(ratings_of(np.hstack([matrix, alone]), level=level)).value
    assert more == pytest.approx(alpha, abs=1e-13, nan_ok=True)
    # What each level may not see.
    changed = {
        "nominal": (matrix * 7919 + 3) % 101,
        "ordinal": matrix**3 + 1,
        "interval": 5 * matrix + 2,
        "ratio": 4 * matrix,
    }[level]
    assert krippendorff_alpha(ratings_of(changed, level=level)).value == pytest.approx(
        alpha, abs=1e-12, nan_ok=True
    )


def test_an_offset_costs_no_digits():
    near = krippendorff_alpha(ratings_of(np.array(KRIPPENDORFF), level="interval")).value
    assert krippendorff_alpha(ratings_of(np.array(KRIPPENDORFF) + 10**12, level="interval")).value == near


@pytest.mark.parametrize("level", LEVELS)
def test_undefined(level):
    empty = krippendorff_alpha(Ratings.from_rows([], level=level))
    assert not empty.defined
    assert empty.reason == "no unit has two ratings"
    assert not krippendorff_alpha(ratings_of([[1, 2, 3]], level=level)).defined  # one rater
    same = krippendorff_alpha(ratings_of([[1, 1], [1, 1]], level=level))
    assert (same.reason, same.n) == ("all raters gave the same label", 4)


def test_one_unit_and_total_disagreement():
    assert (
        krippendorff_alpha(ratings_of([[1], [2]])).value == 0.0
    )  # De is the same pair: no worse than chance
    # Two raters who always differ, n = 8: Do = 1, De = 2*4*4/(8*7) = 4/7, alpha = 1 - 7/4.
    assert krippendorff_alpha(ratings_of([[1, 2, 1, 2], [2, 1, 2, 1]])).value == pytest.approx(-0.75)


def test_labels_for_the_same_number_are_the_same_value():
    rows = [("a", "u", "1"), ("b", "u", "1.0"), ("a", "v", "1"), ("b", "v", "1")]
    assert (
        krippendorff_alpha(Ratings.from_rows(rows, level="interval")).reason
        == "all raters gave the same label"
    )


def test_bad_labels():
    rows = [("a", "u", "yes"), ("b", "u", "no")]
    with pytest.raises(ValueError, match="labels: a number is needed"):
        krippendorff_alpha(Ratings.from_rows(rows, level="interval"))
    with pytest.raises(ValueError, match="below 0"):
        krippendorff_alpha(Ratings.from_rows([("a", "u", "-1"), ("b", "u", "2")], level="ratio"))
    with pytest.raises(ValueError, match="level: expected"):
        krippendorff_alpha(Ratings.from_rows(rows), level="cardinal")  # type: ignore[arg-type]
