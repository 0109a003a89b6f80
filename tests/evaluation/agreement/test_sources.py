"""Where disagreement comes from: contributions add up, equal their definition, and coefficients are computed again without a group."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from evaluation.agreement import Ratings, krippendorff_alpha
from evaluation.agreement.cohen import pairwise_kappa
from evaluation.agreement.krippendorff import midranks
from evaluation.agreement.sources import disagreement_of, disagreement_with, group_codes
from tests.evaluation.agreement.tables import LEVELS


def drawn(level: str, *, seed: int = 0, units: int = 30, raters: int = 6) -> Ratings:
    """Some ratings are missing; rater 0 often answers at random, and units of the system fox are hard."""
    rng = np.random.default_rng(seed)
    rows = []
    for unit in range(units):
        truth = int(rng.integers(1, 5))
        for rater in range(raters):
            wrong = 0.1 + 0.2 * (unit % 3 == 0) + 0.7 * (rater == 0)
            value = int(rng.integers(1, 5)) if rng.random() < wrong else truth
            if rng.random() < 0.7:
                rows.append((f"r{rater}", f"u{unit:02}", str(value)))
    return Ratings.from_rows(rows, labels=["1", "2", "3", "4"], level=level, simulators=["r5"])


def differences(table: Ratings) -> np.ndarray:
    """The level's squared differences of all labels, from their definition."""
    x = np.array([1.0, 2.0, 3.0, 4.0])
    if table.level == "nominal":
        return (x[:, None] != x[None, :]).astype(float)
    if table.level == "ordinal":
        pairable = np.bincount(table.unit)[table.unit] >= 2
        x = midranks(np.bincount(table.value[pairable], minlength=4))
    if table.level == "ratio":
        return ((x[:, None] - x) / (x[:, None] + x)) ** 2
    return (x[:, None] - x) ** 2


