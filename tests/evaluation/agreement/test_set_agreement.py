"""Alpha of sets with the MASI and Jaccard distances: by hand, against nltk, with missing ratings, degenerate tables."""

from __future__ import annotations

import json
from collections import Counter
from importlib import import_module
from itertools import product

import numpy as np
import pytest
from nltk.metrics.agreement import AnnotationTask

from evaluation.agreement import Ratings
from evaluation.agreement.set_agreement import set_agreement, set_counts, set_distances
from evaluation.agreement.value_forms import read_set

KEYS = "abcd"


def masi(one: frozenset[str], other: frozenset[str]) -> float:
    """Passonneau (2006), table 1, with thirds; nltk rounds them to 0.33 and 0.67."""
    if not one | other:
        return 0.0
    if one == other:
        m = 1.0
    elif one < other or other < one:
        m = 2 / 3
    else:
        m = 1 / 3 if one & other else 0.0
    return 1 - m * len(one & other) / len(one | other)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return 1 - len(one & other) / len(one | other) if one | other else 0.0


def drawn_rows(rng, *, units=25, raters=4, missing=0.0, empty=True) -> list[tuple[str, str, str]]:
    rows = []
    for unit, rater in product(range(units), range(raters)):
        keys = [key for key in KEYS if rng.random() < 0.2 + 0.5 * (unit % 4 == KEYS.index(key))]
        if rng.random() >= missing and (keys or empty):
            rows.append((f"r{rater}", f"u{unit}", json.dumps(keys)))
    return rows


def by_pairs(rows, distance) -> float:
    """Alpha from its definition, by all pairs of ratings."""
    units: dict[str, list[frozenset[str]]] = {}
    for _, unit, text in rows:
        units.setdefault(unit, []).append(read_set(text))
    pairable = [values for values in units.values() if len(values) > 1]
    every = Counter(value for values in pairable for value in values)
    n = sum(every.values())
    observed = sum(
        sum(distance(a, b) for a, b in product(values, repeat=2)) / (len(values) - 1) for values in pairable
    )
    expected = sum(x * y * distance(a, b) for a, x in every.items() for b, y in every.items())
    return 1 - (n - 1) * observed / expected


@pytest.mark.parametrize("seed", range(10))
def test_against_nltk(seed):
    rows = drawn_rows(np.random.default_rng(seed))
    found = set_agreement(Ratings.from_rows(rows))
    data = [(rater, unit, read_set(text)) for rater, unit, text in rows]
    for mine, distance in ((found.masi, masi), (found.jaccard, jaccard)):
        assert mine.value == pytest.approx(AnnotationTask(data, distance=distance).alpha(), abs=1e-8)
        assert mine.n == 100


@pytest.mark.parametrize("seed", range(10))
def test_with_missing_ratings(seed):
    rows = drawn_rows(np.random.default_rng(seed), missing=0.4)
    found = set_agreement(Ratings.from_rows(rows))
    assert found.masi.value == pytest.approx(by_pairs(rows, masi), abs=1e-12)
    assert found.jaccard.value == pytest.approx(by_pairs(rows, jaccard), abs=1e-12)
    assert found.nominal.value == pytest.approx(by_pairs(rows, lambda a, b: float(a != b)), abs=1e-12)


def test_the_order_of_keys_means_nothing():
    rows = [("a", "u", '["x", "y"]'), ("b", "u", '["y","x"]'), ("a", "v", "[]"), ("b", "v", "[]")]
    assert set_agreement(Ratings.from_rows(rows)).masi.value == 1.0


def test_undefined_with_its_reason():
    alone = set_agreement(Ratings.from_rows([("a", "u", '["x"]'), ("b", "v", '["y"]')]))
    assert alone.masi.reason == "no unit has two ratings"
    assert alone.masi.left_out == {"units with a single rating": 2}
    same = set_agreement(Ratings.from_rows([("a", "u", "[]"), ("b", "u", "[]")]))
    assert same.jaccard.reason == "all raters gave the same label"
    nothing = set_agreement(Ratings.from_rows([]))
    assert not nothing.masi.defined


