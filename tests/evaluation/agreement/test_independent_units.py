"""Intervals of independent units: exact coverage over all shares, other implementations, and which tables have them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, t
from statsmodels.stats.proportion import proportion_confint

from benchmarks.validation.attainable import attainable, mid_p_covers
from evaluation.agreement import Ratings
from evaluation.agreement.count_agreement import count_agreement
from evaluation.agreement.independent_units import independent_units, two_labels
from evaluation.agreement.intervals import replicate_counts
from evaluation.agreement.kappa_agreement import kappa_agreement
from evaluation.agreement.krippendorff import krippendorff_alpha
from evaluation.core.interval import mid_p_interval, score_interval
from tests.evaluation.agreement.simulate import KAPPA_DESIGNS


def table(units: int = 20, raters: int = 3, labels: str = "xy") -> Ratings:
    """Ratings of which most agree; those of every fourth unit differ."""
    rows = [
        (f"r{rater}", f"u{unit:02}", labels[(unit // 2 + (rater if unit % 4 == 0 else 0)) % len(labels)])
        for unit in range(units)
        for rater in range(raters)
    ]
    return Ratings.from_rows(rows)


def coverage(ends: list[tuple[float, float]], shares: np.ndarray) -> np.ndarray:
    """The exact coverage, at each share, of the intervals of the counts 0, 1, ..."""
    low, high = np.array(ends).T
    n = len(ends) - 1
    inside = (low <= shares[:, None]) & (shares[:, None] <= high)
    return (binom.pmf(np.arange(n + 1), n, shares[:, None]) * inside).sum(axis=1)


@pytest.mark.parametrize("n", [15, 20, 30, 50, 60])
def test_the_mid_p_interval_covers_95_percent_on_average_and_92_to_98_everywhere(n: int) -> None:
    found = coverage([mid_p_interval(count, n) for count in range(n + 1)], np.linspace(3 / n, 1 - 3 / n, 401))
    assert 0.95 <= found.mean() <= 0.958
    assert found.min() >= 0.92
    assert found.max() <= 0.983


def test_each_end_of_the_mid_p_interval_leaves_a_fortieth() -> None:
    for n in (8, 20, 500):
        for count in {0, 1, n // 3, n - 1, n}:
            low, high = mid_p_interval(count, n)
            half = binom.pmf(count, n, [low, high]) / 2
            if count > 0:
                assert binom.sf(count, n, low) + half[0] == pytest.approx(0.025, abs=1e-9)
            if count < n:
                assert binom.cdf(count - 1, n, high) + half[1] == pytest.approx(0.025, abs=1e-9)
            assert low <= count / n <= high


@pytest.mark.parametrize(
    ("name", "agree"),
    [
        ("20 units, two raters", 0.59),
        ("15 units, skewed", 0.6875),
        ("30 units, rare label", 0.8847),
        ("50 units, rare label", 0.9123),
        ("60 units, two raters", 0.9042),
    ],
)
def test_percent_agreement_covers_93_to_97_percent_in_the_designs_of_the_grid(
    name: str, agree: float
) -> None:
    """All of a unit's raters agree with this probability, so that the coverage is exact."""
    design = KAPPA_DESIGNS[name]
    right = design.accuracy
    assert np.prod(right) + np.prod(1 - right) == pytest.approx(agree, abs=5e-5)
    n = design.clusters
    (found,) = coverage([mid_p_interval(count, n) for count in range(n + 1)], np.array([agree]))
    assert 0.93 <= found <= 0.97


def test_the_score_interval_of_a_share_is_wilsons() -> None:
    for count, n in ((18, 20), (1, 8), (250, 400)):
        share = count / n
        found = score_interval(share, (share * (1 - share) / n) ** 0.5, bounds=(0.0, 1.0))
        assert found == pytest.approx(proportion_confint(count, n, method="wilson"), abs=1e-12)
    # On other bounds it is the same interval, moved and stretched.
    low, high = score_interval(0.5, 0.1, bounds=(-0.5, 1.0))
    share = score_interval(2 / 3, 0.1 / 1.5, bounds=(0.0, 1.0))
    assert (low, high) == pytest.approx([1.5 * end - 0.5 for end in share], abs=1e-12)


