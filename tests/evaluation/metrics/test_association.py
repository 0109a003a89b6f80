import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import mutual_info_score

from evaluation.metrics import correlation_ratio, theils_u


def test_theils_u_by_hand():
    # x: a a b b; y: p p p q. H(x) = ln 2. Given p (3/4): a 2/3, b 1/3; given q: b for sure.
    h_given = 3 / 4 * -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    expected = (math.log(2) - h_given) / math.log(2)
    assert theils_u(list("aabb"), list("pppq")).value == pytest.approx(expected)
    assert theils_u(list("aabb"), list("pppq")).n == 4


def test_theils_u_direction_matters():
    x, y = list("aabbcc"), list("ppppqq")
    assert theils_u(y, x).value == pytest.approx(1.0)  # x determines y
    assert theils_u(x, y).value < 1.0


def test_theils_u_is_mutual_information_over_entropy():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 4, 80).astype(str).tolist()
        y = rng.integers(0, 3, 80).astype(str).tolist()
        counts = np.unique(x, return_counts=True)[1]
        expected = mutual_info_score(x, y) / stats.entropy(counts)
        assert theils_u(x, y).value == pytest.approx(expected, abs=1e-12)


def test_theils_u_is_undefined_without_entropy_never_one():
    found = theils_u(["a", "a"], ["p", "q"], rng=np.random.default_rng(0))
    assert math.isnan(found.value)
    assert "no entropy" in found.reason
    assert theils_u(["a", "b"], ["p", "p"]).value == 0.0  # y tells nothing, which is a fact about x
    assert not theils_u([], []).defined


def test_theils_u_leaves_out_and_counts_missing_pairs():
    found = theils_u(["a", "b", None], ["p", "q", "p"])
    assert (found.value, found.n, found.left_out) == (1.0, 2, {"without a label": 1})


def test_theils_u_ignores_row_order_and_names():
    rng = np.random.default_rng(0)
    x, y = rng.choice(list("abc"), 60), rng.choice(list("pq"), 60)
    clusters = rng.integers(0, 15, 60).astype(str)
    order = rng.permutation(60)
    base = theils_u(x.tolist(), y.tolist(), clusters=clusters.tolist(), rng=np.random.default_rng(1))
    moved = theils_u(
        x[order].tolist(), y[order].tolist(), clusters=clusters[order].tolist(), rng=np.random.default_rng(1)
    )
    renamed = theils_u(
        [{"a": "z", "b": "y", "c": "x"}[v] for v in x],
        y.tolist(),
        clusters=clusters.tolist(),
        rng=np.random.default_rng(1),
    )
    for other in (moved, renamed):
        assert (other.value, other.low, other.high) == pytest.approx((base.value, base.low, base.high))


def test_correlation_ratio_by_hand():
    # a: 1, 3 (mean 2); b: 5, 7 (mean 6); mean 4. Between 2*4 + 2*4 = 16, total 9+1+1+9 = 20
    assert correlation_ratio(list("aabb"), [1, 3, 5, 7]).value == pytest.approx(math.sqrt(16 / 20))


def test_correlation_ratio_squared_is_the_anova_share():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        category, value = rng.integers(0, 3, 60).astype(str), rng.normal(1000, 1, 60)
        f, _ = stats.f_oneway(*[value[category == c] for c in np.unique(category)])
        expected = math.sqrt(2 * f / (2 * f + 57))  # eta^2 = df1 F / (df1 F + df2)
        assert correlation_ratio(category.tolist(), value).value == pytest.approx(expected, abs=1e-9)


def test_correlation_ratio_undefined_and_missing():
    assert correlation_ratio(["a", "b"], [2.0, 2.0]).reason == "all values are the same"
    assert correlation_ratio(["a", "a"], [1.0, 2.0]).value == 0.0
    found = correlation_ratio(["a", "b", None, "b"], [1.0, 2.0, 5.0, math.nan])
    assert (found.n, found.left_out) == (2, {"without a category or value": 2})
    with pytest.raises(ValueError, match="category, value"):
        correlation_ratio(["a"], [1.0, 2.0])


def test_correlation_ratio_ignores_order_and_a_change_of_unit():
    rng = np.random.default_rng(0)
    category, value = rng.choice(list("abc"), 40), rng.random(40)
    order = rng.permutation(40)
    base = correlation_ratio(category.tolist(), value)
    assert correlation_ratio(category[order].tolist(), value[order] * 9 - 4).value == pytest.approx(
        base.value
    )


def test_intervals_hold_the_value_and_clusters_widen_them():
    rng = np.random.default_rng(3)
    instance = np.repeat(np.arange(40), 5)
    x = np.repeat(rng.choice(list("ab"), 40), 5)  # five identical rows an instance
    y = np.repeat([{"a": "p", "b": "q"}[v] if rng.random() < 0.8 else "p" for v in x[::5]], 5)
    wide = theils_u(
        x.tolist(), y.tolist(), clusters=instance.astype(str).tolist(), rng=np.random.default_rng(0)
    )
    narrow = theils_u(x.tolist(), y.tolist(), rng=np.random.default_rng(0))
    assert wide.low < wide.value < wide.high
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
