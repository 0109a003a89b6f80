from collections import Counter

import numpy as np
import pytest

from evaluation.metrics import (
    FollowUps,
    Jaccard,
    all_similarities,
    compared_rows,
    diversity_by_generator,
    growth,
    mix_generators,
)
from tests.evaluation.metrics.factories import GUESS, followups, random_followups

ROWS = [("e", "x", "s", "yes", "yes")] * 6
TEXTS = ["a1", "a2", "a3", "b1", "a1", "b3"]
GENERATORS = ["A", "A", "A", "B", "B", "B"]


def test_mixing_alternates_drops_duplicates_and_keeps_the_budget():
    table = followups(ROWS, text=TEXTS, generator=GENERATORS)
    mixed = mix_generators(table, ["A", "B"])
    assert mixed.text.tolist() == ["a1", "b1", "a2"]  # three, as each generator alone
    assert set(mixed.generator) == {"mixed: A + B"}
    assert mix_generators(table, ["B", "A"]).text.tolist() == [
        "b1",
        "a1",
        "b3",
    ]  # B's own a1 is a repeat: its next
    assert mix_generators(table, ["A", "B"], size=9).text.tolist() == ["a1", "b1", "a2", "b3", "a3"]


def test_mixing_an_unknown_generator_says_which():
    with pytest.raises(ValueError, match="generators: no follow-ups of Z"):
        mix_generators(followups(ROWS, text=TEXTS, generator=GENERATORS), ["A", "Z"])


def test_diversity_has_a_row_for_each_generator_and_mix():
    rows = [
        ("e", "x", "s", "yes", "yes"),
        ("e", "x", "s", GUESS, "yes"),
        ("e", "x", "s", "no", "yes"),
        ("e", "x", "s", "no", "yes"),
    ]
    table = followups(
        rows, text=["Bears sleep", "Owls", "Bears eat", "Bears eat"], generator=["A", "A", "B", "B"]
    )
    found = {
        row.generator: row
        for row in diversity_by_generator(table, {"jaccard": Jaccard()}, mixed=table.take(np.array([0, 2])))
    }
    assert found["A"].simulatable.value == 0.5
    assert not found["A"].generality["jaccard"].generality.defined  # one simulatable follow-up
    assert found["B"].generality["jaccard"].generality.value == 0.0  # the same text twice
    assert found["B"].duplicates == 1
    # mixed: "Bears sleep" and "Bears eat" share 1 word of 3
    assert found["mixed: A + B"].generality["jaccard"].generality.value == pytest.approx(2 / 3)


def test_growth_takes_the_first_of_each_explanation():
    table = random_followups(np.random.default_rng(1), per=6)
    found = growth(table, all_similarities()["jaccard"], (1, 3, 6, 10))
    assert [row.total for row in found] == [16, 48, 96, 96]
    assert not found[0].generality.generality.defined
    assert found[2].generality.generality.value == found[3].generality.generality.value
    assert [row.simulatable for row in found] == sorted(row.simulatable for row in found)
    with pytest.raises(ValueError, match="sizes"):
        growth(table, Jaccard(), (0,))


def test_systems_are_compared_on_a_seeded_mix_of_explained_follow_ups():
    texts = [f"{name}{n}" for name in "ab" for n in range(10)] + ["p", "q"]
    table = FollowUps(
        unit=[str(n) for n in range(22)], explanation=["e"] * 21 + ["f"], instance=["x"] * 22,
        system=["s"] * 21 + ["forced"], simulated=["yes"] * 22, real=["yes"] * 22,
        generator=["a"] * 10 + ["b"] * 10 + ["c", "a"], kind=["counterfactual"] * 20 + ["baseline", "counterfactual"],
        text=texts,
    )  # fmt: skip
    rows = compared_rows(table, forced={"forced"}, size=10, seed=1)
    assert Counter(table.take(rows).generator) == {"a": 5, "b": 5}
    assert rows.tolist() == compared_rows(table, forced={"forced"}, size=10, seed=1).tolist()
    assert rows.tolist() != compared_rows(table, forced={"forced"}, size=10, seed=2).tolist()
    assert compared_rows(table, forced=set(), size=10, seed=1).tolist()[-1]
    whole = compared_rows(table, forced={"forced"}, size=20, seed=1)
    assert whole.tolist() == [True] * 20 + [False] * 2


def test_an_explanations_mix_is_the_same_whatever_else_is_in_the_table():
    """Forced explanations, another order and other explanations leave the draw of an explanation as it is."""
    rng = np.random.default_rng(5)
    names = [f"{system}-{n}" for system in ("a", "forced", "b") for n in range(4)]
    rows = [(name, by, n) for name in names for by in ("g1", "g2") for n in range(9)]

    def drawn(order, *, forced):
        held = [rows[at] for at in order]
        table = FollowUps(
            unit=[f"{name}/{by}/{n}" for name, by, n in held], explanation=[name for name, _, _ in held],
            instance=[name[-1] for name, _, _ in held], system=[name[:-2] for name, _, _ in held],
            simulated=["yes"] * len(held), real=["yes"] * len(held), generator=[by for _, by, _ in held],
            text=[f"{name} {by} {n}" for name, by, n in held],
        )  # fmt: skip
        return set(table.take(compared_rows(table, forced=forced, size=10, seed=3)).unit)

    plain = drawn(range(len(rows)), forced={"forced"})
    assert Counter(unit.partition("/")[0] for unit in plain) == dict.fromkeys(
        [name for name in names if "forced" not in name], 10
    )
    assert plain == {unit for unit in drawn(range(len(rows)), forced=set()) if not unit.startswith("forced")}
    assert plain == drawn(rng.permutation(len(rows)), forced={"forced"})
    some = [at for at, (name, _, _) in enumerate(rows) if name in ("a-1", "b-2")]
    assert drawn(some, forced=set()) == {unit for unit in plain if unit.startswith(("a-1/", "b-2/"))}
