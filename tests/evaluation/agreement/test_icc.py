"""ICC, AC2 and Fleiss' kappa with unequal raters: published tables, definitions, degenerate tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from benchmarks.validation.further_checks import of_pingouin
from evaluation.agreement import (
    Ratings,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    intraclass_correlation,
    summarize,
)
from evaluation.agreement.icc import NOT_INDEPENDENT, SAME_RATERS, variance_of_one_more
from tests.evaluation.agreement.simulate import KAPPA_DESIGNS
from tests.evaluation.agreement.simulate_numbers import NUMBER_DESIGNS, NumberDesign, coverage_of_numbers
from tests.evaluation.agreement.tables import KRIPPENDORFF, SHROUT_FLEISS, random_matrices, ratings_of

#: Their Table 4, and the intervals that R's psych::ICC gives for it: for ICC(2,1) from .02 to .76, for ICC(2,k) from .07 to .93.
PUBLISHED = {
    "ICC(1,1)": (0.17, -0.13, 0.72),
    "ICC(2,1)": (0.29, 0.03, 0.75),
    "ICC(3,1)": (0.71, 0.34, 0.95),
    "ICC(1,k)": (0.44, -0.88, 0.91),
    "ICC(2,k)": (0.62, 0.1, 0.92),
    "ICC(3,k)": (0.91, 0.68, 0.99),
}


@pytest.mark.parametrize("form", PUBLISHED)
def test_the_published_table(form):
    table = ratings_of(SHROUT_FLEISS, level="interval")
    found = intraclass_correlation(table, named=not form.startswith("ICC(1")).forms[form]
    assert (round(found.value, 2), round(found.low, 2), round(found.high, 2)) == PUBLISHED[form]
    whose = "these raters" if form.startswith("ICC(3") else "new raters too"
    how = "generalized" if form.startswith("ICC(2") else "F"
    assert found.interval == f"95 % {how} interval, 6 units by 4 raters, for {whose}"


def test_all_six_forms_are_those_of_pingouin():
    pairs = list(of_pingouin())
    assert len(pairs) == 24
    for mine, theirs in pairs:
        assert mine == pytest.approx(theirs, abs=1e-8)


def test_intervals_for_new_raters_cover_where_raters_differ():
    """Shrout and Fleiss's F interval of ICC(2,1) covered 79 % of such studies."""
    design = NUMBER_DESIGNS["three new raters, 1,000 units"]
    found = coverage_of_numbers(design, studies=200, seed=3, replicates=20, only=("icc_2_1_f",))["icc_2_1_f"]
    assert found["intervals"] == 1
    assert found["coverage"] > 0.9  # 1.7 standard errors below 93 %


def test_no_f_interval_of_the_first_form_if_the_same_raters_rated_all_units():
    """It takes each unit as rated by others: it covered 77 % of studies of 200 units by the same 5 raters."""
    table = ratings_of(SHROUT_FLEISS, level="interval")
    found = intraclass_correlation(table).forms
    for form in ("ICC(1,1)", "ICC(1,k)"):
        assert (found[form].low, found[form].interval) == (pytest.approx(np.nan, nan_ok=True), SAME_RATERS)
        assert round(found[form].value, 2) == PUBLISHED[form][0]
    assert found["ICC(2,1)"].interval.startswith("95 % generalized interval")
    for named, missing in ((True, {"icc_1_1_f", "icc_1_k_f"}), (False, set())):
        whole = summarize(table, rng=np.random.default_rng(0), replicates=40, named=named).everyone.further
        assert {name for name in whole if name.endswith("_f") and np.isnan(whole[name].low)} == missing


def test_intervals_are_not_computed_where_none_are_asked(monkeypatch):
    """They take 60,000 draws a table, and a report by groups has many tables."""
    table = ratings_of(np.array(SHROUT_FLEISS, dtype=float), level="interval")
    asked = summarize(table, rng=np.random.default_rng(0), replicates=40).everyone.further
    assert asked["icc_2_1_f"].low < asked["icc_2_1_f"].value < asked["icc_2_1_f"].high
    for name in ("_f_intervals", "variance_of_one_more"):
        monkeypatch.setattr(f"evaluation.agreement.icc.{name}", lambda *_: pytest.fail("was computed"))
    further = summarize(table, rng=np.random.default_rng(0), replicates=0).everyone.further
    assert further["icc_2_1"].value == asked["icc_2_1"].value
    assert "icc_2_1_f" not in further
    found = intraclass_correlation(table, normal=False)
    assert {one.interval for one in found.forms.values()} == {"none asked for"}


