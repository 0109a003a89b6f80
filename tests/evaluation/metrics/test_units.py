import math

import numpy as np
import pytest

from evaluation.metrics import (
    Cosine,
    UnitTable,
    buckets_of,
    generality,
    parsing_quality,
    sanity_check,
    unit_simulatability,
)


def table(rows, text=()):
    """Rows of (explanation, counterfactual, unit, role, in_input, in_output); instance and system follow e."""
    explanation, counterfactual, unit, role, in_input, in_output = (
        zip(*rows, strict=True) if rows else [()] * 6
    )
    return UnitTable(
        unit=unit,
        counterfactual=counterfactual,
        explanation=explanation,
        instance=["x-" + e for e in explanation],
        system=["s" for _ in rows],
        role=role,
        in_input=in_input,
        in_output=in_output,
        text=text,
    )


NEWS = [
    # the paper's Figure 2, with every unit present: all four in the input, two of four in the output
    ("e1", "c1", "event", "both", True, True),
    ("e1", "c1", "details", "both", True, True),
    ("e1", "c1", "quotes", "both", True, False),
    ("e1", "c1", "earlier", "both", True, False),
    # c2 lacks one unit: not simulatable, its output does not count
    ("e1", "c2", "event", "both", True, True),
    ("e1", "c2", "details", "both", False, True),
    # c3 simulatable, all in the output
    ("e1", "c3", "event", "both", True, True),
]
MEDICAL = [
    # patient details decide simulatability, suggestions precision: 1 of 3 as in the paper's Figure 2
    ("e2", "d1", "discharge", "input", True, None),
    ("e2", "d1", "sneezing", "input", True, None),
    ("e2", "d1", "endoscopy", "output", None, False),
    ("e2", "d1", "culture", "output", None, False),
    ("e2", "d1", "washer", "output", None, True),
]


def test_by_hand_for_both_roles():
    found = unit_simulatability(table(NEWS + MEDICAL))
    # e1: mean of 2/4 and 1; e2: 1/3
    assert found.precision.value == pytest.approx((0.75 + 1 / 3) / 2)
    assert found.precision_micro.value == pytest.approx((0.5 + 1 + 1 / 3) / 3)
    assert found.precision_micro.left_out == {"not simulatable": 1}
    assert found.simulatable.value == 3 / 4
    assert found.buckets.counts == {
        "1.00": 3,
        ".80-.99": 0,
        ".60-.79": 0,
        ".40-.59": 1,
        ".20-.39": 0,
        "0-.19": 0,
    }


def test_the_figure_of_the_paper_where_one_unit_is_absent():
    rows = [(*row[:4], row[2] != "earlier", row[5]) for row in NEWS[:4]]
    found = unit_simulatability(table(rows))
    assert found.simulatable.value == 0.0
    assert found.buckets.counts[".60-.79"] == 1  # 3 of 4
    assert found.precision.reason == "no simulatable counterfactual"


@pytest.mark.parametrize(
    ("labels", "status"),
    [
        ((True, None), "undecided"),
        ((False, None), "not simulatable"),
        ((None, None), "undecided"),
        ((True, True), "simulatable"),
    ],
)
def test_an_unlabelled_unit_decides_only_where_the_others_do_not(labels, status):
    rows = [("e", "c", f"u{i}", "both", label, True) for i, label in enumerate(labels)]
    found = unit_simulatability(table(rows))
    assert found.per_counterfactual.status.tolist() == [status]
    if status == "undecided":
        assert found.simulatable.left_out == {"an input unit without a label decides it": 1}
        assert not found.simulatable.defined


def test_no_input_unit_is_undefined_not_vacuously_simulatable():
    found = unit_simulatability(table([("e", "c", "u", "output", None, True)]))
    assert not found.simulatable.defined
    assert found.simulatable.left_out == {"no input unit": 1}
    assert not found.precision.defined


def test_unlabelled_output_units_are_left_out_of_their_share():
    rows = [("e", "c", "u", "both", True, True), ("e", "c", "v", "both", True, None)]
    found = unit_simulatability(table(rows))
    assert found.precision.value == 1.0
    assert found.precision.left_out == {"output units without a label": 1}


