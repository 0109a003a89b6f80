"""The pure part of allocation."""

from __future__ import annotations

from random import Random

import pytest

from annotator.allocation import exam_draw, presentation_rng, seeded_order


def test_order_is_a_permutation_that_depends_on_keys_and_seed_only():
    keys = [f"k{n}" for n in range(50)]
    order = seeded_order(keys, seed=3)
    assert sorted(order) == list(range(50))
    by_key = dict(zip(keys, order, strict=True))
    mixed = keys[:]
    Random(9).shuffle(mixed)
    assert dict(zip(mixed, seeded_order(mixed, seed=3), strict=True)) == by_key
    assert seeded_order(keys, seed=4) != order


def test_presentation_is_the_same_whenever_it_is_asked_for_and_differs_between_raters():
    first = [presentation_rng(seed=1, item_key="a", rater=5).random() for _ in range(2)]
    assert first[0] == first[1]
    assert presentation_rng(seed=1, item_key="a", rater=6).random() != first[0]


def test_a_draw_takes_evenly_from_the_pools():
    questions = [(f"a{n}", "easy") for n in range(6)] + [(f"b{n}", "hard") for n in range(6)]
    drawn = exam_draw(questions, count=6, rng=Random(1))
    assert len(set(drawn)) == 6
    assert sum(key.startswith("a") for key in drawn) == 3


def test_a_draw_of_more_than_there_is_is_refused():
    with pytest.raises(ValueError, match="3 questions asked for, the exam has 1"):
        exam_draw([("a", "")], count=3, rng=Random(1))
