"""A simulator's rate corrected by its errors: by hand, the published formulas, what it must not depend on, degenerate cases, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.validation.judge_cases import JUDGES, Judge, coverage_cases
from evaluation.metrics import (
    judge_corrected_precision,
    judge_corrected_rate,
    judge_corrected_ratio,
    judge_corrected_simulatable,
)
from tests.evaluation.metrics.factories import GUESS, followups

NAN = float("nan")


def lang_reiczigel(labels, predicted):
    """Value and ends by the formulas of Lang and Reiczigel (2014), with independent rows and t's quantile for z."""
    labels, predicted = np.asarray(labels, dtype=float), np.asarray(predicted, dtype=float)
    known = ~np.isnan(labels)
    m1, m0, n = (labels == 1).sum(), (labels == 0).sum(), (~known).sum()
    q1, q0, p = predicted[labels == 1].mean(), 1 - predicted[labels == 0].mean(), predicted[~known].mean()
    value = (p + q0 - 1) / (q0 + q1 - 1)
    a1, a0, a = (m1 * q1 + 1) / (m1 + 2), (m0 * q0 + 1) / (m0 + 2), (n * p + 2) / (n + 4)
    centre = (a + a0 - 1) / (a0 + a1 - 1)
    spread1, spread0 = a1 * (1 - a1) / (m1 + 2), a0 * (1 - a0) / (m0 + 2)
    variance = a * (1 - a) / (n + 4) + (1 - centre) ** 2 * spread0 + centre**2 * spread1
    labelled = known.sum()
    z = stats.t.ppf(0.975, labelled - 1)
    error = np.sqrt(variance * labelled / (labelled - 1)) / (a0 + a1 - 1)
    moved = centre + 2 * z**2 * (centre * spread1 - (1 - centre) * spread0)
    return value, max(moved - z * error, 0), min(moved + z * error, 1)


def test_by_hand():
    """Right on 6 of 8 yes and on 9 of 12 no; yes on 10 of 20 others: (.5 + .75 - 1) / (.75 + .75 - 1)."""
    labels = [1] * 8 + [0] * 12 + [NAN] * 20
    predicted = [1] * 6 + [0] * 2 + [0] * 9 + [1] * 3 + [1] * 10 + [0] * 10
    found = judge_corrected_rate(labels, predicted, [str(n) for n in range(40)])
    assert found.estimate.value == pytest.approx(0.5)
    assert (found.simulator, found.labelled, found.unlabelled) == (0.5, 20, 20)
    assert (found.sensitivity.value, found.sensitivity.n) == (0.75, 8)
    assert (found.specificity.value, found.specificity.n) == (0.75, 12)


@pytest.mark.parametrize("name", [name for name, judge in JUDGES.items() if judge.per_cluster == 1])
def test_independent_rows_follow_the_published_formula(name):
    for seed in range(20):
        labels, predicted, clusters = JUDGES[name].draw(np.random.default_rng(seed))
        found = judge_corrected_rate(labels, predicted, clusters).estimate
        if found.defined:
            value, low, high = lang_reiczigel(labels, predicted)
            assert (found.value, found.low, found.high) == pytest.approx((min(max(value, 0), 1), low, high))


@pytest.mark.parametrize("name", coverage_cases())
def test_intervals_cover(name):
    run, truth = coverage_cases()[name]
    found = [run(np.random.default_rng([3, number])) for number in range(200)]
    inside = [one.low <= truth <= one.high for one in found if not np.isnan(one.low)]
    assert len(inside) > 150
    assert np.mean(inside) >= 0.91  # of 95 %, 200 studies show 91.5 to 98 %


def test_order_of_rows_and_the_meaning_of_yes_do_not_matter():
    labels, predicted, clusters = JUDGES["follow-ups"].draw(np.random.default_rng(1))
    found = judge_corrected_rate(labels, predicted, clusters)
    order = np.random.default_rng(2).permutation(len(labels))
    again = judge_corrected_rate(labels[order], predicted[order], [clusters[i] for i in order])
    turned = judge_corrected_rate(1 - labels, 1 - predicted, clusters)
    assert (again.estimate.value, again.estimate.low) == pytest.approx(
        (found.estimate.value, found.estimate.low)
    )
    assert (1 - turned.estimate.value, 1 - turned.estimate.low) == pytest.approx(
        (found.estimate.value, found.estimate.high)
    )
    assert turned.sensitivity.value == found.specificity.value