@pytest.mark.parametrize(("units", "led"), [(8, "F"), (19, "F"), (20, "t")])
def test_of_few_units_the_f_interval_of_fixed_raters_leads(units, led):
    """The bootstrap's covered 97.8 % of studies of 8 units, the F interval 95 %."""
    design = NumberDesign(units, 1, 4, 4)
    rng = np.random.default_rng(2)
    table = design.draw(rng)
    further = summarize(table, rng=rng, replicates=60).everyone.further
    found = intraclass_correlation(table, rng=rng, replicates=60)
    for form in ("icc_3_1", "icc_3_k"):
        one, exact = further[form], further[f"{form}_f"]
        assert one.interval.startswith(f"95 % {led} interval"), form
        assert one.interval.endswith("for these raters")
        assert one.low <= one.value <= one.high
        assert ((one.low, one.high) == (exact.low, exact.high)) == (led == "F")
    # Intervals of the other forms are for other raters, so that the bootstrap's leads.
    for form in ("icc_1_1", "icc_2_1"):
        assert further[form].interval.startswith("95 % t interval"), form
    assert found.leading("ICC(3,1)").value == further["icc_3_1"].value


def test_the_bootstrap_leads_where_there_is_no_f_interval_and_nothing_where_units_are_too_few():
    rng = np.random.default_rng(0)
    most = [[1, 1, 1, 1, 1, 1, 3, 2, 4, 5], [1, 1, 1, 1, 1, 2, 3, 2, 4, 4]]
    alike = intraclass_correlation(
        ratings_of(np.array(most, dtype=float), level="interval"), rng=rng, replicates=60
    )
    assert alike.forms["ICC(3,1)"].interval.startswith(
        "none: this interval is for normally distributed numbers"
    )
    assert alike.leading("ICC(3,1)").interval.startswith("95 % t interval")
    few = intraclass_correlation(ratings_of(SHROUT_FLEISS, level="interval"), rng=rng, replicates=60)
    assert few.forms["ICC(3,1)"].interval.startswith("95 % F interval")
    assert few.leading("ICC(3,1)").interval == "none: at least 8 units are needed, found 6"


def test_no_f_interval_if_units_share_instances():
    """Units of one instance are alike, which F intervals don't know: they covered 82-91 % of such studies."""
    matrix = np.array(SHROUT_FLEISS, dtype=float)
    table = ratings_of(np.column_stack([matrix, matrix + 1]), level="interval")
    shared = replace(table, clusters=np.arange(12, dtype=np.int32) // 2)
    alone = replace(table, clusters=np.arange(12, dtype=np.int32))
    for named in (True, False):
        for form, found in intraclass_correlation(shared, named=named).forms.items():
            assert np.isnan(found.low), form
            assert found.interval == NOT_INDEPENDENT
    assert intraclass_correlation(alone).forms["ICC(3,1)"].interval.startswith("95 % F interval")


def test_intervals_of_quadratic_ac2_need_forty_units():
    """A study of 20 units by two raters has a rare large disagreement or has none: its intervals covered 88 %."""
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, 40)
    matrix = [np.clip(truth + rng.integers(-1, 2, 40), 1, 5) for _ in range(2)]
    few = summarize(ratings_of(np.array(matrix)[:, :39], level="interval"), rng=rng, replicates=40).everyone
    assert few.further["gwet_ac2_quadratic"].interval == (
        "none: with quadratic weights at least 40 units are needed, found 39"
    )
    assert not np.isnan(few.further["gwet_ac2_linear"].low)
    enough = summarize(ratings_of(np.array(matrix), level="interval"), rng=rng, replicates=40).everyone
    assert not np.isnan(enough.further["gwet_ac2_quadratic"].low)


