"""Intervals of few units, many labels and new raters: none from fewer than 8 units or outside the range; each names its raters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.validation.agreement_grid import design_coverage
from evaluation.agreement import Ratings, gwet_ac2, krippendorff_alpha, summarize
from evaluation.agreement.by_group import by_group
from evaluation.agreement.counts import count_units
from evaluation.agreement.fleiss import fleiss_kappa
from evaluation.agreement.gwet import ac2_without_groups
from evaluation.agreement.intervals import (
    replicate_counts,
    tried_labels,
    values_without_groups,
    variance_of_one_more,
)
from evaluation.agreement.krippendorff import scale_of
from evaluation.agreement.new_raters import cluster_groups, is_for_new_raters, variance_over_raters
from evaluation.agreement.percent import percent_agreement
from evaluation.core.interval import LEAST_CLUSTERS
from tests.evaluation.agreement.simulate_numbers import NUMBER_DESIGNS, coverage_of_numbers
from tests.evaluation.agreement.tables import random_matrices, ratings_of
from tests.evaluation.core.estimates import estimates_in

#: Statistics that can lie below -1: no least value, or one that depends on the labels or on the number of raters.
BELOW = ("fleiss_kappa_unequal", "gwet_ac2", "icc", "mean", "median")


def rehearsal() -> Ratings:
    """18 judgments of 6 items by 3 raters who agree on most."""
    labels = ["yyy", "yyn", "nnn", "yyy", "nny", "yyy"]
    rows = [(f"r{r}", f"u{u}", label) for u, given_ in enumerate(labels) for r, label in enumerate(given_)]
    return Ratings.from_rows(rows)


def test_a_rehearsal_has_values_and_no_intervals():
    found = summarize(rehearsal(), rng=np.random.default_rng(0), min_overlap=1)
    assert 0.4 < found.everyone.krippendorff_alpha.value < 0.6
    for name, one in estimates_in(found.to_dict()):
        assert one["low"] is None, name
    for one in (found.everyone.krippendorff_alpha, found.kappa["nominal"].mean["all"]):
        assert one.interval == f"none: at least {LEAST_CLUSTERS} units are needed, found 6"


def test_units_with_one_rating_do_not_count_as_units_to_draw():
    rows = [(r, f"u{u}", f"y{u}" if u % 2 else r) for u in range(7) for r in ("a", "b")]
    rows += [("a", f"v{u}", "y") for u in range(50)]
    found = summarize(Ratings.from_rows(rows), rng=np.random.default_rng(0)).everyone
    assert found.krippendorff_alpha.interval == "none: at least 8 units are needed, found 7"
    rows += [("b", "v1", "y"), ("b", "v2", "a")]
    assert not math.isnan(
        summarize(Ratings.from_rows(rows), rng=np.random.default_rng(0)).everyone.krippendorff_alpha.low
    )


matrices = st.integers(0, 2**32 - 1).flatmap(
    lambda seed: st.tuples(
        st.just(seed), st.integers(2, 6), st.integers(8, 14), st.sampled_from([2, 3, 5]), st.floats(0, 1)
    )
)


@settings(max_examples=60, deadline=None)
@given(matrices, st.sampled_from(["nominal", "ordinal", "interval", "ratio"]), st.booleans())
def test_no_interval_leaves_its_range(drawn, level, new_raters):
    """From systematic disagreement (share 0) to full agreement (1), some ratings missing."""
    seed, raters, units, labels, share = drawn
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, units)
    given_ = np.array([
        np.where(rng.random(units) < share, truth, (truth + r) % labels) for r in range(raters)
    ], dtype=float)  # fmt: skip
    given_[rng.random(given_.shape) < 0.1] = np.nan
    table = ratings_of(given_ + 1, level=level, labels=[str(k + 1) for k in range(labels)])
    found = summarize(
        table, rng=np.random.default_rng(0), replicates=40, min_overlap=1, new_raters=new_raters
    ).to_dict()
    for name, one in estimates_in(found):
        if one.get("low") is None:
            continue
        assert one["low"] <= one["value"] <= one["high"], (name, one)
        if name not in ("mean", "median"):
            assert one["high"] <= 1, (name, one)
        if not name.startswith(BELOW):
            assert one["low"] >= -1, (name, one)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_is_never_below_minus_one(level):
    for matrix in random_matrices(60, seed=90, lowest=1):
        value = krippendorff_alpha(ratings_of(matrix, level=level)).value
        assert not value < -1
    opposed = ratings_of([[1, 5] * 30, [5, 1] * 30], level=level)
    assert krippendorff_alpha(opposed).value == pytest.approx(-1 + 2 / 120)  # the least for 120 ratings


def test_the_lower_end_of_ac2_is_the_least_value_that_it_can_take():
    opposed = ratings_of([[1, 3] * 20, [3, 1] * 20], level="interval", labels=["1", "3"])
    table = ratings_of([[1, 3] * 20, [3, 1] * 20], level="interval", labels=["1", "2", "3"])
    for found, weights in ((opposed, "linear"), (table, "linear"), (table, "quadratic")):
        one = summarize(found, rng=np.random.default_rng(0), replicates=40).everyone.further[
            f"gwet_ac2_{weights}"
        ]
        assert one.value == gwet_ac2(found, weights=weights).value <= -1 + 1e-9 or one.value > -1.6


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_sums_by_cluster_with_more_labels_than_units_are_the_statistics(level):
    """The sparse sums give the statistic itself, and those without a group the statistic of the other units."""
    rng = np.random.default_rng(3)
    table = ratings_of(rng.integers(1, 90, (4, 30)).astype(float), level=level)
    values, without = values_without_groups(table)
    assert values["krippendorff_alpha"] == pytest.approx(krippendorff_alpha(table).value)
    group = cluster_groups(table)
    rest = table.where(group[table.unit] != 4)
    assert without["krippendorff_alpha"][4] == pytest.approx(krippendorff_alpha(rest).value)
    drawn = replicate_counts(table, rng=np.random.default_rng(0), replicates=30)
    assert drawn.clusters == drawn.informative == 30


def test_many_labels_do_not_widen_intervals_for_new_raters():
    """Scores with thousands of values: the noise of single ratings is subtracted as with a few values."""
    rng = np.random.default_rng(8)
    truth = rng.normal(50, 15, 2_500)
    scores = np.array([np.clip(truth + rng.normal(0, 8, truth.size), 1, 99) for _ in range(6)])
    fine, coarse = (ratings_of(np.round(scores, digits), level="interval") for digits in (3, 0))
    assert len(fine.labels) > 5_000
    whole, rough = (
        variance_over_raters(one, values_without_groups)["krippendorff_alpha"] for one in (fine, coarse)
    )
    assert whole.noise == pytest.approx(rough.noise, rel=0.1) != 0
    assert whole.raw == pytest.approx(rough.raw, rel=0.1)


def test_leaving_out_a_rater_leaves_the_groups_of_units_as_they_are():
    """A unit with only one rater must not move other units into other groups."""
    rng = np.random.default_rng(4)
    rows = [(f"r{r}", f"u{u:02}", str(rng.integers(0, 2))) for r in range(6) for u in range(1, 20)]
    rows.append(("r0", "u00", "1"))
    found = variance_over_raters(Ratings.from_rows(rows), values_without_groups)
    without = variance_over_raters(Ratings.from_rows(rows[:-1]), values_without_groups)
    name = "krippendorff_alpha"
    assert found[name].noise == pytest.approx(without[name].noise, rel=0.15)


def test_ac2_without_groups_is_ac2_of_the_other_units():
    table = ratings_of(np.random.default_rng(5).integers(1, 6, (5, 24)).astype(float), level="interval")
    group = cluster_groups(table)
    for weights in ("linear", "quadratic"):
        value, without = ac2_without_groups(table, group, weights)
        assert value == pytest.approx(gwet_ac2(table, weights=weights).value)
        rest = table.where(group[table.unit] != 7)
        assert without[7] == pytest.approx(gwet_ac2(rest, weights=weights).value)


def test_every_interval_names_its_raters():
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 5, 80)
    table = ratings_of(
        [np.clip(truth + rng.integers(-1 - r % 2, 2, 80), 0, 4) for r in range(7)], level="ordinal"
    )
    found = summarize(table, rng=np.random.default_rng(0), replicates=60, new_raters=True).everyone
    new = {name for name, one in found.further.items() if is_for_new_raters(one)}
    assert new == {
        "conger_kappa", "conger_kappa_linear", "conger_kappa_quadratic", "gwet_ac2_linear", "gwet_ac2_quadratic", "mean",
        "icc_2_1_f", "icc_2_k_f",
    }  # fmt: skip
    for name, one in found.further.items():
        if one.interval.startswith("none"):
            assert name in ("icc_1_1_f", "icc_1_k_f")
            continue
        assert name in new or one.interval.endswith(", for these raters"), (name, one.interval)
    these = summarize(table, rng=np.random.default_rng(0), replicates=60).everyone
    for name in ("mean", "gwet_ac2_linear"):
        widths = [one.high - one.low for one in (these.further[name], found.further[name])]
        assert widths[1] > widths[0]


def test_groups_have_intervals_for_new_raters_too():
    rng = np.random.default_rng(7)
    table = ratings_of(rng.integers(0, 2, (6, 40)))
    groups = by_group(
        table, ["all"], np.zeros(len(table), dtype=np.int32), rng=rng, replicates=40, new_raters=True
    )
    assert is_for_new_raters(groups[0].statistics["krippendorff_alpha"])


def test_two_units_with_another_label_give_no_interval_beyond_chance():
    given_ = np.zeros((3, 50))
    given_[0, 4] = given_[:2, 9] = 1
    found = summarize(ratings_of(given_), rng=np.random.default_rng(0), replicates=60)
    table = found.everyone
    assert table.krippendorff_alpha.defined
    assert table.krippendorff_alpha.interval == table.fleiss_kappa.interval
    why = "none: at least 3 units with another label than {} are needed, found 2"
    assert table.krippendorff_alpha.interval == why.format("'0'")
    assert found.kappa["nominal"].mean["all"].interval == why.format("each pair's most frequent one")
    assert np.isnan(found.kappa["nominal"].intervals).all()
    for one in (table.percent_agreement, table.gwet_ac1):
        assert one.low <= one.value <= one.high


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_the_variance_includes_one_unit_more_on_which_raters_agree(level):
    """By hand: each other label in turn is that of a unit more, weighted by how often it was given."""
    rng = np.random.default_rng(11)
    matrix = np.clip(rng.integers(1, 5, 30) + rng.integers(-1, 2, (4, 30)), 1, 4).astype(float)
    table = ratings_of(matrix, level=level)
    counts = count_units(table)
    found = variance_of_one_more(counts, table.level, scale_of(table, table.level, counts.per_label_pairable))
    given_ = np.bincount(matrix.astype(int).ravel(), minlength=5)
    others = [label for label in range(1, 5) if label != given_.argmax()]
    for name, statistic in (("krippendorff_alpha", krippendorff_alpha), ("fleiss_kappa", fleiss_kappa)):
        changes = [
            statistic(ratings_of(np.column_stack([matrix, np.full(4, label)]), level=level)).value
            - statistic(table).value
            for label in others
        ]
        mean = np.average(np.square(changes), weights=given_[others])
        agreed = percent_agreement(table).value
        assert agreed < 2 / 3
        part = agreed if name == "fleiss_kappa" or level == "nominal" else 2 / 3
        assert found[name] == pytest.approx(mean * part)


def test_one_unit_more_of_very_many_labels_takes_little_memory():
    """A table of all labels by those that are tried would have six million cells."""
    for labels, tried in ((100, 64), (1_000, 64), (100_000, 10), (3_000_000, 1)):
        assert tried_labels(np.ones(labels, dtype=bool), 0).size == tried


@pytest.mark.parametrize(
    ("design", "before"),
    [("200 units, rarer label", 68), ("20 units, ten raters", 84), ("40 units, ten raters", 86), ("50 units, rare label", 88)],
)  # fmt: skip
def test_intervals_of_a_rare_label_cover(design, before):
    """Without one unit more in the variance, intervals of alpha and of mean kappa covered ``before`` per cent of such studies."""
    found = design_coverage(design, 300, 2, replicates=60)
    for statistic in ("krippendorff_alpha", "mean kappa"):
        one = found[statistic]
        assert one["intervals"] > 0.8
        assert one["coverage"] > 0.905, before  # 1.7 standard errors below 93 %


def test_numbers_without_a_scale_give_no_interval_of_ac1_and_ac2():
    """Both depend on which numbers could be given: in larger studies there are more, and intervals of AC2 covered 0 %."""
    rng = np.random.default_rng(2)
    scores = np.round(rng.normal(0, 1, 60) + rng.normal(0, 0.3, (3, 60)), 1)
    found = summarize(
        ratings_of(scores * 10 + 100, level="interval"), rng=np.random.default_rng(0), replicates=40
    ).everyone
    for one in (found.gwet_ac1, found.further["gwet_ac2_linear"], found.further["gwet_ac2_quadratic"]):
        assert one.defined
        assert np.isnan(one.low)
        assert one.interval.startswith("none: it depends on which numbers could be given")
    assert found.krippendorff_alpha.low < found.krippendorff_alpha.value


def test_intervals_of_few_units_cover_chance_corrected_statistics():
    """12 units by 4 raters on five points. Without its bias subtracted, Fleiss' kappa was covered in 88 % of studies."""
    found = coverage_of_numbers(
        NUMBER_DESIGNS["12 units"],
        studies=300,
        seed=1,
        replicates=100,
        only=("krippendorff_alpha", "fleiss_kappa"),
    )
    for name, one in found.items():
        assert one["coverage"] > 0.905, (name, one)  # 1.9 standard errors below 93 %
        assert one["holds its estimate"], name
