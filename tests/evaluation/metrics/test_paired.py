import math

import numpy as np
import pytest
from scipy import stats

from evaluation.metrics import all_pairs, compare_systems, normal_against_forced, paired_difference
from tests.evaluation.metrics.factories import GUESS, followups


def values(rng, n=40, shift=0.0):
    return {f"x{i}": float(v) for i, v in enumerate(rng.random(n) + shift)}


def test_by_hand():
    # shared: x (1 - .5), y (.5 - .5), w (1 - 0); mean 1.5 / 3
    first = {"x": 1.0, "y": 0.5, "w": 1.0, "v": math.nan}
    second = {"x": 0.5, "y": 0.5, "w": 0.0, "v": 1.0, "u": 0.0}
    found = paired_difference(first, second, rng=np.random.default_rng(0))
    assert found.difference.value == pytest.approx(0.5)
    assert found.first_mean.value - found.second_mean.value == pytest.approx(0.5)
    assert found.difference.left_out == {"instances that one of the two lacks": 2}
    assert found.p_permutation == pytest.approx(0.5)  # of 2^2 ways to swap x and w, two reach |.5|


@pytest.mark.parametrize("seed", range(5))
def test_the_t_test_equals_scipys_and_the_permutation_p_is_close(seed):
    rng = np.random.default_rng(seed)
    first, second = values(rng, shift=0.15), values(rng)
    found = paired_difference(first, second, rng=rng)
    expected = stats.ttest_rel(list(first.values()), list(second.values())).pvalue
    assert found.p_t == pytest.approx(expected)
    assert found.p_permutation == pytest.approx(expected, abs=0.03)


def test_swapping_the_two_turns_the_sign_only():
    rng = np.random.default_rng(3)
    first, second = values(rng, shift=0.1), values(rng)
    one = paired_difference(first, second, rng=np.random.default_rng(0))
    two = paired_difference(second, first, rng=np.random.default_rng(0))
    assert two.difference.value == pytest.approx(-one.difference.value)
    assert two.difference.low == pytest.approx(-one.difference.high)
    assert two.p_t == pytest.approx(one.p_t)
    turned = paired_difference(dict(reversed(first.items())), second, rng=np.random.default_rng(0))
    assert turned == one


def test_degenerate():
    nothing = paired_difference({"x": 1.0}, {"y": 1.0}, rng=np.random.default_rng(0))
    assert not nothing.difference.defined
    assert math.isnan(nothing.p_permutation)
    same = paired_difference({"x": 1.0, "y": 0.0}, {"x": 1.0, "y": 0.0}, rng=np.random.default_rng(0))
    assert same.difference.value == 0.0
    assert same.p_permutation == 1.0
    assert math.isnan(same.p_t)


def test_holm_over_all_pairs():
    rng = np.random.default_rng(1)
    systems = {"a": values(rng, shift=0.2), "b": values(rng), "c": values(rng)}
    found = all_pairs(systems, rng=rng)
    assert [(d.first, d.second) for d in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    ordered = sorted(found, key=lambda d: d.p_permutation)
    assert ordered[0].p_holm == pytest.approx(min(1.0, 3 * ordered[0].p_permutation))
    assert all(d.p_holm >= d.p_permutation for d in found)


def study(rng, instances=60, normal=0.85, forced=0.4):
    rows = []
    for x in range(instances):
        for system, right in (("normal", normal), ("forced", forced)):
            for _ in range(5):
                label = rng.choice(["yes", "no", GUESS], p=[0.4, 0.4, 0.2])
                other = {"yes": "no", "no": "yes"}.get(label, "yes")
                rows.append(
                    (f"e{x}{system}", f"x{x}", system, label, label if rng.random() < right else other)
                )
    return followups([(e, x, s, v, "yes" if r == GUESS else r) for e, x, s, v, r in rows])


def test_forced_explanations_are_distinguished_as_in_the_paper():
    # Chen et al. 2024, Table 2: 83.4 against 38.2, difference 45.2, p < 1e-16
    rng = np.random.default_rng(0)
    table = study(rng, 150, 0.834, 0.382)
    right = {f"x{i}" for i in range(120)}
    found = normal_against_forced(table, "normal", "forced", right, rng=rng)
    assert found.difference.value == pytest.approx(0.452, abs=0.08)
    assert found.difference.low > 0.35
    assert found.p_permutation < 0.001
    assert found.p_t < 1e-16
    assert found.difference.left_out["instances not answered correctly under normal prompting"] == 30
    assert found.difference.n == 120 - found.difference.left_out.get(
        "instances without a precision under both", 0
    )


def test_forced_needs_both_systems():
    with pytest.raises(ValueError, match="normal, forced: no follow-ups of z"):
        normal_against_forced(
            study(np.random.default_rng(0), 3), "normal", "z", {"x0"}, rng=np.random.default_rng(0)
        )
    none_right = normal_against_forced(
        study(np.random.default_rng(0), 3), "normal", "forced", set(), rng=np.random.default_rng(0)
    )
    assert not none_right.difference.defined


def test_systems_are_compared_on_common_instances_only():
    rng = np.random.default_rng(2)
    table = study(rng, 40)
    found = compare_systems(table, rng=rng)
    assert [(d.first, d.second) for d in found.differences] == [("forced", "normal")]
    difference = found.differences[0].difference
    assert difference.n == found.instances
    gap = found.common["forced"].precision.value - found.common["normal"].precision.value
    assert difference.value == pytest.approx(gap)  # one explanation a system and instance: the same mean
    assert compare_systems(table).differences == ()


def test_hundred_null_studies_reject_rarely():
    rng, rejected = np.random.default_rng(7), 0
    for _ in range(100):
        ease = rng.random(30)
        first, second = (
            {f"x{i}": float(v) for i, v in enumerate(ease + rng.normal(0, 0.2, 30))} for _ in "ab"
        )
        rejected += (
            paired_difference(first, second, rng=rng, replicates=20, permutations=499).p_permutation <= 0.05
        )
    assert rejected <= 12  # 5 expected; more than 12 has a chance of .0005