@pytest.mark.parametrize("text", ['["a", "a"]', '"a"', "a", "[1.5]", "[[]]", '{"a": 1}', '[""]', "[true]"])
def test_what_is_no_set_is_refused(text):
    with pytest.raises(ValueError, match="expected a JSON list of different keys"):
        set_agreement(Ratings.from_rows([("a", "u", text)]))


def test_the_interval_contains_the_value_and_is_over_instances():
    rows = drawn_rows(np.random.default_rng(1), units=40)
    clusters = {f"u{unit}": str(unit // 2) for unit in range(40)}
    table = Ratings.from_rows(rows, cluster_of=clusters)
    found = set_agreement(table, rng=np.random.default_rng(0), replicates=200).masi
    assert found.low < found.value < found.high
    assert "20 instances" in found.interval


def test_the_interval_is_near_that_of_nominal_alpha_for_sets_of_one_key():
    """With one key in each set, all distances are nominal."""
    from evaluation.agreement.intervals import alpha_estimate

    rng = np.random.default_rng(3)
    labels = [
        (f"r{r}", f"u{u}", KEYS[u % 4] if rng.random() < 0.7 else "d") for u in range(60) for r in range(3)
    ]
    plain = alpha_estimate(Ratings.from_rows(labels), rng=np.random.default_rng(0))
    rows = [(rater, unit, json.dumps([label])) for rater, unit, label in labels]
    found = set_agreement(Ratings.from_rows(rows), rng=np.random.default_rng(0)).masi
    assert found.value == pytest.approx(plain.value, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=0.01)


def test_no_interval_with_too_many_different_sets(monkeypatch):
    monkeypatch.setattr("evaluation.agreement.distance_alpha.MOST_VALUES", 3)
    table = Ratings.from_rows(drawn_rows(np.random.default_rng(1)))
    found = set_agreement(table, rng=np.random.default_rng(0), replicates=20)
    assert found.jaccard.interval == "none: more than 3 different values"
    assert found.jaccard.defined


def _subsets(size, raters=2, units=120):
    rng = np.random.default_rng(5)
    keys = [f"k{place}" for place in range(size)]
    return Ratings.from_rows(
        [
            (f"r{rater}", f"u{unit:03}", json.dumps([key for key in keys if rng.random() < 0.4]))
            for unit in range(units)
            for rater in range(raters)
        ]
    )


def test_more_sets_than_a_block_has_rows_are_summed_as_in_the_definition():
    """Only half of the pairs of sets are computed: beyond one block (256 rows), the sums must be those of all pairs."""
    table = _subsets(12, raters=3)
    counts, sets = set_counts(table)
    assert len(sets) > 256
    given = counts.pairable.astype(float)
    places = np.arange(len(sets))
    found = set_agreement(table)
    for kind in ("masi", "jaccard", "nominal"):
        between = set_distances(sets, kind)(places[:, None], places[None, :])
        expected = given @ between @ given
        observed = counts.differences(set_distances(sets, kind)).sum()
        alpha = 1 - (given.sum() - 1) * observed / expected
        assert getattr(found, kind).value == pytest.approx(alpha, abs=1e-12)


def test_of_too_many_different_sets_only_the_nominal_alpha_is_computed(monkeypatch):
    table = _subsets(12)
    plain = set_agreement(table, rng=np.random.default_rng(0), replicates=50)
    sums, sets_of = (
        import_module(f"evaluation.agreement.{name}") for name in ("distance_alpha", "set_agreement")
    )
    for module in (sums, sets_of):
        monkeypatch.setattr(module, "MOST_COMPARED", 100)
    monkeypatch.setattr(sums, "MOST_VALUES", 50)
    found = set_agreement(table, rng=np.random.default_rng(0), replicates=50)
    _, sets = set_counts(table)
    assert found.masi.reason == found.jaccard.reason
    assert found.masi.reason == f"{len(sets)} different values; the distances of at most 100 are computed"
    assert (found.nominal.value, found.nominal.low) == (plain.nominal.value, plain.nominal.low)
