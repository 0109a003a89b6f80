"""Intervals for raters like these, and for these items: against another way to compute them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.agreement.descriptive import mean_without_groups
from evaluation.agreement.new_raters import variance_over_raters
from evaluation.core.estimand import estimand_of
from evaluation.core.ratings_table import Ratings
from evaluation.metrics import FollowUps, simulatability, simulatability_gain
from evaluation.metrics.from_ratings import followups_of
from evaluation.metrics.over_raters import mean_over_raters, simulatability_over_raters
from evaluation.metrics.resample import ratio_estimate


def study(raters: int, spread: float, seed: int = 0, units: int = 60) -> Ratings:
    """Three ratings of each unit; raters say 1 with probabilities from .5 - spread to .5 + spread."""
    rng = np.random.default_rng(seed)
    likes = np.linspace(0.5 - spread, 0.5 + spread, raters)
    rows = [
        (f"r{who:02}", f"u{unit:02}", str(int(rng.random() < likes[who])))
        for unit in range(units)
        for who in rng.permutation(raters)[:3]
    ]
    return Ratings.from_rows(rows, level="interval")


def test_the_variance_of_a_mean_is_that_of_the_general_jackknife() -> None:
    table = study(9, 0.3)

    def general(part: Ratings, group: np.ndarray) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        value, without = mean_without_groups(part, group)
        return {"mean": value}, {"mean": without}

    expected = variance_over_raters(table, general)["mean"]
    found = mean_over_raters(table.amounts[table.value], table.unit, table.rater)
    assert (found.raw, found.noise) == pytest.approx((expected.raw, expected.noise))


def test_raters_who_differ_make_intervals_wider_and_alike_ones_do_not() -> None:
    widths = {}
    for spread in (0.0, 0.45):
        table = study(12, spread)
        values = table.amounts[table.value]
        for new in (False, True):
            one = ratio_estimate(
                values, np.ones(values.size), table.unit, rng=np.random.default_rng(0), replicates=200,
                new_raters=mean_over_raters(values, table.unit, table.rater) if new else None,
            )  # fmt: skip
            estimand = estimand_of(one.interval)
            assert estimand is not None
            assert estimand.raters == ("like" if new else "these")
            widths[spread, new] = one.high - one.low
    assert widths[0.45, True] > 1.5 * widths[0.45, False]
    assert widths[0.0, True] < 1.5 * widths[0.0, False]


def test_four_raters_are_refused_with_the_reason() -> None:
    table = study(4, 0.3)
    values = table.amounts[table.value]
    one = ratio_estimate(
        values, np.ones(values.size), table.unit, rng=np.random.default_rng(0),
        new_raters=mean_over_raters(values, table.unit, table.rater),
    )  # fmt: skip
    assert np.isnan(one.low)
    assert one.interval == "none: 4 raters are too few to generalise to new ones"


def predictions(judged: int = 40) -> tuple[FollowUps, Ratings]:
    """Forty explanations of which the first are judged; the outputs are those that most raters expect in two thirds."""
    table = study(10, 0.45, units=40)
    units = [f"u{n:02}" for n in range(40)]
    rows = FollowUps(
        unit=units, explanation=units, instance=units, system=["s"] * 40, simulated=[None] * 40,
        real=["1" if n % 3 else "0" for n in range(40)],
    )  # fmt: skip
    ratings = table.where(np.isin(np.array(table.units), units[:judged])[table.unit])
    return followups_of(rows, ratings)[0], ratings


def test_precision_for_these_items_is_narrower_and_known_once_all_are_judged() -> None:
    half, _ = predictions(20)
    like, these = (
        simulatability(half, rng=np.random.default_rng(0), items=items).precision
        for items in ("like", "these")
    )  # fmt: skip
    assert these.value == like.value
    assert these.high - these.low == pytest.approx((like.high - like.low) * 0.5**0.5, rel=0.1)
    assert "finite-population correction, for these items" in these.interval
    whole, _ = predictions()
    known = simulatability(whole, rng=np.random.default_rng(0), items="these").precision
    assert known.low == known.value == known.high
    assert known.interval == "known: every item was judged, for these items"


def test_precision_of_a_majority_can_be_for_raters_like_these() -> None:
    table, ratings = predictions()
    others = simulatability_over_raters(table, ratings)
    these = simulatability(table, rng=np.random.default_rng(0)).precision
    like = simulatability(table, rng=np.random.default_rng(0), new_raters=others).precision
    assert like.interval.endswith("for new raters too")
    assert like.high - like.low >= these.high - these.low
    assert others["precision"].raters == 10


def test_gain_and_nsg_can_be_for_raters_like_these() -> None:
    rng = np.random.default_rng(3)
    units = np.repeat(np.arange(60), 3)
    raters = np.concatenate([rng.permutation(12)[:3] for _ in range(120)])
    skill = np.linspace(0.3, 0.95, 12)
    shown = np.array([True] * 180 + [False] * 180)
    right = rng.random(360) < np.where(shown, skill[raters], 0.4)
    names = [f"u{n}" for n in np.tile(units, 2)]
    found = [
        simulatability_gain(
            ["yes" if one else "no" for one in right], ["yes"] * 360, names, names, shown.tolist(),
            rng=np.random.default_rng(0), replicates=200, raters=who,
        )
        for who in (None, raters.tolist())
    ]  # fmt: skip
    for figure in ("accuracy_with", "gain", "nsg"):
        these, like = (getattr(one, figure) for one in found)
        assert these.value == like.value
        assert like.high - like.low > 1.2 * (these.high - these.low), figure
        assert "for new raters too" in like.interval
    assert found[1].misled.interval.endswith("for new raters too")