@pytest.mark.parametrize("level", LEVELS)
def test_contributions_equal_their_definition_and_add_up(level: str) -> None:
    table = drawn(level)
    found = disagreement_of(table)
    far = differences(table)
    sizes = np.bincount(table.unit)
    pairable = sizes[table.unit] >= 2
    labels = np.bincount(table.value[pairable], minlength=4)
    n = labels.sum()
    expected = labels @ far @ labels / (n - 1)
    by_hand = np.zeros(len(table))
    for i, j in permutations(range(len(table)), 2):
        if table.unit[i] == table.unit[j]:
            by_hand[i] += far[table.value[i], table.value[j]] / (sizes[table.unit[i]] - 1) / expected
    assert found.contribution == pytest.approx(by_hand, abs=1e-12)
    assert found.coefficient.value == krippendorff_alpha(table).value
    assert found.contribution.sum() == pytest.approx(1 - found.coefficient.value, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_groups_add_up_and_alpha_is_computed_without_each(level: str) -> None:
    table = drawn(level)
    found = disagreement_of(table)
    groups = found.by(table.rater, len(table.raters))
    assert [one.lost for one in groups] == sorted((one.lost for one in groups), reverse=True)
    assert table.raters[max(groups, key=lambda one: one.excess).code] == "r0"
    assert sum(one.part for one in groups) == pytest.approx(1.0)
    assert sum(one.size for one in groups) == pytest.approx(1.0)
    assert sum(one.lost for one in groups) == pytest.approx(1 - found.coefficient.value)
    for one in groups:
        alone = table.only_raters([name for place, name in enumerate(table.raters) if place != one.code])
        assert one.without.value == pytest.approx(krippendorff_alpha(alone).value, abs=1e-12)
        assert one.excess == pytest.approx(one.part / one.size)


def test_only_the_first_groups_are_left_out_in_turn() -> None:
    table = drawn("nominal")
    found = disagreement_of(table).by(table.unit, len(table.units), most=2)
    assert [one.without.defined for one in found[:3]] == [True, True, False]
    assert found[2].without.reason == "not computed"


def test_systems_by_their_names() -> None:
    table = drawn("nominal")
    codes, names = group_codes(
        ["fox" if place % 3 == 0 else "" if place == 1 else "owl" for place in range(30)], table
    )
    found = {names[one.code]: one for one in disagreement_of(table).by(codes, len(names))}
    assert found["fox"].excess > 1 > found["owl"].excess
    assert found["fox"].part + found["owl"].part < 1


@pytest.mark.parametrize(
    ("level", "weights"), [("nominal", None), ("ordinal", "quadratic"), ("interval", "quadratic")]
)
def test_with_a_simulator_it_is_pooled_kappa(level: str, weights: str | None) -> None:
    table = drawn(level)
    found = disagreement_with(table, "r5")
    own = {table.units[u]: v for r, u, v in zip(table.rater, table.unit, table.value, strict=True) if r == 5}
    pairs = [
        (v, own[table.units[u]], r)
        for r, u, v in zip(table.rater, table.unit, table.value, strict=True)
        if r != 5 and table.units[u] in own
    ]

    def kappa(kept: list[tuple[int, int, int]]) -> float:
        return float(
            cohen_kappa_score(
                *zip(*[pair[:2] for pair in kept], strict=True), labels=range(4), weights=weights
            )
        )

    assert found.coefficient.value == pytest.approx(kappa(pairs), abs=1e-12)
    assert found.coefficient.n == len(pairs)
    assert found.contribution.sum() == pytest.approx(1 - found.coefficient.value, abs=1e-12)
    groups = found.by(table.rater, len(table.raters))
    assert sum(one.part for one in groups) == pytest.approx(1.0)
    for one in groups:
        assert one.without.value == pytest.approx(
            kappa([pair for pair in pairs if pair[2] != one.code]), abs=1e-12
        )


def test_undefined_with_its_reason() -> None:
    same = disagreement_of(Ratings.from_rows([("a", "u", "x"), ("b", "u", "x")]))
    assert same.coefficient.reason == "all raters gave the same label"
    assert same.contribution.tolist() == [0.0, 0.0]
    (one, _) = same.by(same.ratings.rater, 2)
    assert np.isnan([one.part, one.lost, one.excess]).all()
    assert one.reason == same.undivided == same.coefficient.reason
    assert one.without.reason == same.coefficient.reason
    two = disagreement_of(Ratings.from_rows([("a", "u", "x"), ("b", "u", "y")]))
    assert two.by(two.ratings.rater, 2)[0].without.reason == "without it, no unit has two ratings"
    alone = disagreement_with(Ratings.from_rows([("a", "u", "x"), ("m", "v", "x")], simulators=["m"]), "m")
    assert alone.coefficient.reason == "no person has rated a unit that the simulator has rated"
    rows = [("a", "u", "x"), ("m", "u", "y"), ("b", "v", "x")]
    only = disagreement_with(Ratings.from_rows(rows, simulators=["m"]), "m")
    (first,) = only.by(only.ratings.rater, 3)
    assert first.without.reason == "without it, no person has rated a unit that the simulator has rated"
    assert not disagreement_of(Ratings.from_rows([])).coefficient.defined
    with pytest.raises(ValueError, match="'z' is not in the table"):
        disagreement_with(same.ratings, "z")


def test_without_any_disagreement_there_are_no_shares() -> None:
    rows = [(rater, unit, unit) for rater in ("a", "b") for unit in ("u", "v")]
    found = disagreement_of(Ratings.from_rows(rows))
    assert found.coefficient.value == 1.0
    assert found.undivided == "no two ratings that can be compared differ"
    for one in found.by(found.ratings.rater, 2):
        assert np.isnan([one.part, one.excess]).all()
        assert one.lost == 0.0
        assert one.reason == found.undivided


def test_with_a_simulator_labels_lie_at_their_scores_as_in_weighted_kappa() -> None:
    table = replace(drawn("ordinal"), scores={"1": 0.0, "2": 1.0, "3": 2.0, "4": 10.0})
    one = table.only_raters(["r0", "r5"])
    shared = [unit for unit in range(len(one.units)) if (one.unit == unit).sum() == 2]
    one = one.where(np.isin(one.unit, shared))
    found = disagreement_with(one, "r5")
    kappa = pairwise_kappa(one, weights="quadratic").pair("r0", "r5")
    assert found.coefficient.value == pytest.approx(kappa.value, abs=1e-12)
