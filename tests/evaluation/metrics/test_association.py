import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import mutual_info_score

from evaluation.metrics import chance_u, correlation_ratio, theils_u


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
    x, y = rng.choice(list("abc"), 120), rng.choice(list("pq"), 120)
    clusters = rng.integers(0, 15, 120).astype(str)
    order = rng.permutation(120)
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
    assert base.low < base.value < base.high
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


def dependent(
    rng: np.random.Generator, n: int, strength: float, columns: int = 2
) -> tuple[list[str], list[str]]:
    """Three labels and ``columns`` others, of which a share ``strength`` of the pairs goes together."""
    x = rng.integers(0, 3, n)
    y = np.where(rng.random(n) < strength, np.minimum(x, columns - 1), rng.integers(0, columns, n))
    return x.astype(str).tolist(), y.astype(str).tolist()


def true_u(strength: float) -> float:
    table = np.full((3, 2), (1 - strength) / 6)
    table[[0, 1, 2], [0, 1, 1]] += strength / 3
    h = lambda p: -(p[p > 0] * np.log(p[p > 0])).sum()  # noqa: E731
    return float((h(table.sum(axis=1)) + h(table.sum(axis=0)) - h(table.ravel())) / h(table.sum(axis=1)))


@pytest.mark.parametrize("strength", [0.0, 0.1, 0.3, 0.8])
def test_intervals_of_small_and_large_u_cover(strength: float) -> None:
    """100 studies of 150 pairs, 95 expected; a logit interval near 0 reached beyond .5 in a fifth of them."""
    hits, widest = 0, 0.0
    for number in range(100):
        rng = np.random.default_rng([4, number])
        found = theils_u(*dependent(rng, 150, strength), rng=rng, replicates=200)
        assert 0 <= found.low <= found.value <= found.high <= 1
        hits += found.low <= true_u(strength) <= found.high
        widest = max(widest, found.high - found.low)
    assert hits >= 88  # fewer than 88 have a chance of .002
    assert widest < 0.45


def test_chance_alone_makes_u_positive() -> None:
    rng = np.random.default_rng(1)
    x, y = dependent(rng, 60, 0.0)
    found, p = chance_u(x, y, rng=rng)
    # the likelihood ratio statistic 2 n H(x) U has a chi-square's mean, (3 - 1) (2 - 1), where nothing is associated
    entropy = stats.entropy(np.unique(x, return_counts=True)[1])
    assert found.value == pytest.approx(2 / (2 * 60 * entropy), rel=0.15)
    assert p == pytest.approx(
        stats.chi2_contingency(crossed(x, y), lambda_="log-likelihood", correction=False).pvalue, abs=0.05
    )
    assert chance_u(*dependent(rng, 60, 0.9), rng=rng)[1] < 0.002
    assert chance_u(["a", "a"], ["p", "q"], rng=rng)[0].reason.startswith("x has no entropy")


def crossed(x: list[str], y: list[str]) -> np.ndarray:
    return np.array(
        [
            [sum(a == i and b == j for a, b in zip(x, y, strict=True)) for j in sorted(set(y))]
            for i in sorted(set(x))
        ]
    )


def test_no_interval_where_the_table_is_sparse_or_everything_is_known() -> None:
    rng = np.random.default_rng(2)
    few = theils_u(*dependent(rng, 60, 0.5), rng=rng, replicates=100)
    assert few.interval == "none: at least 90 cases are needed for 6 combinations of labels, found 60"
    x = ["a", "b"] * 50
    same = theils_u(x, x, rng=rng, replicates=100)
    assert (same.value, same.interval) == (1.0, "none: the pairs do not vary")
    apart = correlation_ratio(x, [1.0 if label == "a" else 3.0 for label in x], rng=rng, replicates=100)
    assert (apart.value, apart.interval) == (1.0, "none: the values do not vary")


@pytest.mark.parametrize("effect", [0.0, 0.3, 1.0])
def test_intervals_of_the_correlation_ratio_cover(effect: float) -> None:
    hits = 0
    centres = np.array([-1.0, 0.0, 1.0]) * effect
    truth = float((centres.var() / (centres.var() + 1)) ** 0.5)
    for number in range(100):
        rng = np.random.default_rng([5, number])
        category = rng.integers(0, 3, 120)
        values = centres[category] + rng.normal(size=120)
        found = correlation_ratio(category.astype(str).tolist(), values, rng=rng, replicates=200)
        assert 0 <= found.low <= found.value <= found.high <= 1
        hits += found.low <= truth <= found.high
    assert hits >= 88


def test_one_label_throughout_has_a_u_of_zero_by_chance_too() -> None:
    found, p = chance_u(["a", "b"] * 5, ["p"] * 10, rng=np.random.default_rng(0))
    assert (found.value, found.n, p) == (0.0, 10, 1.0)
