"""Reliance: by hand, by pandas, planted raters told apart, what it must not depend on, degenerate cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.validation.reliance_cases import (
    ALWAYS,
    DISCERNING,
    NEVER,
    beyond_better,
    cases,
    coverage_cases,
)
from evaluation.metrics import reliance, weight_of_advice

FIGURES = (
    "ai_reliance",
    "self_reliance",
    "over_reliance",
    "under_reliance",
    "switched",
    "alone",
    "model",
    "together",
)

#: before, model, after, correct; what happened
CASES = [
    ("b", "a", "a", "a"),  # wrong, model right, followed
    ("b", "a", "b", "a"),  # wrong, model right, stayed
    ("c", "a", "b", "a"),  # wrong, model right, changed to another wrong answer
    ("a", "b", "a", "a"),  # right, model wrong, stayed
    ("a", "b", "b", "a"),  # right, model wrong, followed
    ("a", "a", "a", "a"),  # both right
    ("b", "b", "a", "a"),  # both wrong, right after
    ("b", "c", "c", "a"),  # both wrong, followed
]  # fmt: skip


def columns(rows=CASES):
    return [list(column) for column in zip(*rows, strict=True)]


def test_by_hand():
    found = reliance(*columns(), list("abcdefgh"))
    values = {name: getattr(found, name) for name in FIGURES}
    assert {name: (one.value, one.n) for name, one in values.items()} == {
        "ai_reliance": (pytest.approx(1 / 3), 3),
        "self_reliance": (0.5, 2),
        "over_reliance": (0.5, 4),  # two of the four wrong answers of the model
        "under_reliance": (0.5, 4),
        "switched": (0.5, 6),
        "alone": (3 / 8, 8),
        "model": (4 / 8, 8),
        "together": (4 / 8, 8),
    }
    assert (found.beyond_alone.value, found.beyond_model.value) == (1 / 8, 0.0)
    assert found.complementarity.value == 0.0


def test_by_pandas():
    rng = np.random.default_rng(1)
    rows = rng.choice(["a", "b", "c"], (500, 4))
    names = [f"x{n}" for n in rng.integers(0, 60, 500)]
    found = reliance(*rows.T.tolist(), names)
    frame = pd.DataFrame(rows, columns=["b", "m", "a", "g"])
    wrong, right = (
        frame[(frame.b != frame.g) & (frame.m == frame.g)],
        frame[(frame.b == frame.g) & (frame.m != frame.g)],
    )
    expected = {
        "ai_reliance": (wrong.a == wrong.g).mean(),
        "self_reliance": (right.a == right.g).mean(),
        "over_reliance": (frame.a == frame.m)[frame.m != frame.g].mean(),
        "under_reliance": (frame.a != frame.m)[frame.m == frame.g].mean(),
        "switched": (frame.a == frame.m)[frame.b != frame.m].mean(),
        "alone": (frame.b == frame.g).mean(),
        "model": (frame.m == frame.g).mean(),
        "together": (frame.a == frame.g).mean(),
    }  # fmt: skip
    assert {name: getattr(found, name).value for name in FIGURES} == pytest.approx(expected)
    better = max(expected["alone"], expected["model"])
    assert found.complementarity.value == pytest.approx(expected["together"] - better)


def test_planted_raters_are_told_apart_in_95_of_100_studies():
    """A thousand studies of 60 instances by one rater of each kind."""
    told, studies = 0, 1_000
    for rng in np.random.default_rng(4).spawn(studies):
        kinds = {}
        for name, follows in (("always", ALWAYS), ("never", NEVER), ("discerning", DISCERNING)):
            found = reliance(*cases(rng, follows, instances=60))
            kinds[name] = (found.ai_reliance.value > 0.5, found.self_reliance.value > 0.5)
        told += kinds == {"always": (True, False), "never": (False, True), "discerning": (True, True)}
    assert told / studies >= 0.95


@pytest.mark.parametrize(("follows", "expected"), [(ALWAYS, (1.0, 0.0, 1.0)), (NEVER, (0.0, 1.0, 0.0))])
def test_who_always_or_never_follows_has_exactly_their_values(follows, expected):
    rng = np.random.default_rng(5)
    found = reliance(*cases(rng, follows, instances=80, raters=3), rng=rng, replicates=200)
    values = (found.ai_reliance, found.self_reliance, found.switched)
    assert tuple(one.value for one in values) == expected
    for one, value in zip(values, expected, strict=True):
        assert one.low <= value <= one.high
        assert one.high - one.low < 0.3
    if follows == ALWAYS:
        assert found.beyond_model.value == 0.0


@pytest.mark.parametrize("name", coverage_cases(1))
def test_intervals_cover(name):
    run, truth = coverage_cases(200)[name]
    found = [run(np.random.default_rng([7, number])) for number in range(100)]
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.88
    assert np.mean([one.value for one in found]) == pytest.approx(
        truth, abs=0.03
    )  # the smaller of two is biased downwards


def test_the_truth_of_complementarity():
    drawn = cases(np.random.default_rng(1), DISCERNING, instances=200_000)
    assert reliance(*drawn).complementarity.value == pytest.approx(beyond_better(DISCERNING, 0.6), abs=0.005)


def test_order_and_names_of_labels_do_not_matter():
    drawn = cases(np.random.default_rng(2), DISCERNING, instances=40, raters=3)
    order = np.random.default_rng(3).permutation(120)
    shuffled = [[column[i] for i in order] for column in drawn]
    renamed = [
        *([{"yes": "B", "no": "A"}[label] for label in column] for column in shuffled[:4]),
        shuffled[4],
    ]
    found = [
        reliance(*one, rng=np.random.default_rng(1), replicates=100) for one in (drawn, shuffled, renamed)
    ]
    for other in found[1:]:
        for name in (*FIGURES, "complementarity"):
            one, again = getattr(found[0], name), getattr(other, name)
            assert (one.value, one.low, one.high) == pytest.approx(
                (again.value, again.low, again.high), nan_ok=True
            )


def test_every_case_twice_changes_no_value():
    once, twice = reliance(*columns(), list("abcdefgh")), reliance(*columns(CASES * 2), list("abcdefgh") * 2)
    assert [getattr(once, name).value for name in FIGURES] == [getattr(twice, name).value for name in FIGURES]


def test_missing_answers_are_left_out_and_counted():
    rows = [
        *CASES,
        (None, "a", "a", "a"),
        ("a", None, "a", "a"),
        ("a", "b", None, "a"),
        ("a", "b", "b", None),
    ]
    found = reliance(*columns(rows), [str(n) for n in range(12)])
    assert found.alone.n == 8
    assert sum(found.alone.left_out.values()) == 4
    assert found.alone.left_out["without a correct answer"] == 1
    assert found.switched.n == 7  # needs no correct answer
    assert found.switched.value == pytest.approx(4 / 7)


def test_what_no_case_shows_is_undefined_with_the_reason():
    found = reliance(["a"], ["a"], ["a"], ["a"], ["x"])
    assert found.ai_reliance.reason == "in no case the person was wrong at first and the model right"
    assert found.over_reliance.reason == "the model was never wrong"
    assert found.switched.reason == "no first answer differs from the model's"
    assert found.complementarity.value == 0.0
    nothing = reliance([], [], [], [], [])
    assert not nothing.complementarity.defined
    assert nothing.complementarity.reason
    with pytest.raises(ValueError, match="one length"):
        reliance(["a"], ["a"], ["a"], ["a"], [])


def test_the_weight_of_advice_by_hand():
    """Half the way; past the model's answer; away from it; no way to go; no answer."""
    numbers = [10, 10, 10, 20, 10], [20, 20, 20, 20, 20], [15, 25, 5, 20, np.nan]
    found = weight_of_advice(*numbers, list("abcde"))
    assert found.value == pytest.approx((0.5 + 1 + 0) / 3)
    assert found.n == 3
    assert sorted(found.left_out.values()) == [1, 1]
    plain = weight_of_advice(*numbers, list("abcde"), truncated=False)
    assert plain.value == pytest.approx((0.5 + 1.5 - 0.5) / 3)


def test_the_weight_of_advice_does_not_depend_on_scale():
    rng = np.random.default_rng(1)
    was, model = rng.normal(size=(2, 60))
    now = was + rng.beta(2, 2, 60) * (model - was)
    names = [f"x{n // 2}" for n in range(60)]
    found = weight_of_advice(was, model, now, names, rng=rng, replicates=200)
    again = weight_of_advice(was * -3 + 7, model * -3 + 7, now * -3 + 7, names, rng=rng, replicates=200)
    assert (found.value, found.low) == pytest.approx((again.value, again.low))
    assert found.low < found.value < found.high
    assert not weight_of_advice([1.0], [1.0], [1.0], ["x"]).defined
    with pytest.raises(ValueError, match="one length"):
        weight_of_advice([1.0], [1.0], [1.0, 2.0], ["x"])
