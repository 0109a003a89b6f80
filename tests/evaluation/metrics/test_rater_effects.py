"""Raters like these, for majorities and medians: against the same worked out by hand or item by item, and what is refused."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest

from evaluation.agreement.new_raters import LEAST_RATERS
from evaluation.core.estimand import CENSUS
from evaluation.core.ratings_table import Ratings
from evaluation.metrics import FollowUps, simulatability, simulatability_gain, utility
from evaluation.metrics.from_ratings import followups_of
from evaluation.metrics.medians import mean_estimate, median_estimate
from evaluation.metrics.over_raters import mean_over_raters, simulatability_over_raters
from evaluation.metrics.rater_effects import majority_effects, variance_of_effects
from evaluation.metrics.utility_over_raters import utility_over_raters

TOO_FEW = f"none: {LEAST_RATERS - 1} raters are too few to generalise to new ones"


def most(labels: list[int]) -> int:
    (first, number), *others = Counter(labels).most_common()
    return -1 if others and others[0][1] == number else first


def test_effects_of_ratings_are_those_of_replacing_each_by_the_others() -> None:
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(30), rng.integers(1, 6, 30))
    rng.shuffle(item)
    values = rng.integers(0, 3, (item.size, 1))
    worth = rng.normal(size=(30, 4))  # of each item, for a tie and for the three labels

    found, sizes = majority_effects(
        item, values, lambda label, of: worth[of, label[:, 0] + 1][:, None], np.ones((30, 1, 1))
    )
    for rating, (of, label) in enumerate(zip(item.tolist(), values[:, 0].tolist(), strict=True)):
        others = [values[n, 0] for n in np.flatnonzero(item == of) if n != rating]
        replaced = [worth[of, most([*others, other]) + 1] for other in others]
        expected = worth[of, most([*others, label]) + 1] - (np.mean(replaced) if replaced else 0.0)
        assert found[rating, 0] == pytest.approx(expected)
        assert sizes[rating] == len(others) + 1


def test_the_variance_of_single_ratings_is_that_of_their_mean() -> None:
    """With one rating of each item nothing can be replaced, and a share of majority labels is a mean of ratings."""
    rng = np.random.default_rng(2)
    rater = rng.integers(0, 9, 400)
    yes = rng.random(400) < np.linspace(0.2, 0.8, 9)[rater]
    clusters = np.arange(400)
    effects = ((yes - yes.mean()) / 400)[:, None]
    [found] = variance_of_effects(effects, np.ones(400), clusters, rater)
    usual = mean_over_raters(yes, clusters, rater)
    assert found.raw - found.noise == pytest.approx(usual.raw - usual.noise, rel=0.1)
    [few] = variance_of_effects(effects, np.ones(400), clusters, rater % 4)
    assert few.none == TOO_FEW


def judged(
    raters: int, *, apart: float, units: int = 60, k: int = 3
) -> tuple[FollowUps, Ratings, np.ndarray]:
    """k of the raters on each unit, whose output they expect with probabilities from .6 - apart to .6 + apart."""
    rng = np.random.default_rng(4)
    skill = np.linspace(0.6 - apart, 0.6 + apart, raters)
    rows, given = [], []
    for unit in range(units):
        for who in rng.permutation(raters)[:k]:
            right = bool(rng.random() < skill[who])
            given.append((unit, int(who), right))
            rows.append((f"r{who:02}", f"u{unit:02}", "yes" if right else "no"))
    names = [f"u{n:02}" for n in range(units)]
    table = FollowUps(
        unit=names, explanation=names, instance=names, system=["s"] * units, simulated=[None] * units, real=["yes"] * units
    )  # fmt: skip
    ratings = Ratings.from_rows(rows)
    return followups_of(table, ratings)[0], ratings, np.array(given)


def test_raters_who_differ_make_the_interval_of_a_majority_wider_and_alike_ones_do_not() -> None:
    ratios = {}
    for apart in (0.0, 0.38):
        table, ratings, _ = judged(8, apart=apart)
        these, like = (
            simulatability(table, rng=np.random.default_rng(0), replicates=200, new_raters=others).precision
            for others in (None, simulatability_over_raters(table, ratings))
        )
        ratios[apart] = (like.high - like.low) / (these.high - these.low)
    assert ratios[0.0] < 1.35
    assert ratios[0.38] > 1.2 * ratios[0.0]


def gained(raters: int, *, like: bool = True, unjudged: float | None = None) -> dict[str, object]:
    """Half of the raters know the answer with the explanation and the others without it."""
    _, _, given = judged(raters, apart=0.38)
    without = given.copy()
    without[:, 2] = 1 - given[:, 2]
    both = np.concatenate([given, without])
    names = [f"u{n}" for n in both[:, 0]]
    found = simulatability_gain(
        ["yes" if one else "no" for one in both[:, 2]], ["yes"] * len(both), names, names,
        [True] * len(given) + [False] * len(given), rng=np.random.default_rng(0), replicates=200,
        raters=both[:, 1].tolist() if like else None, unjudged=unjudged,
    )  # fmt: skip
    return {
        name: getattr(found, name) for name in ("misled", "helped", "gain", "nsg", "accuracy_with", "accuracy_without")
    }  # fmt: skip


def test_misled_and_helped_are_for_raters_like_these_from_five_raters_on() -> None:
    these, like = gained(8, like=False), gained(8)
    for name in ("misled", "helped"):
        assert like[name].value == these[name].value
        assert like[name].interval.endswith("for new raters too")
        assert like[name].high - like[name].low > 1.2 * (these[name].high - these[name].low), name
    refused = gained(LEAST_RATERS - 1)
    for name in ("misled", "helped"):
        assert refused[name].interval == TOO_FEW
        assert np.isnan(refused[name].low)


def test_every_figure_of_gain_is_known_once_all_follow_ups_are_judged() -> None:
    usual, half, whole = (gained(8, like=False, unjudged=share) for share in (None, 0.5, 0.0))
    for name, one in whole.items():
        assert one.low == one.value == one.high == usual[name].value, name
        assert one.interval == CENSUS
        assert half[name].high - half[name].low < 0.85 * (usual[name].high - usual[name].low), name
        assert "finite-population correction, for these items" in half[name].interval


def answered(raters: int) -> dict[str, list[str]]:
    """Answers before and after; the raters with high numbers are never helped."""
    _, _, given = judged(raters, apart=0.38)
    rng = np.random.default_rng(5)
    before = np.where(rng.random(len(given)) < 0.4, "yes", "no").tolist()
    return {
        "before": before,
        "after": ["yes" if one else "no" for one in given[:, 2]],
        "gold": ["yes"] * len(given),
        "item": [f"u{n}" for n in given[:, 0]],
        "instance": [f"x{n // 2}" for n in given[:, 0]],
        "rater": [f"r{n}" for n in given[:, 1]],
    }


def test_utility_of_majorities_and_of_single_answers_is_for_raters_like_these() -> None:
    rows = answered(8)
    single = utility_over_raters(**rows, single=True)
    useful = np.array([b == "no" and a == "yes" for b, a in zip(rows["before"], rows["after"], strict=True)])
    codes = [np.unique(rows[name], return_inverse=True)[1] for name in ("instance", "rater")]
    expected = mean_over_raters(useful, *codes)
    assert (single["useful"].raw, single["useful"].noise) == pytest.approx((expected.raw, expected.noise))

    items = sorted(set(rows["item"]))
    labels = {
        name: ["yes" if most([int(v == "yes") for v, i in zip(rows[name], rows["item"], strict=True) if i == item]) else "no" for item in items]
        for name in ("before", "after")
    }  # fmt: skip
    instances = [f"x{int(item[1:]) // 2}" for item in items]
    found = [
        utility(
            labels["before"], labels["after"], ["yes"] * len(items), instances, rng=np.random.default_rng(0), replicates=200,
            new_raters=others,
        )
        for others in (None, utility_over_raters(**rows))
    ]  # fmt: skip
    for name in ("right_after", "gain"):
        these, like = (getattr(one, name) for one in found)
        assert like.interval.endswith("for new raters too")
        assert like.high - like.low > 1.1 * (these.high - these.low), name
    assert found[1].shares["useful"].interval.endswith("for new raters too")
    few = utility_over_raters(**answered(LEAST_RATERS - 1))
    assert {one.none for one in few.values()} == {TOO_FEW}


def numbers(raters: int, apart: float) -> Ratings:
    """Three of the raters on each of 40 units; each rater's numbers are shifted by up to ``apart``."""
    rng = np.random.default_rng(7)
    shift = np.linspace(-apart, apart, raters)
    rows = [
        (f"r{who:02}", f"u{unit:02}", str(round(10 * (50 + shift[who] + rng.normal(0, 8)))))
        for unit in range(40)
        for who in rng.permutation(raters)[:3]
    ]
    return Ratings.from_rows(rows, level="interval")