def test_the_score_interval_stays_inside_and_includes_the_value() -> None:
    for value in (-0.49, 0.0, 0.99, 1.0):
        for bias in (-0.2, 0.0, 0.2):
            low, high = score_interval(value, 0.3, bounds=(-0.5, 1.0), bias=bias)
            assert -0.5 <= low <= value <= high <= 1.0
    wide = score_interval(0.2, 0.1, bounds=(-1.0, 1.0), degrees_of_freedom=7)
    narrow = score_interval(0.2, 0.1, bounds=(-1.0, 1.0))
    assert t.ppf(0.975, 7) > 1.96
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize("raters", [2, 3, 5])
def test_alpha_has_the_least_value_that_the_score_interval_has(raters: int) -> None:
    """Of many units on each of which all raters give another label."""
    rows = [(f"r{rater}", f"u{unit:04}", f"l{rater}") for unit in range(2_000) for rater in range(raters)]
    found = independent_units(Ratings.from_rows(rows))
    assert found is not None
    assert krippendorff_alpha(Ratings.from_rows(rows)).value == pytest.approx(found.bounds[0], abs=1e-3)


def kinds(ratings: Ratings) -> dict[str, str]:
    """How the intervals were made."""
    found = count_agreement(ratings, np.random.default_rng(0), 100, new_raters=False)
    names = ("percent_agreement", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1")
    estimates = {name: getattr(found, name) for name in names} | {
        "conger": found.further["conger_kappa"],
        "kappa": kappa_agreement(ratings, "nominal", 10, (), intervals=True, new_raters=False).mean["all"],
    }
    for name, one in estimates.items():
        assert one.low <= one.value <= one.high, name
    return {name: one.interval.split(" interval")[0] for name, one in estimates.items()}


def test_which_tables_have_these_intervals() -> None:
    score, jackknife = "95 % score", "95 % jackknife score"
    two = {
        "percent_agreement": "95 % mid-P", "krippendorff_alpha": score, "fleiss_kappa": score, "gwet_ac1": score,
        "conger": jackknife, "kappa": jackknife,
    }  # fmt: skip
    assert kinds(table()) == two
    assert kinds(table(raters=4)) == two | {"percent_agreement": "95 % t"}
    plain = {name: kind.replace("score", "t").replace("mid-P", "t") for name, kind in two.items()}
    assert kinds(table(labels="xyz", units=40)) == plain
    # Two raters agree or don't, whatever the labels.
    assert kinds(table(labels="xyz", units=40, raters=2)) == plain | {"percent_agreement": "95 % mid-P"}
    instances = (np.arange(40) // 2).astype(np.int32)
    assert kinds(replace(table(units=40), clusters=instances)) == plain


def test_with_raters_like_these_intervals_are_t_intervals() -> None:
    ratings = table(units=40, raters=6)
    found = count_agreement(ratings, np.random.default_rng(0), 100, new_raters=True)
    assert found.krippendorff_alpha.interval.startswith("95 % t interval")
    assert found.further["conger_kappa"].interval.startswith("95 % jackknife t interval")


def test_full_agreement_has_an_interval_of_percent_agreement() -> None:
    rows = [(rater, f"u{unit:02}", "xy"[unit % 2]) for unit in range(20) for rater in "ab"]
    ratings = Ratings.from_rows(rows)
    drawn = replicate_counts(ratings, rng=np.random.default_rng(0), replicates=100)
    point = count_agreement(ratings, None, 0, new_raters=False).percent_agreement
    found = drawn.add_interval("percent_agreement", point)
    assert (found.low, found.high) == (
        pytest.approx(0.05 ** (1 / 20)),
        1.0,
    )  # half of the probability is .025


def test_units_that_nobody_or_one_rated_do_not_count() -> None:
    rows = [("a", "u", "x"), ("b", "u", "y"), ("a", "v", "z")]
    found = two_labels(Ratings.from_rows(rows))
    assert found is not None
    assert (found.labels, found.units, found.agreeing) == (2, 1, 0)
    assert independent_units(Ratings.from_rows(rows[2:])) is None


def test_no_interval_is_near_95_percent_if_one_unit_with_a_label_is_expected() -> None:
    below, above = attainable(200, 0.005)
    assert below < 0.93
    assert above > 0.97
    # Other designs of the grid could have one.
    for units, share in ((20, 0.1), (50, 0.05), (50, 0.03), (30, 0.05), (500, 0.003)):
        assert any(0.93 <= one <= 0.97 for one in attainable(units, share)), (units, share)


def test_the_exact_interval_of_a_rare_share_covers_too_often_where_two_units_are_expected() -> None:
    """Ten good raters show nearly which units have the label, and alpha's interval includes the truth for as many of them as the exact one."""
    found = mid_p_covers(40, 0.05)
    assert found == pytest.approx(binom.cdf(5, 40, 0.05), abs=1e-12)
    assert found > 0.98
    # Of four expected units there are enough values.
    assert 0.93 <= mid_p_covers(80, 0.05) <= 0.97
    right = KAPPA_DESIGNS["40 units, ten raters"], KAPPA_DESIGNS["80 units, ten raters"]
    assert [(design.clusters, min(design.prevalence)) for design in right] == [(40, 0.05), (80, 0.05)]
