import math
from dataclasses import replace

import numpy as np
import pytest

from evaluation.metrics import (
    FollowUps,
    by,
    compare_systems,
    per_rater_simulatability,
    resample,
    simulatability,
)
from tests.evaluation.metrics.factories import GUESS, followups, random_followups, shuffled

ROWS = [
    # e1: three follow-ups in C*, two right; one not guessed
    ("e1", "x1", "a", "yes", "yes"),
    ("e1", "x1", "a", "no", "no"),
    ("e1", "x1", "a", "yes", "no"),
    ("e1", "x1", "a", GUESS, "no"),
    # e2: one in C*, wrong
    ("e2", "x2", "a", "no", "yes"),
    # e3: C* empty
    ("e3", "x3", "a", GUESS, "yes"),
    # e4: one in C* but its real output is not known; one tied
    ("e4", "x4", "b", "yes", None),
    ("e4", "x4", "b", None, "yes"),
]


def test_by_hand():
    result = simulatability(followups(ROWS, missing=["tie between raters"] * len(ROWS)))
    # macro: e1 2/3, e2 0/1 -> mean 1/3; e3 has no C*, e4 no known output
    assert result.precision.value == pytest.approx((2 / 3 + 0) / 2)
    assert result.precision.n == 2
    assert result.precision.left_out == {"real output not known": 1, "no simulatable follow-up": 1}
    # micro: 2 right of 4 with a known output (3 of e1, 1 of e2)
    assert result.precision_micro.value == pytest.approx(2 / 4)
    assert result.precision_micro.n == 4
    assert result.precision_micro.left_out == {
        "cannot guess": 2,
        "real output not known": 1,
        "tie between raters": 1,
    }
    # simulatable: e1 3 of 4, e2 1 of 1, e3 0 of 1, e4 1 of 1 (the tie is out) -> 5 of 7
    assert result.simulatable.value == pytest.approx(5 / 7)
    assert result.simulatable.left_out == {"tie between raters": 1}
    assert result.simulatable_macro.value == pytest.approx((3 / 4 + 1 + 0 + 1) / 4)
    values = {row["explanation"]: row["precision"] for row in result.per_explanation.rows()}
    assert values == {"e1": pytest.approx(2 / 3), "e2": 0.0, "e3": None, "e4": None}


def test_against_plain_loops_on_200_random_tables():
    for seed in range(200):
        table = random_followups(np.random.default_rng(seed), instances=6)
        values, right, total = [], 0, 0
        for name in set(table.explanation):
            inside = [
                s == r
                for e, s, r in zip(table.explanation, table.simulated, table.real, strict=True)
                if e == name and s not in (None, GUESS) and r is not None
            ]
            right, total = right + sum(inside), total + len(inside)
            if inside:
                values.append(sum(inside) / len(inside))
        result = simulatability(table)
        assert result.precision.value == pytest.approx(sum(values) / len(values), abs=1e-12)
        assert result.precision_micro.value == pytest.approx(right / total, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_row_order_and_names_change_nothing(seed):
    rng = np.random.default_rng(seed)
    table = random_followups(rng)
    renamed = followups(
        [
            ("E" + e, "X" + x, s, v and v.upper(), r and r.upper())
            for e, x, s, v, r in zip(
                table.explanation, table.instance, table.system, table.simulated, table.real, strict=True
            )
        ]
    )
    renamed = FollowUps(
        **{name: getattr(renamed, name) for name in ("unit", "explanation", "instance", "system")},
        simulated=renamed.simulated,
        real=renamed.real,
        abstain={GUESS.upper()},
    )
    expected = simulatability(table, rng=np.random.default_rng(1))
    for other in (shuffled(table, rng), renamed):
        found = simulatability(other, rng=np.random.default_rng(1))
        for name in ("precision", "precision_micro", "simulatable", "simulatable_macro"):
            a, b = getattr(expected, name), getattr(found, name)
            assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), abs=1e-12)
            assert (a.n, a.left_out) == (b.n, b.left_out)


def test_doubling_every_instance_keeps_the_value_and_narrows_the_interval():
    table = random_followups(np.random.default_rng(2), instances=20)
    rows = list(
        zip(table.explanation, table.instance, table.system, table.simulated, table.real, strict=True)
    )
    double = followups(rows + [(e + "'", x + "'", s, v, r) for e, x, s, v, r in rows])
    one = simulatability(table, rng=np.random.default_rng(0)).precision
    two = simulatability(double, rng=np.random.default_rng(0)).precision
    assert two.value == pytest.approx(one.value, abs=1e-12)
    assert two.high - two.low < 0.85 * (one.high - one.low)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "no simulatable follow-up with a known real output"),
        ([("e", "x", "s", GUESS, "yes")], "no simulatable follow-up with a known real output"),
        ([("e", "x", "s", None, "yes")], "no simulatable follow-up with a known real output"),
        ([("e", "x", "s", "yes", None)], "no simulatable follow-up with a known real output"),
    ],
)
def test_precision_is_undefined_without_a_known_simulatable_follow_up(rows, reason):
    result = simulatability(followups(rows), rng=np.random.default_rng(0))
    assert math.isnan(result.precision.value)
    assert result.precision.reason == reason
    assert math.isnan(result.precision_micro.value)


