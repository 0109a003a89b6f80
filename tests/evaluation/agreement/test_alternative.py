"""The alternative annotator test: by hand, the published data, a plain reimplementation, degenerate tables."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from benchmarks.validation.alternative_grid import panel_coverage
from benchmarks.validation.panels import PANELS
from evaluation.agreement import Ratings, alternative_annotator_test
from evaluation.agreement.winning_rate import winning_bounds
from tests.evaluation.agreement.tables import random_matrices, ratings_of

PUBLISHED = {
    "gemini_flash": 0.72,
    "gemini_pro": 0.76,
    "gpt-4o": 0.77,
    "llama-31": 0.69,
    "gpt-4o-mini": 0.74,
    "mistral-v03": 0.68,
}


def test_mtbench(public_data):
    folder = public_data.folder / "human_and_llm"
    people, models = (json.loads((folder / f"mtbench_{kind}.json").read_text()) for kind in ("human", "llm"))
    rows = [
        (r, u, label) for part in (people, models) for r, given in part.items() for u, label in given.items()
    ]
    table = Ratings.from_rows(rows, simulators=models)
    for model, rho in PUBLISHED.items():
        found = alternative_annotator_test(table, model, epsilon=0.2)
        if not public_data.real:
            assert [human.units for human in found.humans] == [100, 80, 80]
            assert 0 < found.advantage_probability.value < 1
            continue
        assert found.winning_rate.value == 0.0
        assert found.may_replace is False
        assert round(found.advantage_probability.value, 2) == rho
        assert [(human.human, human.units) for human in found.humans] == [
            ("author_0", 74),
            ("author_4", 84),
            ("expert_24", 88),
        ]


def test_by_hand():
    # Person a over 4 units: a and c agree on 3 of 4, the simulator s and c on 2 of 4 (units 1, 4).
    table = ratings_of([[0, 1, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]], simulators=["r002"])
    found = alternative_annotator_test(table, "r002", epsilon=0.2, min_units=4)
    a = found.humans[0]
    # Unit by unit (a right, s right): 1 1, 1 0, 1 0, 0 1: a >= s in the first three, s >= a in 1 and 4.
    assert (a.human_advantage, a.simulator_advantage) == (0.75, 0.5)
    # d = 0, 1, 1, -1: mean 1/4, variance 11/12; t = (.25 - .2) / sqrt(11/48).
    assert a.p == pytest.approx(stats.t.cdf(0.05 / np.sqrt(11 / 48), 3))
    assert found.advantage_probability.n == 2


def plain(matrix, simulator, epsilon, level, least):
    """The test as its authors describe it, person by person and unit by unit."""
    people = [r for r in range(matrix.shape[0]) if r != simulator]
    p_values, advantages = {}, {}
    for person in people:
        wins_person, wins_simulator = [], []
        for column in matrix.T:
            rest = [column[r] for r in people if r != person and not np.isnan(column[r])]
            if np.isnan(column[person]) or np.isnan(column[simulator]) or not rest:
                continue

            def score(x, rest=rest):
                if level == "nominal":
                    return np.mean([x == y for y in rest])
                return -np.sqrt(np.mean([(x - y) ** 2 for y in rest]))

            mine, its = score(column[person]), score(column[simulator])
            wins_person.append(mine >= its - 1e-9)
            wins_simulator.append(its >= mine - 1e-9)
        if len(wins_person) >= least:
            d = np.array(wins_person, dtype=float) - np.array(wins_simulator, dtype=float)
            with np.errstate(divide="ignore", invalid="ignore"):
                t = (d.mean() - epsilon) / (d.std(ddof=1) / np.sqrt(d.size))
            p_values[person] = stats.t.cdf(t, d.size - 1)
            advantages[person] = np.mean(wins_simulator)
    if not p_values:
        return None
    p = np.array(list(p_values.values()))
    order = np.argsort(p)
    limits = np.arange(1, p.size + 1) / p.size * 0.05 / (1 / np.arange(1, p.size + 1)).sum()
    below = np.flatnonzero(p[order] <= limits)
    return (below.max() + 1 if below.size else 0) / p.size, np.mean(list(advantages.values()))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_against_a_plain_reimplementation(level):
    compared = wins = 0
    for matrix in random_matrices(340, seed=71):
        table = ratings_of(matrix, labels=[str(i) for i in range(5)], level=level, simulators=["r001"])
        expected = plain(matrix, 1, 0.35, level, 3)
        if "r001" not in table.raters:
            continue
        found = alternative_annotator_test(table, "r001", epsilon=0.35, min_units=3)
        if expected is None:
            assert not found.winning_rate.defined
            assert found.may_replace is None
            continue
        assert (found.winning_rate.value, found.advantage_probability.value) == pytest.approx(
            expected, abs=1e-12
        )
        compared += 1
        wins += expected[0] > 0
    assert compared >= 200
    assert wins > 10


def test_a_copy_of_a_person_wins_and_noise_does_not():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 300)
    people = [np.where(rng.random(300) < 0.8, truth, rng.integers(0, 3, 300)) for _ in range(4)]
    good = np.where(rng.random(300) < 0.9, truth, rng.integers(0, 3, 300))
    noise = rng.integers(0, 3, 300)
    table = ratings_of([*people, good, noise], simulators=["r004", "r005"])
    assert alternative_annotator_test(table, "r004").winning_rate.value == 1.0
    assert alternative_annotator_test(table, "r004").may_replace
    assert alternative_annotator_test(table, "r005").winning_rate.value == 0.0


def test_what_is_left_out_is_counted():
    matrix = np.ones((4, 40))
    matrix[0, :15] = np.nan  # r000 has 25 units
    matrix[1, 35:] = np.nan
    matrix[2, :3] = np.nan  # units 0-2 have r001 only
    matrix[3, 30:32] = np.nan  # the simulator lacks two
    table = ratings_of(matrix, labels=["0", "1"], simulators=["r003"])
    found = alternative_annotator_test(table, "r003")
    assert found.left_out == {
        "units with fewer than two people": 3,
        "units without a label of the simulator": 2,
    }
    assert found.skipped == (("r000", 23),)
    assert [(human.human, human.units) for human in found.humans] == [("r001", 30), ("r002", 35)]
    # All alike: no difference varies, and 0 is below epsilon.
    assert [human.p for human in found.humans] == [0.0, 0.0]
    assert found.winning_rate.value == 1.0
    assert alternative_annotator_test(table, "r003", epsilon=0.0).winning_rate.value == 0.0


def test_rounding_breaks_no_tie():
    rows = [
        ("a", "u", "0.1"),
        ("b", "u", "0.2"),
        ("s", "u", "0.3"),
        ("a", "v", "0.1"),
        ("b", "v", "0.2"),
        ("s", "v", "0.3"),
    ]
    found = alternative_annotator_test(
        Ratings.from_rows(rows, level="interval", simulators=["s"]), "s", min_units=2
    )
    assert [(h.human_advantage, h.simulator_advantage) for h in found.humans] == [(1.0, 1.0), (1.0, 0.0)]


def test_degenerate():
    table = ratings_of([[1, 2], [1, 2], [1, 1]], simulators=["r002"])
    found = alternative_annotator_test(table, "r002")
    assert found.winning_rate.reason == "no person has 30 units shared with another person and r002"
    assert dict(found.skipped) == {"r000": 2, "r001": 2}
    assert found.to_dict()["winning_rate"]["value"] is None
    alone = alternative_annotator_test(ratings_of([[1, 2]], simulators=["r000"]), "r000")
    assert not alone.advantage_probability.defined
    with pytest.raises(ValueError, match="simulator: 'r001' is not a simulator"):
        alternative_annotator_test(table, "r001")
    with pytest.raises(ValueError, match="epsilon"):
        alternative_annotator_test(table, "r002", epsilon=1.5)


def panel(
    rng: np.random.Generator, skill: np.ndarray, units: int, *, k: int = 3, simulator: float = 0.8
) -> Ratings:
    """k of the people judge each unit, and one simulator all of them; two labels."""
    people = len(skill)
    truth = rng.integers(0, 2, units)
    rated = np.argsort(rng.random((units, people)), axis=1)[:, :k]
    given = np.where(rng.random(rated.shape) < skill[rated], truth[:, None], 1 - truth[:, None])
    own = np.where(rng.random(units) < simulator, truth, 1 - truth)
    return Ratings(
        (*(f"r{n:02}" for n in range(people)), "zz"), tuple(map(str, range(units))), ("0", "1"),
        np.concatenate([rated.ravel(), np.full(units, people)]).astype(np.int32),
        np.concatenate([np.arange(units).repeat(k), np.arange(units)]).astype(np.int32),
        np.concatenate([given.ravel(), own]).astype(np.int32), simulators=frozenset({"zz"}),
    )  # fmt: skip


def test_intervals_of_the_advantage_probability_cover() -> None:
    """60 studies of 5 people on 120 units; the truth is what these people have on 20,000 units. 57 expected."""
    hits = 0
    for number in range(60):
        rng = np.random.default_rng([7, number])
        skill = rng.beta(12, 4, 5)
        truth = alternative_annotator_test(panel(rng, skill, 20_000), "zz").advantage_probability.value
        found = alternative_annotator_test(panel(rng, skill, 120), "zz", rng=rng, replicates=200)
        one = found.advantage_probability
        assert one.low < one.value < one.high
        assert one.interval.endswith("replicates of 120 units, for these raters")
        hits += one.low <= truth <= one.high
        assert np.isnan(found.winning_rate.low)
        assert found.winning_rate.interval.startswith("none: a share of 5 people has 6 possible values")
        assert found.winning_bounds.at_least <= found.winning_rate.value <= found.winning_bounds.at_most
        assert found.winning_bounds.how == (
            "simultaneous bounds, Holm's tests over 5 people and 120 units, for these raters"
        )
    assert hits >= 51  # 50 or fewer of 60 have a chance of .001


def test_the_winning_rates_bounds_by_hand() -> None:
    """Person 1: d = 0 on 39 of 40 units, 1 on one; person 2: d = 1 on 30 of 40; person 3: d = 1 on 10 of 40. Epsilon .2."""
    d = np.zeros((40, 3))
    d[0, 0] = 1
    d[:30, 1] = 1
    d[:10, 2] = 1
    found = winning_bounds(1 / 3, d, np.ones((40, 3)), epsilon=0.2, word="units")
    p = []
    for column, more in ((0, 1.0), (1, -1.0), (2, 1.0)):
        values = np.append(d[:, column], more)  # one unit more against the finding
        t = (values.mean() - 0.2) / (values.std(ddof=1) / np.sqrt(41))
        p.append(stats.t.cdf(more * t, 39))
    # Holm's first threshold is .025 / 3 on each side; the third person is on neither.
    assert p[0] < 0.025 / 3
    assert p[1] < 0.025 / 3
    assert p[2] > 0.025
    assert (found.at_least, found.at_most) == (pytest.approx(1 / 3), pytest.approx(2 / 3))


def test_units_of_few_instances_make_nothing_certain() -> None:
    d, counts = np.zeros((7, 2)), np.full((7, 2), 20.0)
    found = winning_bounds(1.0, d, counts, epsilon=0.2, word="instances")
    assert (found.at_least, found.at_most) == (0.0, 1.0)


@pytest.mark.parametrize(
    "name", ["five alike, just beyond", "forty units", "nearly all right", "six follow-ups"]
)
def test_the_winning_rates_bounds_hold(name) -> None:
    """Where people are about epsilon apart from the simulator, a rate of the tests alone is wrong in most studies."""
    panel = PANELS[name]
    found = panel_coverage(panel, 60, seed=3)["winning_rate"]
    assert found["intervals"] == 1
    assert found["holds its estimate"]
    assert found["coverage"] >= 0.9  # fewer than 54 of 60 have a chance of .03 at 95 %


def test_certain_people_have_narrow_bounds() -> None:
    clear = panel_coverage(PANELS["three people, clear"], 20, seed=1)["winning_rate"]
    assert (clear["truth"], clear["mean"]) == (1.0, 1.0)
    assert clear["width"] < 0.1


def test_the_verdict_depends_on_epsilon() -> None:
    table = panel(np.random.default_rng(3), np.full(5, 0.9), 300, simulator=0.86)
    verdicts = [alternative_annotator_test(table, "zz", epsilon=e).may_replace for e in (0.2, 0.15, 0.1, 0.0)]
    assert verdicts[0] is True
    assert verdicts[-1] is False
