import numpy as np
import pytest
from scipy import stats

from evaluation.metrics import (
    annotator_ceiling,
    mean_over_systems,
    task_accuracy,
    within_instance_correlation,
)


def test_by_hand():
    # a: x 0,1,2 against y 0,2,1: deviations -1,0,1 and -1,1,0 -> r = 1 / 2, ranks the same -> rho = 1/2
    # b: perfectly opposed -> -1; c: y constant; d: one system only
    x = [0, 1, 2, 0, 1, 0, 1, 3]
    y = [0, 2, 1, 5, 4, 2, 2, 1]
    instance = ["a", "a", "a", "b", "b", "c", "c", "d"]
    found = within_instance_correlation(x, y, instance, names=("precision", "plausibility"))
    assert found.pearson.value == pytest.approx((0.5 - 1) / 2)
    assert found.spearman.value == pytest.approx((0.5 - 1) / 2)
    assert found.pearson.n == 2
    assert found.pearson.left_out == {"with fewer than 2 systems": 1, "plausibility is constant": 1}


def test_equals_scipy_instance_by_instance():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, 4, 50) / 3, rng.integers(0, 3, 50) / 2
        instance = rng.integers(0, 10, 50).astype(str)
        x[rng.random(50) < 0.1] = np.nan
        pearson, spearman = [], []
        for name in set(instance):
            a, b = x[instance == name], y[instance == name]
            a, b = a[~np.isnan(a)], b[~np.isnan(a)]
            if len(a) > 1 and np.ptp(a) > 0 and np.ptp(b) > 0:
                pearson.append(stats.pearsonr(a, b)[0])
                spearman.append(stats.spearmanr(a, b)[0])
        found = within_instance_correlation(x, y, list(instance))
        assert found.pearson.value == pytest.approx(np.mean(pearson), abs=1e-12)
        assert found.spearman.value == pytest.approx(np.mean(spearman), abs=1e-12)
        assert found.pearson.n == len(pearson)


def test_order_scale_and_sides_change_nothing():
    rng = np.random.default_rng(0)
    x, y, instance = rng.random(60), rng.random(60), rng.integers(0, 12, 60).astype(str)
    base = within_instance_correlation(x, y, list(instance), rng=np.random.default_rng(1)).pearson
    order = rng.permutation(60)
    moved = within_instance_correlation(
        x[order], y[order], list(instance[order]), rng=np.random.default_rng(1)
    ).pearson
    scaled = within_instance_correlation(y * 7 + 3, x, list(instance), rng=np.random.default_rng(1)).pearson
    for other in (moved, scaled):
        assert (other.value, other.low, other.high) == pytest.approx((base.value, base.low, base.high))


def test_rounding_noise_is_not_a_difference():
    x = [(1 + 0.5 + 0) / 3, (0.5 + 0.5 + 0.5) / 3, 0.1 + 0.2 + 0.2]
    found = within_instance_correlation(x, [1, 2, 3], ["a"] * 3)
    assert found.pearson.left_out == {"x is constant": 1}


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_undefined_everywhere(rows):
    found = within_instance_correlation(
        [1.0] * rows, [1.0] * rows, ["a"] * rows, rng=np.random.default_rng(0)
    )
    assert not found.pearson.defined
    assert "different values" in found.pearson.reason


def test_wrong_shape_is_named():
    with pytest.raises(ValueError, match=r"x .*y .*instance"):
        within_instance_correlation([1, 2], [1], ["a", "a"])


def test_annotator_ceiling_by_hand():
    # instance x, systems s t u: ann 1, .5, 0; bob 1, 0, .5 (r = .5 with ann); cat all 1 (constant with both)
    scores = [1, 0.5, 0, 1, 0, 0.5, 1, 1, 1]
    rater = ["ann"] * 3 + ["bob"] * 3 + ["cat"] * 3
    found = annotator_ceiling(scores, rater, ["x"] * 9, ["s", "t", "u"] * 3)
    assert found.pearson.value == pytest.approx(0.5)
    assert found.pearson.n == 1
    assert sum(found.pearson.left_out.values()) == 2


def test_annotator_ceiling_weighs_instances_alike_whatever_their_raters():
    # x: three raters, all pairs agree fully (3 pairs of r = 1); y: two raters, opposed (one pair of r = -1)
    rows = [(r, "x", s, v) for r in "abc" for s, v in (("s", 1), ("t", 0))]
    rows += [("a", "y", "s", 1), ("a", "y", "t", 0), ("b", "y", "s", 0), ("b", "y", "t", 1)]
    rater, instance, system, scores = zip(*rows, strict=True)
    found = annotator_ceiling(scores, rater, instance, system, rng=np.random.default_rng(0))
    assert found.pearson.value == pytest.approx(0.0)
    turned = annotator_ceiling(scores, [{"a": "z", "b": "y", "c": "x"}[r] for r in rater], instance, system)
    assert turned.pearson.value == pytest.approx(found.pearson.value)


def test_annotator_ceiling_degenerate():
    assert not annotator_ceiling([], [], [], []).pearson.defined
    assert not annotator_ceiling([1, 0], ["a", "a"], ["x", "x"], ["s", "t"]).pearson.defined
    with pytest.raises(ValueError, match="twice"):
        annotator_ceiling([1, 0], ["a", "a"], ["x", "x"], ["s", "s"])


def test_task_accuracy_by_hand():
    found = task_accuracy(
        ["yes", "no", "yes", ""], ["yes", "yes", "yes", "no"], ["x", "y", "x", "y"], ["a", "a", "b", "b"]
    )
    assert found.systems["a"].value == 0.5
    assert found.systems["b"].value == 1.0
    assert found.systems["b"].left_out == {"not defined": 1}
    assert found.mean.value == 0.75


def test_mean_over_systems_is_the_published_row():
    # Chen et al. 2024, Table 6: 79.8 and 89.0 are the unweighted means of Table 4's cells
    for cells, printed in (([77.3, 76.8, 81.1, 83.9], 79.8), ([86.3, 85.2, 93.0, 91.5], 89.0)):
        found = mean_over_systems(cells, ["x"] * 4, ["1", "2", "3", "4"])
        assert round(found.mean.value, 1) == printed


def test_mean_over_systems_of_nothing_is_undefined():
    assert not mean_over_systems([], [], []).mean.defined
    assert not mean_over_systems([float("nan")], ["x"], ["s"]).mean.defined