def test_nothing_labelled_leaves_the_share_undefined_but_all_unguessed_is_zero():
    nothing = simulatability(followups([("e", "x", "s", None, "yes")]))
    assert nothing.simulatable.reason == "no follow-up has an aggregated label"
    assert nothing.simulatable.left_out == {"not rated": 1}
    unguessed = simulatability(followups([("e", "x", "s", GUESS, "yes")]))
    assert unguessed.simulatable.value == 0.0


def test_one_instance_has_a_value_but_no_interval():
    result = simulatability(followups([("e", "x", "s", "yes", "yes")]), rng=np.random.default_rng(0))
    assert result.precision.value == 1.0
    assert math.isnan(result.precision.low)
    assert result.precision.interval == "none: at least 8 instances are needed, found 1"


def test_total_disagreement_with_the_system_is_zero_and_defined():
    rows = [(f"e{i}", f"x{i}", "s", "yes", "no") for i in range(8)]
    result = simulatability(followups(rows), rng=np.random.default_rng(0))
    assert (result.precision.value, result.precision.low) == (0.0, 0.0)
    assert result.precision.interval == "95 % Wilson interval over 8 instances"


def test_wrong_shapes_and_mixed_explanations_are_named():
    with pytest.raises(ValueError, match="real: expected 1 values"):
        FollowUps(unit=["u"], explanation=["e"], instance=["x"], system=["s"], simulated=["y"], real=[])
    with pytest.raises(ValueError, match="system: explanation 'e' has two: a, b"):
        followups([("e", "x", "a", "yes", "yes"), ("e", "x", "b", "yes", "yes")])
    with pytest.raises(ValueError, match="instance: explanation 'e' has two"):
        followups([("e", "x", "a", "yes", "yes"), ("e", "y", "a", "yes", "yes")])
    with pytest.raises(ValueError, match="unit: a unit occurs twice"):
        FollowUps(
            unit=["u", "u"],
            explanation=["e", "e"],
            instance=["x", "x"],
            system=["s", "s"],
            simulated=["y", "y"],
            real=["y", "y"],
        )


def test_common_instances_leave_out_what_one_system_lacks():
    rows = [
        ("a1", "x1", "a", "yes", "yes"),
        ("b1", "x1", "b", "yes", "no"),
        ("a2", "x2", "a", "yes", "no"),
        ("b2", "x2", "b", GUESS, "no"),  # b is not defined on x2, so a's zero there does not count
        ("a3", "x3", "a", "no", "no"),  # b has nothing on x3
    ]
    found = compare_systems(followups(rows))
    assert found.common["a"].precision.value == 1.0  # x1 only
    assert found.common["b"].precision.value == 0.0
    assert found.unrestricted["a"].precision.value == pytest.approx(2 / 3)  # 1, 0, 1
    assert (found.instances, found.left_out) == (1, 2)
    alone = compare_systems(followups(rows), ["a"])
    assert alone.common["a"].precision.value == alone.unrestricted["a"].precision.value


def test_comparing_an_unknown_system_says_which():
    with pytest.raises(ValueError, match="systems: no follow-ups of z"):
        compare_systems(followups(ROWS), ["a", "z"])


def test_no_common_instance_is_undefined():
    found = compare_systems(followups(ROWS))
    assert found.instances == 0
    assert not found.common["a"].precision.defined


def test_by_generator_splits_follow_ups_of_one_explanation():
    rows = [("e", "x", "s", "yes", "yes"), ("e", "x", "s", "yes", "no")]
    found = by(followups(rows, generator=["g1", "g2"]), "generator")
    assert (found["g1"].precision.value, found["g2"].precision.value) == (1.0, 0.0)


def test_per_rater_is_the_mean_of_each_raters_own_metric():
    base = followups([("e1", "x1", "s", None, "yes"), ("e2", "x2", "s", None, "no")])
    tables = [
        base.with_labels({"u0": "yes", "u1": "yes"}),  # precision (1 + 0) / 2
        base.with_labels({"u0": "yes", "u1": GUESS}),  # precision 1, u1 not simulatable
        base.with_labels({}),  # rated nothing: left out of the mean
    ]
    found = per_rater_simulatability(tables, rng=np.random.default_rng(0))
    assert found.precision.value == pytest.approx((0.5 + 1.0) / 2)
    assert found.simulatable.value == pytest.approx((1.0 + 0.5) / 2)
    assert [row["right"] for row in found.per_explanation.rows()] == [2, 0]
    again = per_rater_simulatability(tables[::-1], rng=np.random.default_rng(0))
    assert (again.precision.value, again.precision.low) == (found.precision.value, found.precision.low)
    assert not per_rater_simulatability([]).precision.defined


