"""Simulators scored against the whole distribution of people's labels."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from evaluation.agreement import Ratings, soft_scores


def table(units: list[tuple[str, str]]) -> Ratings:
    """Each unit's people as letters, then the simulator's label."""
    rows = [
        (f"r{place}", f"u{number}", label)
        for number, (given, _) in enumerate(units)
        for place, label in enumerate(given)
    ]
    rows += [("gpt", f"u{number}", own) for number, (_, own) in enumerate(units) if own]
    return Ratings.from_rows(rows, simulators=["gpt"])


def test_by_hand() -> None:
    # people y y n, gpt y, K = 2. Without a y: y n, so n_y = 1 of 2; without the n: y y.
    found = soft_scores(table([("yyn", "y")]), "gpt")
    entropies = [-np.log2(1.5 / 3), -np.log2(1.5 / 3), -np.log2(2.5 / 3)]
    assert found.cross_entropy.value == pytest.approx(np.mean(entropies))
    # A person: each y against y n; the n against y y.
    assert found.people_cross_entropy.value == pytest.approx(
        np.mean([-np.log2(1.5 / 3), -np.log2(1.5 / 3), -np.log2(0.5 / 3)])
    )
    assert found.cross_entropy.n == 1


@pytest.mark.parametrize("seed", range(5))
def test_against_plain_loops_and_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    units = [
        ("".join(rng.choice(list("abc"), rng.integers(1, 6))), str(rng.choice(["a", "b", "c", ""])))
        for _ in range(30)
    ]
    ratings = table(units)
    labels = list(ratings.labels)
    found = soft_scores(ratings, "gpt")
    scores: dict[str, list[float]] = {
        "entropy": [],
        "divergence": [],
        "own entropy": [],
        "own divergence": [],
    }
    for given, own in units:
        if len(given) < 2 or not own:
            continue
        each: dict[str, list[float]] = {name: [] for name in scores}
        for place, person in enumerate(given):
            rest = given[:place] + given[place + 1 :]
            counts = np.array([rest.count(label) for label in labels], dtype=float)
            smoothed = (counts + 0.5) / (counts + 0.5).sum()
            for name, label in (("", own), ("own ", person)):
                at = labels.index(label)
                each[f"{name}entropy"].append(-np.log2(smoothed[at]))
                exact = np.eye(len(labels))[at]
                each[f"{name}divergence"].append(jensenshannon(counts / counts.sum(), exact, base=2) ** 2)
        for name, values in each.items():
            scores[name].append(float(np.mean(values)))
    assert found.cross_entropy.value == pytest.approx(np.mean(scores["entropy"]), abs=1e-12)
    assert found.divergence.value == pytest.approx(np.mean(scores["divergence"]), abs=1e-8)
    assert found.people_cross_entropy.value == pytest.approx(np.mean(scores["own entropy"]), abs=1e-12)
    assert found.people_divergence.value == pytest.approx(np.mean(scores["own divergence"]), abs=1e-8)
    assert found.divergence.n == len(scores["entropy"])


def test_a_simulator_as_good_as_a_person_has_a_persons_score() -> None:
    rng = np.random.default_rng(0)
    units = []
    for _ in range(400):
        share = rng.dirichlet([1, 1, 1])
        given = rng.choice(list("abc"), 5, p=share)
        units.append(("".join(given), str(rng.choice(list("abc"), p=share))))
    found = soft_scores(table(units), "gpt", rng=np.random.default_rng(0), replicates=200)
    for theirs, people in (
        (found.cross_entropy, found.people_cross_entropy),
        (found.divergence, found.people_divergence),
    ):
        assert people.low < theirs.value < people.high


def test_what_has_no_score() -> None:
    found = soft_scores(table([("y", "y"), ("yn", "")]), "gpt")
    assert found.divergence.reason == "no unit was rated by gpt and by two people"
    with pytest.raises(ValueError, match="'ann' is none of the table's simulators"):
        soft_scores(table([("yn", "y")]), "ann")
    alike = soft_scores(table([("yy", "y"), ("nn", "n")]), "gpt")
    assert alike.divergence.value == alike.people_divergence.value == 0
