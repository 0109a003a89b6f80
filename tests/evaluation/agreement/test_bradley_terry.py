"""Strengths from pairwise preferences: against generalized linear models of statsmodels, undefined cases, invariances, intervals."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import statsmodels.api as sm

from evaluation.agreement.bradley_terry import bradley_terry

NAMES = ("a", "b", "c", "d", "e")


def drawn(seed, *, size=300, systems=4, ties=0.7, spread=0.8):
    """Comparisons drawn from the model: first, second, choice."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, spread, systems)
    first = rng.integers(0, systems, size)
    second = (first + rng.integers(1, systems, size)) % systems
    a, b = np.exp(strength[first]), np.exp(strength[second])
    tie = ties * np.sqrt(a * b)
    draw = rng.random(size) * (a + b + tie)
    return first, second, np.where(draw < a, 0, np.where(draw < a + b, 1, 2))


def log_linear(first, second, choice, systems):
    """Fienberg and Larntz (1976): the model as a Poisson regression of the counts, with a parameter for each pair."""
    rows, counts = [], []
    pairs = list(combinations(range(systems), 2))
    for number, (i, j) in enumerate(pairs):
        of_pair = ((first == i) & (second == j)) | ((first == j) & (second == i))
        i_won = of_pair & (((first == i) & (choice == 0)) | ((second == i) & (choice == 1)))
        tied = of_pair & (choice == 2)
        for outcome, which in enumerate((i_won, of_pair & ~i_won & ~tied, tied)):
            row = np.zeros(systems + 1 + len(pairs))
            row[[i, j]] = ((1, 0), (0, 1), (0.5, 0.5))[outcome]
            row[systems] = outcome == 2
            row[systems + 1 + number] = 1
            rows.append(row)
            counts.append(which.sum())
    table = np.array(rows)[:, 1:]  # the first system's strength is 0
    if not (choice == 2).any():
        kept = [place for place in range(len(counts)) if place % 3 < 2]
        table, counts = np.delete(table, systems - 1, axis=1)[kept], np.array(counts)[kept]
    fitted = sm.GLM(np.array(counts), table, family=sm.families.Poisson()).fit(maxiter=200, tol=1e-14)
    strengths = np.concatenate(([0.0], fitted.params[: systems - 1]))
    return strengths - strengths.mean(), np.exp(fitted.params[systems - 1])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("systems", [3, 5])
def test_against_a_log_linear_model(seed, systems):
    first, second, choice = drawn(seed, systems=systems)
    strengths, ties = log_linear(first, second, choice, systems)
    found = bradley_terry(first, second, choice, systems=NAMES[:systems])
    assert [one.value for one in found.strengths] == pytest.approx(strengths, abs=1e-8)
    assert found.ties.value == pytest.approx(ties, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_without_ties_it_is_bradley_and_terrys_model(seed):
    first, second, choice = drawn(seed, ties=0)
    found = bradley_terry(first, second, choice, systems=NAMES[:4])
    assert [one.value for one in found.strengths] == pytest.approx(
        log_linear(first, second, choice, 4)[0], abs=1e-8
    )
    assert found.ties.value == 0.0
    design = np.zeros((first.size, 4))
    design[np.arange(first.size), first], design[np.arange(first.size), second] = 1, -1
    logit = sm.GLM(choice == 0, design[:, 1:], family=sm.families.Binomial()).fit(tol=1e-14)
    own = np.concatenate(([0.0], logit.params))
    assert [one.value for one in found.strengths] == pytest.approx(own - own.mean(), abs=1e-8)


def test_the_order_on_the_page_and_the_names_mean_nothing():
    first, second, choice = drawn(1)
    found = bradley_terry(
        first, second, choice, systems=NAMES[:4], rng=np.random.default_rng(0), replicates=50
    )
    swapped = bradley_terry(
        second,
        first,
        np.array([1, 0, 2])[choice],
        systems=NAMES[:4],
        rng=np.random.default_rng(0),
        replicates=50,
    )
    for one, other in zip(found.strengths, swapped.strengths, strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-9)
    assert (found.wins == swapped.wins).all()
    assert found.wins.sum() + found.tied.sum() // 2 == first.size
    assert found.strengths[0].n == ((first == 0) | (second == 0)).sum()
    assert sum(found.probability("a", "b")) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "no two systems were compared"),
        ([(0, 1, 2), (1, 2, 2), (2, 3, 2)], "every comparison is a tie"),
        ([(0, 1, 0), (0, 1, 1), (2, 3, 0), (2, 3, 1)], "2 groups of systems that were never compared: a, b; c, d"),
        ([(0, 1, 0), (0, 1, 1)], "3 groups of systems that were never compared: a, b; c; d"),
        ([(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 1, 0)], "a won every comparison with the other systems"),
        ([(1, 2, 0), (2, 3, 0), (3, 1, 0), (1, 0, 0)], "a lost every comparison with the other systems"),
        ([(0, 1, 0), (0, 1, 2), (1, 2, 2), (2, 3, 2)], "the stronger system won every comparison that wasn’t a tie"),
    ],
)  # fmt: skip
def test_undefined_with_its_reason(rows, reason):
    first, second, choice = np.array(rows, dtype=int).reshape(-1, 3).T
    found = bradley_terry(first, second, choice, systems=NAMES[:4])
    assert all(reason in one.reason for one in (*found.strengths, found.ties))


def test_two_systems_of_which_one_never_wins_have_no_finite_strengths_despite_ties():
    """The likelihood of two systems is that of three free shares, of which one is 0."""
    found = bradley_terry([0] * 5, [1] * 5, [0, 0, 0, 2, 2], systems=("a", "b"))
    assert "no upper limit" in found.ties.reason
    saturated = bradley_terry([0] * 6, [1] * 6, [0, 0, 0, 1, 2, 2], systems=("a", "b"))
    assert saturated.probability("a", "b") == pytest.approx((3 / 6, 1 / 6, 2 / 6), abs=1e-9)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0], [0], [0]), "comparison 0 is of a system with itself"),
        (([0], [1], [3]), "choice: codes must lie in"),
        (([0], [9], [0]), "second: codes must lie in"),
        (([0, 1], [1], [0]), "three arrays of one length"),
    ],
)
def test_bad_input(columns, message):
    with pytest.raises(ValueError, match=message):
        bradley_terry(*columns, systems=NAMES)


def test_intervals_draw_items():
    first, second, choice = drawn(2)
    clusters = np.arange(first.size) // 5
    found = bradley_terry(
        first,
        second,
        choice,
        systems=NAMES[:4],
        clusters=clusters,
        rng=np.random.default_rng(0),
        replicates=200,
    )
    for one in (*found.strengths, found.ties):
        assert one.low < one.value < one.high
        assert "60 items" in one.interval
    twice = bradley_terry(
        np.tile(first, 2), np.tile(second, 2), np.tile(choice, 2), systems=NAMES[:4],
        clusters=np.tile(clusters, 2), rng=np.random.default_rng(0), replicates=200,
    )  # fmt: skip
    assert twice.strengths[0].low == pytest.approx(found.strengths[0].low, abs=1e-9)


def test_without_systems_nothing_is_defined():
    found = bradley_terry([], [], [], systems=())
    assert found.strengths == ()
    assert found.ties.reason == "no two systems were compared"