def test_many_raters_are_held_sparse_with_the_same_result(monkeypatch):
    rng = np.random.default_rng(0)
    tables = [random_followups(rng) for _ in range(5)]
    dense = per_rater_simulatability(tables, rng=np.random.default_rng(1)).precision
    monkeypatch.setattr(resample, "_MOST_DENSE", 1)
    thin = per_rater_simulatability(tables, rng=np.random.default_rng(1)).precision
    assert thin.value == pytest.approx(dense.value, abs=1e-12)
    assert (thin.low, thin.high) == pytest.approx((dense.low, dense.high), abs=0.02)


def test_published_means_of_the_four_systems():
    # Chen et al. 2024: Table 6's precision is the mean of Table 4's four cells
    table4 = {"StrategyQA": [77.3, 76.8, 81.1, 83.9], "SHP": [86.3, 85.2, 93.0, 91.5]}
    for (_, cells), printed in zip(table4.items(), (79.8, 89.0), strict=True):
        rows = []
        for number, cell in enumerate(cells):  # 1,000 follow-ups a system, as many right as the cell says
            right = round(cell * 10)
            rows += [
                (f"e{number}", "x", f"s{number}", "yes", "yes" if i < right else "no") for i in range(1000)
            ]
        assert round(100 * simulatability(followups(rows)).precision.value, 1) == printed


def test_macro_and_micro_differ_as_in_the_public_replication():
    # 163 right of 203 pooled is 80.30; the macro mean weighs each explanation alike and may lie far from it
    rows = [("big", "x", "s", "yes", "yes")] * 162 + [("big", "x", "s", "yes", "no")] * 39
    rows += [("one", "y", "s", "yes", "yes"), ("two", "z", "s", "yes", "no")]
    result = simulatability(followups(rows))
    assert round(100 * result.precision_micro.value, 2) == 80.30
    assert result.precision.value == pytest.approx((162 / 201 + 1 + 0) / 3)


def test_a_refusal_is_an_outcome_that_no_prediction_gets_right():
    """Ten of 63 follow-ups were refused. Dropped, they would raise the precision of the same predictions."""
    answered = [(f"e{i}", f"x{i}", "s", "yes", "yes" if i < 48 else "no") for i in range(53)]
    refused = [(f"e{i}", f"x{i}", "s", "yes", "refusal" if i % 2 else "neither") for i in range(53, 63)]
    found = simulatability(followups(answered + refused))
    assert found.precision.value == pytest.approx(48 / 63)
    assert found.precision_micro.value == pytest.approx(48 / 63)
    assert (found.unanswered.value, found.unanswered.n) == (pytest.approx(10 / 63), 63)
    assert found.per_explanation.unanswered.sum() == 10
    dropped = simulatability(followups(answered + [(*row[:4], None) for row in refused]))
    assert dropped.precision.value == pytest.approx(48 / 53)
    assert dropped.precision.left_out == {"real output not known": 10}
    assert dropped.unanswered.value == 0.0


def test_refusals_can_be_left_out_and_are_then_counted():
    answered = [(f"e{i}", f"x{i}", "s", "yes", "yes" if i < 48 else "no") for i in range(53)]
    refused = [(f"e{i}", f"x{i}", "s", "yes", "refusal") for i in range(53, 63)]
    unknown = [("e63", "x63", "s", "yes", None)]
    found = simulatability(replace(followups(answered + refused + unknown), refusals_left_out=True))
    assert found.precision.value == pytest.approx(48 / 53)
    assert found.precision_micro.n == 53
    expected = {"refused or answered with neither answer": 10, "real output not known": 1}
    assert found.precision.left_out == found.precision_micro.left_out == expected
    assert (found.unanswered.value, found.unanswered.n) == (pytest.approx(10 / 63), 63)
    assert found.unanswered.left_out == {"real output not known": 1}


def test_ties_can_count_as_wrong():
    """Three follow-ups right, one tied, one that nobody rated: 3/3 or 3/4, never 3/5."""
    table = followups([(f"e{i}", f"x{i}", "s", "yes", "yes") for i in range(3)] + [("e3", "x3", "s", None, "yes"),
                      ("e4", "x4", "s", None, "yes")])  # fmt: skip
    table = table.with_columns(missing=["", "", "", "raters tie", "not rated"])
    assert simulatability(table).precision.value == 1.0
    found = simulatability(replace(table, ties_wrong=True))
    assert found.precision.value == found.precision_micro.value == pytest.approx(3 / 4)
    assert found.precision.left_out == {"no labelled follow-up": 1}
    assert found.precision_micro.left_out == {"not rated": 1}
    assert found.simulatable.value == 1.0
    assert found.simulatable.left_out == {"raters tie": 1, "not rated": 1}
    assert replace(table, ties_wrong=True).take(np.arange(4)).ties_wrong
