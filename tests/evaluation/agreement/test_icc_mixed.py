"""Intraclass correlations of unbalanced raters: statsmodels' mixed model, the balanced forms, dense matrices, odd tables."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.agreement import Ratings, intraclass_correlation, mixed_correlation, summarize
from evaluation.agreement.icc import FORMS, NOT_INDEPENDENT
from evaluation.agreement.icc_mixed import ALL_AGREE, AT_ZERO, EXACT, MOST_RATERS, SAME_RATERS, is_unbalanced
from evaluation.agreement.output_text import as_text
from tests.evaluation.agreement.simulate_numbers import NumberDesign
from tests.evaluation.agreement.tables import SHROUT_FLEISS, random_matrices, ratings_of
from tests.evaluation.agreement.unbalanced import of_statsmodels, one_way_of_statsmodels, unbalanced

VALIDATION = Path(__file__).parents[3] / "benchmarks" / "validation"
NOT_ALL = NumberDesign(60, 1, 6, 3, points=0)


@pytest.mark.parametrize("seed", [1, 2])
def test_against_statsmodels(seed):
    """The restricted likelihood to 1e-8 of itself; the correlations as far as its search for the greatest one ends."""
    rows = unbalanced(seed)
    theirs = of_statsmodels(rows)
    rater, unit = (float(part) for part in theirs.vcomp)
    found = mixed_correlation(Ratings.from_rows(rows, level="interval"))
    assert found.deviance == pytest.approx(-2 * theirs.llf, rel=1e-8)
    assert found.deviance <= -2 * theirs.llf + 1e-9
    expected = {"ICC(2,1)": unit / (unit + rater + theirs.scale), "ICC(3,1)": unit / (unit + theirs.scale)}
    for form, value in expected.items():
        assert found.forms[form].value == pytest.approx(value, abs=1e-8), form
        assert found.jackknife[form].value == found.forms[form].value
    assert [sd**2 for sd in found.sds] == pytest.approx([unit, rater, theirs.scale], abs=1e-6)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_one_way_model_against_statsmodels(seed):
    rows = unbalanced(seed)
    theirs = one_way_of_statsmodels(rows)
    unit, rest = float(theirs.cov_re.iloc[0, 0]), float(theirs.scale)
    table = Ratings.from_rows(rows, level="interval")
    found, unnamed = mixed_correlation(table), mixed_correlation(table, named=False)
    assert unnamed.deviance == pytest.approx(-2 * theirs.llf, rel=1e-8)
    for form in ("ICC(1,1)", "ICC(1,k)"):
        assert found.forms[form].value == unnamed.forms[form].value == found.jackknife[form].value
    assert found.forms["ICC(1,1)"].value == pytest.approx(unit / (unit + rest), abs=1e-6)
    assert set(unnamed.forms) == {"ICC(1,1)", "ICC(1,k)"}


def test_forms_of_the_mean_are_the_variance_of_units_in_that_of_their_means():
    """With k the harmonic mean of the numbers of ratings, e / k is the mean variance of the means of units."""
    rows = unbalanced(3)
    table = Ratings.from_rows(rows, level="interval")
    found = mixed_correlation(table)
    each = np.array(list(Counter(unit for _, unit, _ in rows).values()))
    assert found.k == pytest.approx(1 / np.mean(1 / each))
    u, r, e = (sd**2 for sd in found.sds)
    assert found.forms["ICC(2,k)"].value == pytest.approx(u / (u + np.mean((r + e) / each)), abs=1e-12)
    assert found.forms["ICC(3,k)"].value == pytest.approx(u / (u + np.mean(e / each)), abs=1e-12)
    for form in ("ICC(1,k)", "ICC(2,k)", "ICC(3,k)"):
        mean, single = found.jackknife[form], found.jackknife[form.replace("k", "1")]
        for end in ("value", "low", "high"):
            of_one = getattr(single, end)
            stepped = found.k * of_one / (1 + (found.k - 1) * of_one)
            assert getattr(mean, end) == pytest.approx(stepped, abs=1e-12)
        assert mean.interval == f"{single.interval}; k = {found.k:.2f}"
    assert found.forms["ICC(1,1)"].interval == found.forms["ICC(1,k)"].interval == SAME_RATERS
    own = [(f"{r} of {u}", u, y) for r, u, y in rows]  # a rater of its own for each rating
    free = mixed_correlation(Ratings.from_rows(own[:60], level="interval"))
    assert 0 <= free.forms["ICC(1,1)"].low < free.forms["ICC(1,1)"].high
    assert free.forms["ICC(2,1)"].reason.startswith("some raters share no unit")


def test_all_six_forms_of_balanced_raters_are_those_of_pingouin():
    """Recorded with every digit; where a part is negative there, it is 0 here."""
    recorded = json.loads((VALIDATION / "pingouin_icc.json").read_text("utf-8"))["tables"]
    compared = 0
    for case in recorded.values():
        rows = [
            (f"r{r}", f"u{u}", str(number))
            for r, line in enumerate(case["ratings"])
            for u, number in enumerate(line)
        ]
        found = mixed_correlation(Ratings.from_rows(rows, level="interval"), intervals=False)
        squares = intraclass_correlation(Ratings.from_rows(rows, level="interval"), normal=False).forms
        if found.sds is None or min(found.sds) < 1e-3:
            continue
        assert found.k == pytest.approx(len(case["ratings"]))
        for form in FORMS:
            if squares[form].value > 0:
                assert found.forms[form].value == pytest.approx(case["icc"][form], abs=1e-8), form
                compared += 1
    assert compared >= 12


def test_balanced_raters_have_the_mean_squares_correlations():
    compared = 0
    for seed in range(16):
        rng = np.random.default_rng([91, seed])
        raters = int(rng.integers(2, 7))
        table = NumberDesign(int(rng.integers(8, 40)), 1, raters, raters, points=0).draw(rng)
        mixed = mixed_correlation(table, intervals=False)
        squares = intraclass_correlation(table, normal=False).forms
        if mixed.sds is None or min(mixed.sds) < 1e-3:
            continue  # a part is 0 here, and negative there
        for form in ("ICC(2,1)", "ICC(3,1)"):
            assert mixed.forms[form].value == pytest.approx(squares[form].value, abs=1e-8)
        compared += 1
    assert compared > 10
    table = ratings_of(SHROUT_FLEISS, level="interval")
    assert mixed_correlation(table, intervals=False).forms["ICC(2,1)"].value == pytest.approx(
        0.2897637795275591, abs=1e-10
    )


def test_little_variance_between_units_is_found():
    """A search over standard deviations ended at 0, where its slope is 0 whatever the likelihood."""
    table = NumberDesign(4_000, 1, 6, 3, points=0, noise=2.0).draw(np.random.default_rng(5))
    found = mixed_correlation(table, intervals=False)
    assert found.forms["ICC(3,1)"].value == pytest.approx(0.2, abs=0.03)
    assert found.sds[0] == pytest.approx(1, abs=0.1)


def test_the_likelihood_is_that_of_the_whole_matrix():
    """By hand: V = u ZuZu' + r ZrZr' + e I, and -2 log L = log |V| + log |1'V^-1 1| + y'Py + (n - 1) log 2 pi."""
    table = Ratings.from_rows(unbalanced(5, units=12), level="interval")
    found = mixed_correlation(table, intervals=False)
    u, r, e = (sd**2 for sd in found.sds)
    y, one = table.numbers[table.value], np.ones(len(table))

    def same(codes):
        return (codes[:, None] == codes[None, :]).astype(float)

    v = u * same(table.unit) + r * same(table.rater) + e * np.eye(len(table))
    inverse = np.linalg.inv(v)
    info = one @ inverse @ one
    rest = y @ inverse @ y - (one @ inverse @ y) ** 2 / info
    by_hand = np.linalg.slogdet(v)[1] + math.log(info) + rest + (len(table) - 1) * math.log(2 * math.pi)
    assert found.deviance == pytest.approx(by_hand, abs=1e-8)


def test_the_models_interval_is_the_generalized_one_where_raters_are_balanced():
    design = NumberDesign(60, 1, 5, 5, points=0, new_raters=True)
    for seed in range(3):
        table = design.draw(np.random.default_rng(seed))
        mixed, squares = mixed_correlation(table).forms, intraclass_correlation(table).forms
        for form in ("ICC(2,1)", "ICC(3,1)"):
            assert (mixed[form].low, mixed[form].high) == pytest.approx(
                (squares[form].low, squares[form].high), abs=0.02
            )
    assert mixed["ICC(2,1)"].interval == (
        "95 % interval of the mixed model, 60 units, 300 ratings by 5 raters, for new raters too"
    )


def test_the_order_of_rows_and_the_names_do_not_matter():
    rows = unbalanced(7)
    found = mixed_correlation(Ratings.from_rows(rows, level="interval"))
    turned = [(f"z{9 - int(r[1:])}", u, y) for r, u, y in rows[::-1]]
    again = mixed_correlation(Ratings.from_rows(turned, level="interval"))
    moved = [(r, u, f"{3 * float(y) + 10:.6f}") for r, u, y in rows]
    scaled = mixed_correlation(Ratings.from_rows(moved, level="interval"))
    for other in (again, scaled):
        for form in found.forms:
            assert other.forms[form].value == pytest.approx(found.forms[form].value, abs=1e-8)
            assert other.forms[form].low == pytest.approx(found.forms[form].low, abs=1e-3, nan_ok=True)
            assert other.jackknife[form].high == pytest.approx(found.jackknife[form].high, abs=0.05)


def test_a_summary_has_them_where_raters_are_unbalanced_and_nowhere_else():
    table = NOT_ALL.draw(np.random.default_rng(2))
    summary = summarize(table, rng=np.random.default_rng(0), replicates=40)
    further = summary.everyone.further
    assert not further["icc_2_1"].defined
    for name in ("icc_2_1_mixed", "icc_3_1_mixed", "icc_2_1_mixed_f", "icc_3_1_mixed_f"):
        one = further[name]
        assert 0 < one.low < one.value < one.high < 1, name
    assert further["icc_2_1_mixed"].interval.endswith("20 groups of 60 units, for these raters")
    text = as_text(summary)
    assert f"{further['icc_2_1_mixed'].value:.4f}" in next(
        line for line in text.splitlines() if line.startswith("ICC(2,1), mixed model")
    )
    unnamed = summarize(table, rng=np.random.default_rng(0), replicates=40, named=False).everyone.further
    of_one_way = {"icc_1_1_mixed", "icc_1_1_mixed_f", "icc_1_k_mixed", "icc_1_k_mixed_f"}
    assert {name for name in unnamed if "mixed" in name} == of_one_way
    assert {f"icc_{n}_{k}_mixed" for n in "123" for k in "1k"} <= set(further)
    assert "ICC(1,k), mixed model" in text
    bare = summarize(table).everyone.further["icc_2_1_mixed"]
    assert (bare.value, bare.interval) == (further["icc_2_1_mixed"].value, "none asked for")
    balanced = ratings_of(SHROUT_FLEISS, level="interval")
    assert not is_unbalanced(balanced)
    assert not any("mixed" in name for name in summarize(balanced).everyone.further)


def test_units_of_one_instance_leave_the_jackknife_only():
    table = NumberDesign(20, 4, 5, 3, points=0).draw(np.random.default_rng(3))
    found = mixed_correlation(table)
    assert found.forms["ICC(2,1)"].interval == NOT_INDEPENDENT
    assert np.isnan(found.forms["ICC(2,1)"].low)
    assert found.jackknife["ICC(2,1)"].interval == (
        "95 % t interval, jackknife standard error, 20 groups of 20 instances, for these raters"
    )
    alone = mixed_correlation(replace(table, clusters=np.arange(80, dtype=np.int32)))
    assert not np.isnan(alone.forms["ICC(2,1)"].low)


def test_what_cannot_be_fitted_says_why():
    def reason(rows, **options):
        table = Ratings.from_rows(rows, level="interval")
        found = mixed_correlation(table, **options).forms
        for single in ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)"):
            if single in found:
                assert found[single.replace("1)", "k)")].reason == found[single].reason
        return found["ICC(2,1)" if "ICC(2,1)" in found else "ICC(1,1)"].reason

    assert reason([]) == "there are fewer than two raters"
    assert reason([("a", "u", "1"), ("a", "v", "2")]) == "there are fewer than two raters"
    assert reason([("a", "u", "1"), ("b", "u", "2")]) == "fewer than two units were rated"
    assert reason([("a", "u", "1"), ("b", "v", "2")]) == "no unit has two ratings"
    assert reason([("a", "u", "1"), ("b", "u", "1"), ("a", "v", "1")]) == "no number varies"
    apart = [("a", "u", "1"), ("b", "u", "2"), ("c", "v", "3"), ("d", "v", "5")]
    assert reason(apart) == "some raters share no unit with the others, not even through a third"
    assert not reason(apart, named=False)
    crowd = [(f"r{n}", f"u{n // 2}", str(n % 5)) for n in range(2 * MOST_RATERS)]
    crowd += [(f"r{n}", f"u{n // 2 + 1}", str(n % 3)) for n in range(2 * MOST_RATERS)]
    assert (
        reason(crowd) == f"there are {2 * MOST_RATERS} raters, and a mixed model takes at most {MOST_RATERS}"
    )
    assert not reason(crowd, named=False)


def test_units_that_do_not_differ_have_zero_and_no_interval_from_the_jackknife():
    rng = np.random.default_rng(1)
    rows = [
        (f"r{r}", f"u{u}", str(r + (u + r) % 2 * 3))
        for u in range(30)
        for r in rng.choice(4, 2, replace=False)
    ]
    found = mixed_correlation(Ratings.from_rows(rows, level="interval"))
    one = found.jackknife["ICC(2,1)"]
    assert (one.value, one.interval) == (0.0, AT_ZERO)
    assert found.forms["ICC(2,1)"].low == 0.0
    assert 0 < found.forms["ICC(2,1)"].high < 0.6


@pytest.mark.filterwarnings("error")
def test_tables_without_a_rest():
    """The likelihood has no greatest value there."""

    def of(number):
        rng = np.random.default_rng(1)
        rows = [
            (f"r{r}", f"u{u:02}", str(number(u, r)))
            for u in range(20)
            for r in rng.choice(5, 3, replace=False)
        ]
        found = mixed_correlation(Ratings.from_rows(rows, level="interval"))
        return found.forms["ICC(2,1)"], found.jackknife["ICC(2,1)"]

    for one in of(lambda u, r: u):
        assert (one.value, one.interval) == (1.0, ALL_AGREE)
    for number in (lambda u, r: r, lambda u, r: u + r):
        assert {one.reason for one in of(number)} == {EXACT}
    far, _ = of(lambda u, r: 10**9 + u + r + u * r % 3)
    near, _ = of(lambda u, r: u + r + u * r % 3)
    assert far.value == pytest.approx(near.value, abs=1e-6)


def test_no_intervals_where_few_units_or_one_number():
    few = [row for row in unbalanced(4, units=9) if row[1] < "u007"]
    found = mixed_correlation(Ratings.from_rows(few, level="interval"))
    assert found.jackknife["ICC(3,1)"].interval == "none: at least 8 units are needed, found 7"
    alike = [(r, u, y if u < "u004" else "1") for r, u, y in unbalanced(4)]
    found = mixed_correlation(Ratings.from_rows(alike, level="interval"))
    assert "of the ratings are the same number" in found.forms["ICC(3,1)"].interval


def test_random_tables_never_leave_the_range():
    compared = 0
    for matrix in random_matrices(24, seed=92):
        table = ratings_of(matrix, level="interval")
        found = mixed_correlation(table)
        for one in (*found.forms.values(), *found.jackknife.values()):
            assert not one.defined or 0 <= one.value <= 1
            assert np.isnan(one.low) or 0 <= one.low <= one.value <= one.high <= 1
            compared += one.defined
    assert compared > 20


def test_a_large_table_takes_little_time_and_memory():
    """A hundred thousand ratings by forty raters; a matrix of all ratings would take 80 GB."""
    table = NumberDesign(25_000, 1, 40, 4, points=0).draw(np.random.default_rng(1))
    found = mixed_correlation(table).forms["ICC(3,1)"]
    assert found.value == pytest.approx(1 / (1 + 0.64), abs=0.01)
    assert found.high - found.low < 0.03