def test_order_and_names_change_nothing():
    rng = np.random.default_rng(0)
    rows = [
        (f"e{e}", f"e{e}c{c}", f"u{u}", "both", bool(rng.random() < 0.9), bool(rng.random() < 0.6))
        for e in range(12)
        for c in range(4)
        for u in range(3)
    ]
    base = unit_simulatability(table(rows), rng=np.random.default_rng(1))
    order = rng.permutation(len(rows))
    moved = unit_simulatability(table([rows[i] for i in order]), rng=np.random.default_rng(1))
    for name in ("precision", "precision_micro", "simulatable"):
        a, b = getattr(base, name), getattr(moved, name)
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high))
    assert base.buckets == moved.buckets


def test_generality_uses_simulatable_counterfactuals_only():
    texts = ["owls fly"] * 4 + ["bears sleep"] * 2 + ["owls fly"]
    found = unit_simulatability(table(NEWS, text=texts))
    result = generality(found.follow_ups(), Cosine())
    assert result.generality.value == pytest.approx(0.0)  # c1 and c3 hold the same text
    assert result.pairs.tolist() == [2]


def test_nothing_at_all():
    empty = unit_simulatability(table([]), rng=np.random.default_rng(0))
    assert not empty.precision.defined
    assert empty.buckets.total == 0


def test_bad_tables_are_named():
    with pytest.raises(ValueError, match="role: expected both, input, output, got patient"):
        table([("e", "c", "u", "patient", True, True)])
    with pytest.raises(ValueError, match="unit: a unit occurs twice"):
        table([NEWS[0], NEWS[0]])
    with pytest.raises(ValueError, match="explanation: counterfactual 'c1' has two"):
        table([NEWS[0], ("e9", *NEWS[1][1:])])


def test_bucket_edges_and_the_paper_total():
    # the paper's news column: 74 + 2 + 2 is 78, though it prints a total of 76; here the total is the sum
    shares = [1.0] * 74 + [0.8, 0.99] + [0.6, 0.79]
    found = buckets_of(shares)
    assert (found.counts["1.00"], found.counts[".80-.99"], found.counts[".60-.79"]) == (74, 2, 2)
    assert found.total == 78
    edges = buckets_of([3 / 5, 2 / 5, 1 / 5, 4 / 5, 6 / 10, 0.0, math.nan])
    assert edges.counts == {"1.00": 0, ".80-.99": 1, ".60-.79": 2, ".40-.59": 1, ".20-.39": 1, "0-.19": 1}
    assert edges.left_out == 1
    with pytest.raises(ValueError, match="shares"):
        buckets_of([1.2])


def test_parsing_quality_gives_the_paper_table():
    # Table 4: news 26 explanations, 1 with something missing; medical 30, 8 missing, 4 incorrect, 1 both
    news = parsing_quality([True] + [False] * 25, [False] * 26, [f"x{i}" for i in range(26)])
    assert (round(news.accuracy.value, 2), news.missing, news.incorrect, news.both) == (0.96, 1, 0, 0)
    missing = [True] * 9 + [False] * 21
    incorrect = [False] * 8 + [True] * 5 + [False] * 17
    medical = parsing_quality(missing, incorrect, [f"x{i}" for i in range(30)])
    assert (round(medical.accuracy.value, 2), medical.missing, medical.incorrect, medical.both) == (
        0.57,
        8,
        4,
        1,
    )


def test_parsing_quality_without_labels():
    found = parsing_quality([None, False], [True, False], ["x", "y"])
    assert found.accuracy.value == 1.0
    assert found.accuracy.left_out == {"without a label": 1}
    assert (found.missing, found.incorrect) == (0, 0)
    assert not parsing_quality([], [], []).accuracy.defined


def test_sanity_check_fails_on_any_missing_unit():
    assert sanity_check(["c", "d"], [1.0, math.nan]).passed is True
    failed = sanity_check(["c", "d"], [1.0, 0.75])
    assert (failed.passed, failed.failures) == (False, (("d", 0.75),))
    assert sanity_check([], []).passed is None
