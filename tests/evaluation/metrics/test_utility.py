import json
import math

import numpy as np
import pytest

from evaluation.metrics import (
    per_annotator_utility,
    theils_u,
    utility,
    utility_by_system,
    utility_class,
    utility_classes,
)

BEFORE_AFTER_GOLD = (
    "human_predicted_label_before_rationale",
    "human_predicted_label_after_rationale",
    "ground_truth_label",
)


def rows_of(useful, not_useful, unsure):
    """(before, after) labels of this many rationales of each class, gold "yes"."""
    return [("no", "yes")] * useful + [("yes", "no")] * not_useful + [("yes", "yes")] * unsure


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (False, True, "useful"),
        (False, False, "not useful"),
        (True, False, "not useful"),
        (True, True, "unsure"),
        (None, True, None),
        (None, False, None),
        (True, None, None),
    ],
)
def test_every_case_of_the_rule(before, after, expected):
    assert utility_class(before, after) == expected


def test_by_hand():
    before = ["no", "yes", "yes", "no", None]
    after = ["yes", "no", "yes", "no", "no"]
    found = utility(before, after, ["yes"] * 5, list("abcde"))
    assert found.counts == {"useful": 1, "not useful": 2, "unsure": 1}
    assert found.shares["not useful"].value == 0.5
    assert found.flows == {"right -> right": 1, "right -> wrong": 1, "wrong -> right": 1, "wrong -> wrong": 1}
    assert found.right_before.value == found.right_after.value == 0.5
    assert found.gain.value == 0.0
    assert found.gain.left_out == {"without a label before, after, or a gold label": 1}
    assert sum(share.value for share in found.shares.values()) == pytest.approx(1.0)


def truncated(share):
    return math.floor(share * 10_000) / 100


def test_published_table_3_from_its_counts():
    counts = {"gpt3": (93, 118, 247), "t5-3b": (83, 161, 214), "t5-large": (69, 202, 187)}
    printed = {
        "all": (17.83, 35.00, 47.16),
        "gpt3": (20.30, 25.76, 53.93),
        "t5-3b": (18.12, 35.15, 46.72),
        "t5-large": (15.06, 44.10, 40.82),
    }
    rows = [(b, a, name, f"x{i}") for name, c in counts.items() for i, (b, a) in enumerate(rows_of(*c))]
    before, after, system, instance = zip(*rows, strict=True)
    found = utility_by_system(before, after, ["yes"] * len(rows), instance, system)
    assert list(found) == ["gpt3", "t5-3b", "t5-large", "all"]
    assert found["all"].counts == {"useful": 245, "not useful": 481, "unsure": 648}
    assert found["all"].shares["useful"].n == 1374
    for name, expected in printed.items():
        assert tuple(truncated(share.value) for share in found[name].shares.values()) == expected


def test_released_judgments_give_the_counts_of_their_readme(public_data):
    path = public_data.folder / "rationale_human_utility" / "rationale_utility.json"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    names = {1: "useful", 0: "unsure", -1: "not useful"}
    labels = [[str(row[key]) for row in rows] for key in BEFORE_AFTER_GOLD]
    assert utility_classes(*labels) == [names[row["rationale_utility"]] for row in rows]
    found = utility_by_system(
        *labels, [row["question"] for row in rows], [row["rationale_source"] for row in rows]
    )
    counts = {name: tuple(result.counts.values()) for name, result in found.items()}
    assert counts == {
        "gpt3": (66, 153, 239),
        "t53b": (71, 173, 214),
        "t5large": (57, 189, 212),
        "all": (194, 515, 665),
    }
    rights = {
        name: (result.right_before, result.right_after) for name, result in found.items() if name != "all"
    }
    assert {n: (round(b.value * b.n), round(a.value * a.n)) for n, (b, a) in rights.items()} == {
        "gpt3": (309, 305),
        "t53b": (292, 285),
        "t5large": (298, 269),
    }


def test_order_names_and_doubling():
    rng = np.random.default_rng(0)
    before, after = rng.choice(["yes", "no"], 50).tolist(), rng.choice(["yes", "no"], 50).tolist()
    gold, instance = rng.choice(["yes", "no"], 50).tolist(), [f"x{i % 20}" for i in range(50)]
    base = utility(before, after, gold, instance, rng=np.random.default_rng(1))
    order = rng.permutation(50)
    moved = utility(
        *[[column[i] for i in order] for column in (before, after, gold, instance)],
        rng=np.random.default_rng(1),
    )
    swap = {"yes": "B", "no": "A"}
    renamed = utility(
        *[[swap[v] for v in column] for column in (before, after, gold)],
        instance,
        rng=np.random.default_rng(1),
    )
    for other in (moved, renamed):
        assert other.counts == base.counts
        assert other.flows == base.flows
        for name in base.shares:
            assert other.shares[name].low == pytest.approx(base.shares[name].low)
    double = utility(before * 2, after * 2, gold * 2, instance + [x + "'" for x in instance])
    assert double.gain.value == pytest.approx(base.gain.value)


def test_degenerate():
    empty = utility([], [], [], [], rng=np.random.default_rng(0))
    assert not empty.shares["useful"].defined
    assert not utility(["yes"], [None], ["yes"], ["x"]).gain.defined
    always = utility(["yes"] * 8, ["yes"] * 8, ["yes"] * 8, list("abcdefgh"), rng=np.random.default_rng(0))
    assert (always.shares["unsure"].value, always.shares["unsure"].high) == (1.0, 1.0)
    assert (always.shares["useful"].value, always.shares["useful"].low) == (0.0, 0.0)
    assert always.shares["useful"].high == pytest.approx(1 - always.shares["unsure"].low)
    with pytest.raises(ValueError, match="one length"):
        utility(["yes"], [], ["yes"], ["x"])
    with pytest.raises(ValueError, match="'all'"):
        utility_by_system(["yes"], ["yes"], ["yes"], ["x"], ["all"])


def test_per_annotator_distribution_differs_from_the_majority():
    # three annotators, one instance, gold yes: two go no -> yes, one stays no
    found = per_annotator_utility(
        ["no", "no", "no"], ["yes", "yes", "no"], ["yes"] * 3, ["x"] * 3, ["ann", "bob", "cat"]
    )
    assert found.shares["useful"].value == pytest.approx(2 / 3)
    assert found.annotators["cat"] == {"useful": 0, "not useful": 1, "unsure": 0}


def test_theils_u_of_utility_by_task_correctness_has_a_direction():
    utility_labels = ["useful"] * 5 + ["unsure"] * 5 + ["not useful"] * 10
    correct = ["right"] * 10 + ["wrong"] * 10
    assert theils_u(correct, utility_labels).value == pytest.approx(1.0)
    assert theils_u(utility_labels, correct).value == pytest.approx(2 / 3)  # H = 1.5 bits, H(.|correct) = .5
