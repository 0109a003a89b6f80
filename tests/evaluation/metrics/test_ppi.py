import math

import numpy as np
import pytest
from scipy import stats

from evaluation.metrics import (
    prediction_powered_precision,
    prediction_powered_ratio,
    prediction_powered_simulatable,
    simulatability,
)
from tests.evaluation.metrics.factories import GUESS, followups


def mean_case(rng, n=60, others=400, right=0.85):
    """Labels, predictions that agree with them with probability ``right``, and one cluster a row."""
    truth = (rng.random(n + others) < 0.7).astype(float)
    guess = np.where(rng.random(n + others) < right, truth, 1 - truth)
    return np.where(np.arange(n + others) < n, truth, np.nan), guess, [f"x{i:04d}" for i in range(n + others)]


def powered_mean(y, f, clusters, **options):
    return prediction_powered_ratio(
        y, np.where(np.isnan(y), np.nan, 1.0), f, np.ones(len(f)), clusters, **options
    )


def test_by_hand_at_full_weight():
    # people 1 0 1 1 (mean .75); predictions there 1 0 0 1 (.5); predictions elsewhere 1 1 (1.0)
    y, f = [1, 0, 1, 1, np.nan, np.nan], [1, 0, 0, 1, 1, 1]
    found = powered_mean(np.array(y), f, list("abcdef"), tuning=1.0)
    assert found.estimate.value == pytest.approx(0.75 + (1.0 - 0.5))
    assert found.simulator == pytest.approx(4 / 6)


def test_a_mean_follows_the_closed_form_of_the_paper():
    for seed in range(200):
        y, f, clusters = mean_case(np.random.default_rng(seed))
        n, others = 60, 400
        own, guess, rest = y[:n], f[:n], f[n:]
        # with unclustered rows: lambda = cov / (var_n + var_N n / N), in the moments over each part
        cov = np.mean((own - own.mean()) * (guess - guess.mean()))
        lam = cov / (guess.var() + rest.var() * n / others)
        value = own.mean() + lam * (rest.mean() - guess.mean())
        variance = (own - lam * guess).var() / n + lam**2 * rest.var() / others
        half = stats.t.ppf(0.975, n - 1) * math.sqrt(variance * n / (n - 1))
        found = powered_mean(y, f, clusters)
        assert found.tuning == pytest.approx(lam)
        assert found.estimate.value == pytest.approx(value)
        assert (found.estimate.low, found.estimate.high) == pytest.approx((value - half, value + half))


def test_people_alone_is_the_ordinary_t_interval():
    y, f, clusters = mean_case(np.random.default_rng(0))
    found = powered_mean(y, f, clusters)
    low, high = stats.t.interval(0.95, 59, y[:60].mean(), stats.sem(y[:60]))
    assert (found.people.low, found.people.high) == pytest.approx((low, high))
    assert powered_mean(y, f, clusters, tuning=0.0).estimate.value == pytest.approx(found.people.value)


def test_a_good_simulator_gains_and_a_useless_one_costs_nothing():
    rng = np.random.default_rng(1)
    good = powered_mean(*mean_case(rng, right=0.97))
    assert good.gain > 2
    assert good.effective_n == pytest.approx(60 * good.gain)
    useless = powered_mean(*mean_case(rng, right=0.5))
    assert useless.tuning < 0.3
    assert useless.gain > 0.95


def test_row_order_changes_nothing_and_a_shifted_simulator_neither():
    rng = np.random.default_rng(2)
    y, f, clusters = mean_case(rng)
    base = powered_mean(y, f, clusters)
    order = rng.permutation(len(y))
    moved = powered_mean(y[order], f[order], [clusters[i] for i in order])
    shifted = powered_mean(y, f + 5, clusters)  # a constant bias of the simulator cancels
    for other in (moved, shifted):
        assert other.estimate.value == pytest.approx(base.estimate.value)
        assert other.estimate.high == pytest.approx(base.estimate.high)


