"""Kendall's W and mean tau-b: against scipy, with ties and missing raters, degenerate tables."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, kendalltau, rankdata

from evaluation.agreement import Ratings
from evaluation.agreement.ranking_agreement import kendall_w, ranking_agreement


def as_value(scores) -> str:
    """Scores (low is best) of the options o0, o1, ... as a ranking with its ties."""
    groups = [[f"o{place}" for place in np.flatnonzero(scores == one)] for one in np.unique(scores)]
    return json.dumps([group if len(group) > 1 else group[0] for group in groups])


def drawn_units(seed, *, units=20, highest=6):
    """Scores of 20 units, with ties; scipy has no tau-b for a rater who ties all options."""
    rng = np.random.default_rng(seed)
    while units:
        scores = rng.integers(0, highest, size=(int(rng.integers(3, 6)), int(rng.integers(3, 6))))
        if (np.ptp(scores, axis=1) > 0).all():
            units -= 1
            yield scores


@pytest.mark.parametrize("seed", range(8))
def test_against_scipy(seed):
    """W is Friedman's chi-squared over m (k - 1), which scipy corrects for ties."""
    rows, w, tau = [], [], []
    for number, scores in enumerate(drawn_units(seed)):
        raters, options = scores.shape
        rows += [(f"r{rater}", f"u{number}", as_value(one)) for rater, one in enumerate(scores)]
        w.append(friedmanchisquare(*scores.T).statistic / (raters * (options - 1)))
        tau.append(np.mean([kendalltau(a, b).statistic for a, b in combinations(scores, 2)]))
        own = kendall_w([rankdata(one) for one in scores])
        assert own.value == pytest.approx(w[-1], abs=1e-8)
        assert own.n == raters
    found = ranking_agreement(Ratings.from_rows(rows))
    assert found.w.value == pytest.approx(np.mean(w), abs=1e-8)
    assert found.tau_b.value == pytest.approx(np.mean(tau), abs=1e-8)
    assert found.w.n == found.tau_b.n == 20


def test_the_formula_with_ties():
    """Kendall's form, with T counted from groups of tied options."""
    ranks = np.array([[1, 2.5, 2.5, 4], [1.5, 1.5, 3.5, 3.5], [4, 2, 2, 2]])
    m, k = ranks.shape
    ties = [2**3 - 2, 2 * (2**3 - 2), 3**3 - 3]
    top = 12 * (ranks.sum(axis=0) ** 2).sum() - 3 * m**2 * k * (k + 1) ** 2
    assert kendall_w(ranks).value == pytest.approx(top / (m**2 * (k**3 - k) - m * sum(ties)), abs=1e-12)


def test_units_that_cannot_be_compared_are_left_out_and_counted():
    rows = [
        ("a", "u", '["x", "y"]'), ("b", "u", '["x", "y"]'),
        ("a", "v", '["x", "y"]'), ("b", "v", '["x", "z"]'),
        ("a", "w", '["x", "y"]'),
        ("a", "t", '[["x", "y"]]'), ("b", "t", '[["x", "y"]]'),
    ]  # fmt: skip
    found = ranking_agreement(Ratings.from_rows(rows))
    assert found.w.value == found.tau_b.value == 1.0
    assert found.w.n == 1
    assert found.w.left_out == {
        "units with a single rating": 1,
        "units whose raters ranked different options": 1,
        "units whose rankings tie all options": 1,
    }


def test_a_rater_who_ties_all_options_counts_for_w_alone():
    rows = [("a", "u", '["x", "y"]'), ("b", "u", '["x", "y"]'), ("c", "u", '[["x", "y"]]')]
    found = ranking_agreement(Ratings.from_rows(rows))
    assert found.tau_b.value == 1.0
    assert found.w.value == pytest.approx(2 / 3)


def test_undefined_with_its_reason():
    assert kendall_w([[1, 2]]).reason.startswith("no unit has two rankings")
    assert kendall_w([[1.5, 1.5], [1.5, 1.5]]).reason == "every ranking ties all options"
    one = ranking_agreement(Ratings.from_rows([("a", "u", '["x"]'), ("b", "u", '["x"]')]))
    assert one.w.reason.startswith("no unit has two rankings")
    assert not ranking_agreement(Ratings.from_rows([])).tau_b.defined
    with pytest.raises(ValueError, match="none may be missing"):
        kendall_w([[1, np.nan], [1, 2]])


@pytest.mark.parametrize("text", ['["a", "a"]', "[]", '["a", ["a"]]', '[["a", []]]', "a > b", '["a", []]'])
def test_what_is_no_ranking_is_refused(text):
    with pytest.raises(ValueError, match="expected a JSON list of different keys, the best first"):
        ranking_agreement(Ratings.from_rows([("a", "u", text)]))


def test_intervals_over_instances():
    rng = np.random.default_rng(0)
    rows = [
        (f"r{rater}", f"u{unit}", as_value(np.arange(4) + rng.normal(0, 1.5, 4)))
        for unit in range(40)
        for rater in range(3)
    ]
    table = Ratings.from_rows(rows, cluster_of={f"u{unit}": str(unit // 2) for unit in range(40)})
    found = ranking_agreement(table, rng=np.random.default_rng(0), replicates=200)
    for one in (found.w, found.tau_b):
        assert one.low < one.value < one.high
        assert "20 instances" in one.interval


def test_tau_b_has_its_own_counts_and_its_own_reason():
    """In u one rater ties all options: W is defined there, tau-b isn't."""
    tied, order = '[["x", "y"]]', '["x", "y"]'
    u = [("a", "u", tied), ("b", "u", order)]
    found = ranking_agreement(Ratings.from_rows(u))
    assert found.w.defined
    assert found.w.left_out == {}
    assert found.tau_b.reason == "no unit has two rankings that don’t tie all options"
    assert found.tau_b.left_out == {"units without two rankings that don’t tie all options": 1}
    more = ranking_agreement(Ratings.from_rows([*u, ("a", "v", order), ("b", "v", order)]))
    assert (more.w.n, more.tau_b.n) == (2, 1)
    assert more.w.left_out == {}
    assert more.tau_b.left_out == {"units without two rankings that don’t tie all options": 1}


def test_units_with_a_single_option_are_left_out_and_counted():
    rows = [("a", "u", '["x"]'), ("b", "u", '["x"]'), ("a", "v", '["x", "y"]'), ("b", "v", '["x", "y"]')]
    found = ranking_agreement(Ratings.from_rows(rows))
    assert found.w.n == found.tau_b.n == 1
    assert found.w.left_out == found.tau_b.left_out == {"units with a single option": 1}