def test_rows_that_repeat_in_their_clusters_say_no_more():
    labels, predicted, clusters = JUDGES["few labels"].draw(np.random.default_rng(4))
    once = judge_corrected_rate(labels, predicted, clusters).estimate
    often = judge_corrected_rate(np.tile(labels, 50), np.tile(predicted, 50), clusters * 50).estimate
    assert often.value == pytest.approx(once.value)
    assert often.high - often.low == pytest.approx(once.high - once.low, rel=0.2)


def test_a_perfect_simulator_is_not_corrected_but_not_certain():
    labels = np.array([1.0] * 30 + [0.0] * 30 + [NAN] * 100)
    predicted = np.array([1] * 30 + [0] * 30 + [1] * 70 + [0] * 30)
    found = judge_corrected_rate(labels, predicted, [str(n) for n in range(160)])
    assert found.estimate.value == pytest.approx(0.7)
    assert 0.5 < found.estimate.low < 0.65
    assert found.sensitivity.low < 0.95


def test_what_cannot_be_corrected_says_why():
    names = [str(n) for n in range(40)]
    rng = np.random.default_rng(5)
    guess = rng.integers(0, 2, 40)
    some = np.where(np.arange(40) < 20, rng.integers(0, 2, 40), NAN)
    cases = {
        "nothing to average": np.full(40, NAN),
        "labelled every row": np.where(np.arange(40) % 2, 1.0, 0.0),
        "never say no": np.where(np.arange(40) < 20, 1.0, NAN),
        "never say yes": np.where(np.arange(40) < 20, 0.0, NAN),
        "as by chance": some,
    }
    for why, labels in cases.items():
        found = judge_corrected_rate(labels, guess, names).estimate
        assert not found.defined
        assert why in found.reason
    few = judge_corrected_rate([1, 0, 1, 0, NAN], [1, 0, 1, 0, 1], list("abcde")).estimate
    assert few.reason or few.interval.startswith("none: at least 8 labelled instances")
    with pytest.raises(ValueError, match="one length"):
        judge_corrected_rate([1.0], [1.0], [])
    with pytest.raises(ValueError, match="expected 0 and 1"):
        judge_corrected_rate([0.5], [1.0], ["a"])
    with pytest.raises(ValueError, match="for every row"):
        judge_corrected_ratio([1.0], [1.0], [NAN], [1.0], ["a"])
    with pytest.raises(ValueError, match="same rows"):
        judge_corrected_ratio([1.0], [NAN], [1.0], [1.0], ["a"])


def test_precision_is_the_ratio_of_two_corrected_shares():
    """People rate half of the follow-ups; the simulator errs on known shares of right and of simulatable ones."""
    rng = np.random.default_rng(6)
    real = rng.choice(["yes", "no"], 400)
    answers = np.where(rng.random(400) < 0.2, GUESS, np.where(rng.random(400) < 0.8, real, "no"))
    noisy = np.where(rng.random(400) < 0.1, rng.choice([GUESS, "yes", "no"], 400), answers)
    instances = [f"x{n // 4:03}" for n in range(400)]
    everybody = followups([(i, i, "s", a, r) for i, a, r in zip(instances, answers, real, strict=True)])
    simulator = followups([(i, i, "s", a, r) for i, a, r in zip(instances, noisy, real, strict=True)])
    people = followups([
        (i, i, "s", a if n < 200 else None, r)
        for n, (i, a, r) in enumerate(zip(instances, answers, real, strict=True))
    ])  # fmt: skip
    found = judge_corrected_precision(people, simulator)
    own = everybody.right.sum() / everybody.simulatable.sum()
    assert found.estimate.low < own < found.estimate.high

    def share(own, guess):
        rated, rest = slice(0, 200), slice(200, 400)
        q1 = guess[rated][own[rated]].mean()
        wrong = guess[rated][~own[rated]].mean()
        return (guess[rest].mean() - wrong) / (q1 - wrong)

    top = share(everybody.right, simulator.right)
    bottom = share(everybody.simulatable, simulator.simulatable)
    assert found.estimate.value == pytest.approx(top / bottom)
    assert judge_corrected_simulatable(people, simulator).estimate.value == pytest.approx(bottom)


def test_the_cases_have_the_rates_that_they_claim():
    judge = Judge(0, 200_000, 0.8, 0.9, 0.7, per_cluster=5)
    labels, predicted, _ = judge.draw(np.random.default_rng(1), hidden=False)
    assert labels.mean() == pytest.approx(0.8, abs=0.01)
    assert predicted[labels == 1].mean() == pytest.approx(0.9, abs=0.01)
    assert predicted[labels == 0].mean() == pytest.approx(0.3, abs=0.01)
