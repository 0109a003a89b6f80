"""The pure part of allocation."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.allocation import arm_choose, exam_draw, presentation_rng, seeded_order


def test_the_order_depends_only_on_keys_and_seed():
    keys = [f"k{n}" for n in range(50)]
    order = seeded_order(keys, seed=3)
    assert sorted(order) == list(range(50))
    by_key = dict(zip(keys, order, strict=True))
    mixed = keys[:]
    Random(9).shuffle(mixed)
    assert dict(zip(mixed, seeded_order(mixed, seed=3), strict=True)) == by_key
    assert seeded_order(keys, seed=4) != order


def test_a_presentation_is_fixed_for_each_rater_and_differs_between_raters():
    first = [presentation_rng(seed=1, item_key="a", rater=5).random() for _ in range(2)]
    assert first[0] == first[1]
    assert presentation_rng(seed=1, item_key="a", rater=6).random() != first[0]


def test_questions_are_drawn_evenly_from_the_pools():
    questions = [(f"a{n}", "easy") for n in range(6)] + [(f"b{n}", "hard") for n in range(6)]
    drawn = exam_draw(questions, count=6, rng=Random(1))
    assert len(set(drawn)) == 6
    assert sum(key.startswith("a") for key in drawn) == 3


def test_drawing_more_questions_than_there_are_is_refused():
    with pytest.raises(ValueError, match="3 questions asked for, the exam has 1"):
        exam_draw([("a", "")], count=3, rng=Random(1))


def fill(*, arms: int, places: int, items: int, seed: int, returns: float = 0.0) -> list[Counter[int]]:
    """Every place of every item taken in a random order, some given back on the way; the arms of each item.

    Without returns the bound holds at each moment; with them, the upper one does.
    """
    rng = Random(seed)
    held: list[list[int]] = [[] for _ in range(items)]
    own: dict[int, Counter[int]] = {rater: Counter() for rater in range(places + 2)}
    rater = 0
    while open_items := [n for n, those in enumerate(held) if len(those) < places]:
        item = rng.choice(open_items)
        rater = (rater + 1) % len(own)
        arm = arm_choose(
            arms=arms, places=places, turn=item, held=Counter(held[item]), own=own[rater], rng=rng
        )
        held[item].append(arm)
        own[rater][arm] += 1
        counts = [held[item].count(one) for one in range(arms)]
        assert max(counts) <= -(-places // arms)
        if not returns:
            assert max(counts) - min(counts) <= 1
        if rng.random() < returns:
            held[item].pop(rng.randrange(len(held[item])))
    return [Counter(those) for those in held]


@given(arms=st.integers(2, 4), places=st.integers(1, 9), items=st.integers(1, 7), seed=st.integers(0, 10**6))
def test_the_arms_of_an_item_differ_by_at_most_one(arms, places, items, seed):
    for returns in (0.0, 0.4):
        full = fill(arms=arms, places=places, items=items, seed=seed, returns=returns)
        for counts in full:
            assert max(counts[a] for a in range(arms)) - min(counts[a] for a in range(arms)) <= 1
        total = sum(full, Counter())
        assert max(total[a] for a in range(arms)) - min(total[a] for a in range(arms)) <= 1


def test_of_equal_arms_the_rater_gets_their_rarest_one_and_the_seed_breaks_ties():
    same = {"arms": 2, "places": 4, "turn": 0, "held": {}}
    assert {arm_choose(**same, own={0: 3, 1: 2}, rng=Random(n)) for n in range(20)} == {1}
    drawn = [arm_choose(**same, own={}, rng=Random(n)) for n in range(20)]
    assert set(drawn) == {0, 1}
    assert drawn == [arm_choose(**same, own={}, rng=Random(n)) for n in range(20)]