def test_against_mean_squares_of_an_analysis_of_variance():
    for matrix in random_matrices(20, seed=81, missing=False):
        found = intraclass_correlation(ratings_of(matrix, level="interval"))
        x, (k, n) = matrix, matrix.shape
        if not np.ptp(x):
            assert not found.forms["ICC(1,1)"].defined
            continue
        unit, rater = x.mean(axis=0), x.mean(axis=1)
        b = k * ((unit - x.mean()) ** 2).sum() / (n - 1)
        e = ((x - unit - rater[:, None] + x.mean()) ** 2).sum() / ((n - 1) * (k - 1))
        if b + (k - 1) * e > 1e-9:
            assert found.forms["ICC(3,1)"].value == pytest.approx((b - e) / (b + (k - 1) * e))


def test_incompletely_rated_units_are_left_out_and_the_bootstrap_draws_the_rest():
    matrix = np.array(SHROUT_FLEISS, dtype=float)
    matrix = np.column_stack([matrix, [1, 2, np.nan, 3]])
    found = intraclass_correlation(ratings_of(matrix, level="interval"), rng=np.random.default_rng(0))
    assert (found.units, found.raters) == (6, 4)
    assert found.forms["ICC(2,1)"].value == pytest.approx(0.2898, abs=1e-4)
    assert found.forms["ICC(2,1)"].left_out == {"units that not all raters rated": 1}
    for form in found.bootstrap.values():
        assert form.interval == "none: at least 8 units are needed, found 6"
    twice = np.column_stack([matrix, matrix])
    found = intraclass_correlation(ratings_of(twice, level="interval"), rng=np.random.default_rng(0))
    for form in found.bootstrap.values():
        assert form.low <= form.value <= form.high <= 1
        assert "1000 replicates of 12 units" in form.interval


def test_correlations_with_negative_parts_are_undefined():
    """Mean squares of units 0, raters 2/3, the rest 2: (0 - 2) / (0 + (2/3 - 2) / 2) would be 3."""
    table = ratings_of([[1, 3], [3, 1], [3, 3]], level="interval")
    found = intraclass_correlation(table).forms["ICC(2,k)"]
    assert not found.defined
    assert found.reason == "units and raters vary less than the rest"


def test_random_tables_never_leave_the_range():
    rng = np.random.default_rng(4)
    for _ in range(300):
        table = rng.integers(1, 4, (rng.integers(2, 5), rng.integers(2, 5)))
        found = intraclass_correlation(ratings_of(table.astype(float), level="interval")).forms
        for form in found.values():
            assert not form.value > 1 + 1e-9
            assert np.isnan(form.low) or form.low <= form.value <= form.high <= 1


def test_degenerate_tables_say_why():
    alone = intraclass_correlation(ratings_of([[1, 2, 3]], level="interval")).forms["ICC(1,1)"]
    assert alone.reason == "there are fewer than two raters"
    same = intraclass_correlation(ratings_of([[2, 2, 2], [2, 2, 2]], level="interval")).forms["ICC(2,k)"]
    assert same.reason == "no number varies"
    with pytest.raises(ValueError, match="a number is needed"):
        intraclass_correlation(
            Ratings.from_rows([("a", "u", "x"), ("b", "u", "y"), ("a", "v", "x"), ("b", "v", "x")])
        )


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_ac2_by_its_definition_and_from_every_pair(weights):
    for matrix in random_matrices(30, seed=82, lowest=1):
        table = ratings_of(matrix, level="interval", labels=[str(i) for i in range(1, 6)])
        power = 1 if weights == "linear" else 2

        def credit(a, b, power=power):
            return 1 - (abs(a - b) / 4) ** power

        rated = [unit[~np.isnan(unit)] for unit in matrix.T]
        pairs = [np.mean([credit(a, b) for a, b in combinations(unit, 2)]) for unit in rated if unit.size > 1]
        found = gwet_ac2(table, weights=weights)
        if not pairs:
            assert not found.defined
            continue
        shares = np.mean(
            [[np.mean(unit == label) for label in range(1, 6)] for unit in rated if unit.size], axis=0
        )
        total = sum(credit(a, b) for a in range(5) for b in range(5))
        chance = total / 20 * float((shares * (1 - shares)).sum())
        assert found.value == pytest.approx((np.mean(pairs) - chance) / (1 - chance))


