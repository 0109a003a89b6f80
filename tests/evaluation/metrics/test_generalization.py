import numpy as np
import pytest

from evaluation.metrics import gen_u, gen_u_score, generalization_accuracy


def test_accuracy_cells_by_hand():
    rows = [
        # before, after, gold, instance, kind, system, class
        ("no", "yes", "yes", "x", "rephrase", "gpt", "useful"),
        ("yes", "yes", "yes", "x", "rephrase", "gpt", "useful"),
        ("yes", "no", "yes", "y", "rephrase", "t5", "useful"),
        ("no", None, "yes", "y", "rephrase", "t5", "useful"),
        ("no", "no", "no", "z", "counterfactual", "gold", "unsure"),
        ("no", "no", "no", "z", "counterfactual", "gpt", None),
    ]
    cells = generalization_accuracy(*zip(*rows, strict=True), combine=["gpt", "t5"])
    table = {
        (c.kind, c.system, c.utility_class): (c.before.value, c.after.value, c.difference.value)
        for c in cells
    }
    assert table == {
        ("counterfactual", "gold", "unsure"): (1.0, 1.0, 0.0),
        ("rephrase", "gpt", "useful"): (0.5, 1.0, 0.5),
        # each figure has its own denominator: two answers before, one after, one with both
        ("rephrase", "t5", "useful"): (0.5, 0.0, -1.0),
        ("rephrase", "combined", "useful"): pytest.approx((1 / 2, 2 / 3, 0.0)),
    }
    assert cells[2].before.left_out == {}
    assert cells[2].after.left_out == {"without a label after the rationale": 1}
    assert cells[2].difference.left_out == {"without a label both before and after the rationale": 1}
    assert cells[-1].system == "combined"  # after the systems that it pools
    assert (cells[-1].before.n, cells[1].before.n) == (4, 2)


def test_accuracy_does_not_depend_on_order_and_has_paired_intervals():
    rng = np.random.default_rng(0)
    rows = [
        (
            *rng.choice(["yes", "no"], 3),
            f"x{i % 30}",
            rng.choice(["a", "b"]),
            rng.choice(["s", "t"]),
            "useful",
        )
        for i in range(200)
    ]
    base = generalization_accuracy(*zip(*rows, strict=True), rng=np.random.default_rng(1))
    mixed = [rows[i] for i in rng.permutation(200)]
    moved = generalization_accuracy(*zip(*mixed, strict=True), rng=np.random.default_rng(1))
    for one, two in zip(base, moved, strict=True):
        assert one.difference.value == pytest.approx(one.after.value - one.before.value)
        assert (one.difference.low, one.difference.high) == pytest.approx(
            (two.difference.low, two.difference.high)
        )


def test_accuracy_degenerate():
    assert generalization_accuracy([], [], [], [], [], [], []) == []
    cell = generalization_accuracy([None], ["yes"], ["yes"], ["x"], ["k"], ["s"], ["unsure"])[0]
    assert not cell.difference.defined
    with pytest.raises(ValueError, match="combined_name"):
        generalization_accuracy(
            ["y"], ["y"], ["y"], ["x"], ["k"], ["s"], ["u"], combine=["s"], combined_name="s"
        )
    with pytest.raises(ValueError, match="one length"):
        generalization_accuracy(["y"], [], [], [], [], [], [])


@pytest.mark.parametrize(
    ("with_it", "without", "score"),
    [(True, True, 0), (True, False, 1), (False, True, -1), (False, False, -1)],
)
def test_gen_u_score_of_every_case(with_it, without, score):
    assert gen_u_score(with_it, without) == score


def test_gen_u_by_hand():
    rows = [
        # x: 1, 1, -1 -> 1 ; y: 0, -1 tied -> -1 ; z: 1, 0 tied -> 0 ; w: nothing known
        (True, False, "x"),
        (True, False, "x"),
        (False, True, "x"),
        (True, True, "y"),
        (False, False, "y"),
        (True, False, "z"),
        (True, True, "z"),
        (None, True, "w"),
    ]
    found = gen_u(*zip(*rows, strict=True), rng=np.random.default_rng(0))
    assert dict(zip(found.instances, found.values.tolist(), strict=True)) == {"x": 1, "y": -1, "z": 0}
    assert found.ties == 2
    assert found.mean.value == 0.0
    assert found.mean.left_out == {"questions without an outcome": 1, "instances without an outcome": 1}


def test_gen_u_against_the_statistics_module():
    for seed in range(200):
        from statistics import multimode

        rng = np.random.default_rng(seed)
        instance = rng.integers(0, 20, 120).astype(str).tolist()
        with_it, without = rng.random(120) < 0.6, rng.random(120) < 0.5
        found = gen_u(with_it.tolist(), without.tolist(), instance)
        for name, value in zip(found.instances, found.values, strict=True):
            scores = [
                gen_u_score(a, b) for a, b, i in zip(with_it, without, instance, strict=True) if i == name
            ]
            assert value == min(multimode(scores))


def test_gen_u_degenerate():
    assert not gen_u([], [], []).mean.defined
    assert gen_u([False], [True], ["x"]).mean.value == -1.0
    with pytest.raises(ValueError, match="one length"):
        gen_u([True], [], ["x"])
