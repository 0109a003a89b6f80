"""How many items by how many raters a sum of money buys: against simulated studies, and components of variance recovered."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evaluation.agreement import Ratings
from evaluation.core.estimand import Raters
from evaluation.planning.by_money import MOST_RATERS, Components, best_of, components_of, plan_money

PARTS = Components(items=0.5, raters=0.1, rest=1.4)


def numbers(rng: np.random.Generator, items: int, raters: np.ndarray) -> np.ndarray:
    """Of shape (raters, items), by raters with these parts."""
    unit = rng.normal(0, PARTS.items**0.5, items)
    return unit + raters[:, None] + rng.normal(0, PARTS.rest**0.5, (raters.size, items))


@pytest.mark.parametrize("whose", ["like", "these"])
@pytest.mark.parametrize("k", [2, 5, 20])
def test_the_error_is_that_of_simulated_studies(k: int, whose: Raters) -> None:
    """4,000 studies: the standard deviation of their means has a relative error of 1.1 %."""
    row = plan_money(PARTS, 40, price=0.1, raters=whose)[k - 1]
    assert (row.items, row.judgments, row.cost) == (400 // k, 400 // k * k, pytest.approx(400 // k * k * 0.1))
    rng = np.random.default_rng(k)
    fixed = rng.normal(0, PARTS.raters**0.5, k)
    means = [
        numbers(
            rng, row.items, rng.normal(0, PARTS.raters**0.5, k) if whose == "like" else fixed
        ).mean()
        for _ in range(4_000)
    ]  # fmt: skip
    assert np.std(means) == pytest.approx(row.error, rel=0.045)


def test_intervals_of_the_planned_width_cover() -> None:
    """With the true components, the mean of 2,000 studies lies within half a width of the truth in 95 % of them or more."""
    row = plan_money(PARTS, 40, price=0.1)[7]
    rng = np.random.default_rng(1)
    raters = rng.normal(0, PARTS.raters**0.5, (2_000, 8))
    near = [abs(numbers(rng, row.items, r).mean()) < row.width / 2 for r in raters]
    assert 0.945 <= np.mean(near) <= 0.985  # t is wider than the normal that known components have


def test_components_are_recovered_whoever_judged_what() -> None:
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        given = numbers(rng, 200, rng.normal(0, PARTS.raters**0.5, 10))
        rows = [
            (f"r{r}", f"u{u:03}", f"{given[r, u]:.3f}")
            for u in range(200)
            for r in rng.choice(10, 4, replace=False)
        ]
        parts, why = components_of(Ratings.from_rows(rows, level="interval"))
        assert parts is not None, why
        found.append((parts.items, parts.raters, parts.rest))
    items, raters, rest = np.mean(found, axis=0)
    assert items == pytest.approx(PARTS.items, rel=0.12)
    assert rest == pytest.approx(PARTS.rest, rel=0.05)
    assert raters == pytest.approx(PARTS.raters, rel=0.6)  # of ten raters, eight times


def test_up_to_twenty_raters_and_as_many_items_as_the_money_buys() -> None:
    rows = plan_money(PARTS, 100, price=0.2)
    assert [row.raters for row in rows] == list(range(1, MOST_RATERS + 1))
    assert all(row.cost <= 100 < row.cost + row.raters * 0.2 for row in rows)
    assert math.isnan(rows[0].width)  # one rater doesn't show how much raters differ
    assert rows[0].to_dict()["width"] is None
    best = best_of(rows)
    assert best is not None
    assert best.width == min(row.width for row in rows[1:])
    these = plan_money(PARTS, 100, price=0.2, raters="these")
    assert [row.width for row in these] == sorted(row.width for row in these)
    assert len(plan_money(PARTS, 1, price=0.2)) == 5


def test_what_cannot_be_planned_is_refused() -> None:
    for money, price in ((0, 1), (1, 0), (math.nan, 1)):
        with pytest.raises(ValueError, match="money, price"):
            plan_money(PARTS, money, price=price)
    with pytest.raises(ValueError, match="most_raters"):
        plan_money(PARTS, 1, price=1, most_raters=0)
    with pytest.raises(ValueError, match="rest: expected a variance"):
        Components(1, 1, -0.1)
    alone = Ratings.from_rows([("a", "u", "1"), ("a", "v", "2")], level="interval")
    assert components_of(alone) == (None, "there are fewer than two raters")
    assert best_of(plan_money(PARTS, 0.1, price=0.2)) is None