def test_two_labels_have_one_ac():
    table = ratings_of([[1, 2, 2, 1, 1], [1, 2, 1, 1, 2]], level="ordinal")
    assert gwet_ac2(table, weights="linear").value == pytest.approx(gwet_ac1(table).value)


def test_fleiss_with_unequal_raters_is_fleiss_where_they_are_equal():
    for matrix in random_matrices(10, seed=83, missing=False):
        table = ratings_of(matrix)
        assert fleiss_kappa(table, unequal=True).value == pytest.approx(
            fleiss_kappa(table).value, nan_ok=True
        )
    # Pa = (1/3 + 1) / 2; shares of a in the three units: 2/3, 0, 1 -> 5/9 and 4/9
    rows = [
        ("x", "u", "a"),
        ("y", "u", "a"),
        ("z", "u", "b"),
        ("x", "v", "b"),
        ("y", "v", "b"),
        ("x", "w", "a"),
    ]
    table = Ratings.from_rows(rows)
    found = fleiss_kappa(table, unequal=True)
    assert found.value == pytest.approx((2 / 3 - 41 / 81) / (40 / 81))
    assert (found.n, found.left_out) == (2, {"units with a single rating": 1})
    assert not fleiss_kappa(table).defined


def test_fleiss_with_unequal_raters_is_published():
    """irrCAC's documentation (Gwet) has .76117 for Krippendorff's table of four observers, and .77544 for AC1."""
    table = ratings_of(KRIPPENDORFF)
    assert fleiss_kappa(table, unequal=True).value == pytest.approx(0.76117, abs=5e-6)
    assert gwet_ac1(table).value == pytest.approx(0.77544, abs=5e-6)


def test_there_is_no_f_interval_where_most_ratings_are_one_number():
    """With ten good raters and a label on a tenth of the units, F intervals covered 71 %."""
    table = replace(KAPPA_DESIGNS["20 units, ten raters"].draw(np.random.default_rng(1)), level="interval")
    found = intraclass_correlation(replace(table, clusters=None), rng=np.random.default_rng(0), replicates=60)
    share = np.bincount(table.value).max() / len(table)
    assert share > 0.5
    for form in ("ICC(2,1)", "ICC(3,k)"):
        assert found.forms[form].interval == (
            f"none: this interval is for normally distributed numbers, and {share:.0%} of the ratings are the same number"
        )
        assert found.bootstrap[form].low < found.forms[form].value


@pytest.mark.parametrize(("design", "before"), [("200 units, rarer label", 69), ("20 units, ten raters", 86)])
def test_bootstrap_intervals_cover_where_most_ratings_are_one_number(design, before):
    """Without one unit more in the variance they covered ``before`` per cent of such studies."""
    chosen = KAPPA_DESIGNS[design]
    many = replace(chosen, clusters=60_000).draw(np.random.default_rng(5))
    truth = intraclass_correlation(replace(many, level="interval", clusters=None)).forms["ICC(3,1)"].value
    covered = []
    for rng in np.random.default_rng(3).spawn(300):
        table = replace(chosen.draw(rng), level="interval", clusters=None)
        one = intraclass_correlation(table, rng=rng, replicates=60).bootstrap["ICC(3,1)"]
        if not np.isnan(one.low):
            covered.append(one.low <= truth <= one.high)
    assert len(covered) > 270
    assert np.mean(covered) > 0.905, before


def test_the_variance_includes_one_unit_more_on_which_raters_agree():
    rng = np.random.default_rng(8)
    matrix = np.clip(rng.integers(1, 4, 25) + rng.integers(-1, 2, (3, 25)), 1, 3).astype(float)
    before = intraclass_correlation(ratings_of(matrix, level="interval")).forms
    given = np.bincount(matrix.astype(int).ravel(), minlength=4)
    others = [label for label in (1, 2, 3) if label != given.argmax()]
    changes = [
        intraclass_correlation(ratings_of(np.column_stack([matrix, np.full(3, label)]), level="interval"))
        .forms["ICC(2,1)"]
        .value
        - before["ICC(2,1)"].value
        for label in others
    ]
    expected = np.average(np.square(changes), weights=given[others]) * 2 / 3
    assert variance_of_one_more(matrix.T)["ICC(2,1)"] == pytest.approx(expected)