def test_degenerate():
    nobody = powered_mean(np.array([np.nan, np.nan]), [1, 0], ["a", "b"])
    assert nobody.estimate.reason == "people's labels hold nothing to average"
    all_labelled = powered_mean(np.array([1.0, 0.0, 1.0]), [1, 1, 1], list("abc"))
    assert (all_labelled.tuning, all_labelled.unlabelled) == (0.0, 0)
    same = powered_mean(np.array([1.0, 1.0, np.nan]), [1, 1, 1], list("abc"))
    assert same.estimate.value == 1.0
    assert same.estimate.interval == "none: all labelled values are the same"
    assert math.isnan(same.effective_n)
    single = powered_mean(np.array([1.0, 0.0, np.nan]), [1, 0, 1], ["a", "a", "b"])
    assert single.people.interval == "none: fewer than two labelled instances"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0], [1.0, 0.0], [1.0], ["a"]), "one length"),
        (([1.0], [1.0], [np.nan], [1.0], ["a"]), "a number for every row"),
        (([1.0], [np.nan], [1.0], [1.0], ["a"]), "nan in the same rows"),
    ],
)
def test_bad_arrays_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        prediction_powered_ratio(*arguments)
    with pytest.raises(ValueError, match="tuning"):
        powered_mean(np.array([1.0]), [1.0], ["a"], tuning=1.5)


def tables(rng, instances=120, rated=40):
    """A simulator that labels everything, and people on some instances; they agree in most cases."""
    rows, people = [], {}
    for x in range(instances):
        for _ in range(4):
            truth = rng.choice(["yes", "no", GUESS], p=[0.4, 0.4, 0.2])
            real = truth if rng.random() < 0.8 else rng.choice(["yes", "no"])
            guess = truth if rng.random() < 0.9 else rng.choice(["yes", "no", GUESS])
            if x < rated:
                people[f"u{len(rows)}"] = truth
            rows.append((f"e{x}", f"x{x}", "s", guess, None if real == GUESS else real))
    simulator = followups(rows)
    return simulator.with_labels(people), simulator


@pytest.mark.parametrize("micro", [False, True])
def test_precision_of_people_alone_is_that_of_simulatability(micro):
    people, simulator = tables(np.random.default_rng(3))
    found = prediction_powered_precision(people, simulator, micro=micro)
    expected = simulatability(people)
    plain = expected.precision_micro if micro else expected.precision
    assert found.people.value == pytest.approx(plain.value)
    everything = simulatability(simulator)
    assert found.simulator == pytest.approx(
        (everything.precision_micro if micro else everything.precision).value
    )
    assert found.gain > 1.0


def test_simulatable_share_and_ties_count_as_rated():
    people, simulator = tables(np.random.default_rng(4))
    found = prediction_powered_simulatable(people, simulator)
    assert found.people.value == pytest.approx(simulatability(people).simulatable.value)
    labels = {u: s for u, s in zip(people.unit, people.simulated, strict=True) if s is not None}
    tied = dict(list(labels.items())[1:])
    first = next(iter(labels))
    with_tie = people.with_labels(tied, {first: "tie"})
    assert prediction_powered_simulatable(with_tie, simulator).labelled == found.labelled


def test_other_units_are_refused():
    people, simulator = tables(np.random.default_rng(5), 10, 5)
    with pytest.raises(ValueError, match="the same units"):
        prediction_powered_precision(people, simulator.take(np.arange(5)))


def test_hundred_studies_cover_the_truth_and_beat_people_alone():
    rng, hits, widths = np.random.default_rng(11), 0, []
    for _ in range(100):
        people, simulator = tables(rng, instances=200, rated=40)
        found = prediction_powered_simulatable(people, simulator).estimate
        hits += found.low <= 0.8 <= found.high
        widths.append(found.high - found.low)
    assert 88 <= hits <= 100  # 95 expected; 88 has a chance of .004
    assert np.mean(widths) < 2 * 1.96 * math.sqrt(0.8 * 0.2 / 160)