def test_medians_are_for_raters_like_these_from_five_raters_on() -> None:
    widths = {}
    for apart in (0, 20):
        for like in (False, True):
            one = median_estimate(
                numbers(8, apart), rng=np.random.default_rng(0), replicates=200, new_raters=like
            )
            widths[apart, like] = one.high - one.low
            assert one.low <= one.value <= one.high
            assert one.interval.endswith("for new raters too") == like
    assert widths[20, True] > 1.3 * widths[20, False]
    assert widths[0, True] < 2 * widths[0, False]
    refused = median_estimate(numbers(4, 20), rng=np.random.default_rng(0), new_raters=True)
    assert refused.interval == TOO_FEW
    alike = Ratings.from_rows([(f"r{n}", f"u{m}", "3") for n in range(6) for m in range(9)], level="interval")
    one = median_estimate(alike, rng=np.random.default_rng(0), new_raters=True)
    assert one.interval == "none: the units do not vary"


def test_means_and_medians_for_these_items_are_narrower_and_known_in_the_end() -> None:
    table = numbers(8, 5)
    for estimate in (mean_estimate, median_estimate):
        usual, half, whole = (
            estimate(table, rng=np.random.default_rng(0), replicates=200, unjudged=share)
            for share in (None, 0.25, 0.0)
        )
        assert whole.low == whole.value == whole.high == usual.value
        assert whole.interval == CENSUS
        assert half.high - half.low < 0.7 * (usual.high - usual.low)
        assert "for these items" in half.interval


def test_the_woodruff_interval_of_a_median_by_hand() -> None:
    """20 units of one rating each, 1 to 20: share below the median 1/2, se = sqrt(20/19 x 20 x .25) / 20 = .1147, t(19) = 2.093."""
    table = Ratings.from_rows([(f"r{n % 5}", f"u{n:02}", str(n + 1)) for n in range(20)], level="interval")
    one = median_estimate(table, rng=np.random.default_rng(0), unjudged=1.0)
    # On the logit scale .2401 / .25 = .960: .277 and .723 of 20 ratings, the 6th and the 15th.
    assert (one.value, one.low, one.high) == (10.5, 6.0, 15.0)


def test_ten_thousand_different_answers_take_little_memory() -> None:
    """Answers in words: each item has few labels, all items together have thousands."""
    item = np.repeat(np.arange(3_000), 3)
    values = np.arange(9_000)[:, None] % 7_000
    tracemalloc.start()
    effects, _ = majority_effects(
        item, values, lambda label, of: (label == 1).astype(float), np.ones((3_000, 1, 1))
    )
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert effects.shape == (9_000, 1)
    assert most < 20e6
