import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.validation.finite_grid import DESIGNS, coverage_of_finite
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
    # people 1 0 1 1 (mean .75); predictions there 1 1 0 1 (.75); predictions elsewhere 0 1 (.5)
    y, f = [1, 0, 1, 1, np.nan, np.nan], [1, 1, 0, 1, 0, 1]
    found = powered_mean(np.array(y), f, list("abcdef"), tuning=1.0)
    assert found.estimate.value == pytest.approx(0.75 + (0.5 - 0.75))
    assert found.simulator == pytest.approx(4 / 6)


def test_a_share_and_its_interval_stay_between_0_and_1():
    """Eight labels, and a correction of a half on top of a share of three quarters."""
    y, f = [1, 0, 1, 1] * 2 + [np.nan] * 4, [1, 0, 0, 1] * 2 + [1] * 4
    found = powered_mean(np.array(y), f, list("abcdefghijkl"), tuning=1.0)
    assert found.estimate.value == found.estimate.high == 1.0
    assert 0 <= found.estimate.low < 1
    for seed in range(100):
        rng = np.random.default_rng(seed)
        labels = np.where(np.arange(9) < 3, rng.random(9) < 0.6, np.nan)
        few = powered_mean(labels, (rng.random(9) < 0.6).astype(float), [f"x{i}" for i in range(9)])
        for part in (few.estimate, few.people):
            assert 0 <= part.value <= 1
            assert np.isnan(part.low) or 0 <= part.low <= part.value <= part.high <= 1


def on_the_logit_scale(value, half):
    """The ends of an interval whose standard error is carried over to the logit."""
    logit, reach = math.log(value / (1 - value)), half / (value * (1 - value))
    return tuple(1 / (1 + math.exp(-end)) for end in (logit - reach, logit + reach))


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
        assert (found.estimate.low, found.estimate.high) == pytest.approx(on_the_logit_scale(value, half))


def test_people_alone_is_the_ordinary_t_interval_on_the_logit_scale():
    y, f, clusters = mean_case(np.random.default_rng(0))
    found = powered_mean(y, f, clusters)
    half = stats.t.ppf(0.975, 59) * stats.sem(y[:60])
    assert (found.people.low, found.people.high) == pytest.approx(on_the_logit_scale(y[:60].mean(), half))
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
    assert nobody.estimate.reason == "people's labels have nothing to average"
    all_labelled = powered_mean(np.array([1.0, 0.0, 1.0]), [1, 1, 1], list("abc"))
    assert (all_labelled.tuning, all_labelled.unlabelled) == (0.0, 0)
    same = powered_mean(np.array([*[1.0] * 8, np.nan]), [1] * 9, list("abcdefghi"))
    assert same.estimate.value == 1.0
    assert same.estimate.interval == "none: all labelled values are the same"
    assert math.isnan(same.effective_n)
    single = powered_mean(np.array([1.0, 0.0, np.nan]), [1, 0, 1], ["a", "a", "b"])
    assert single.people.interval == "none: at least 8 labelled instances are needed, found 1"


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


def test_these_items_have_the_finite_population_variance_by_hand():
    rng = np.random.default_rng(5)
    y, f, clusters = mean_case(rng, n=60, others=40)
    found = powered_mean(y, f, clusters, items="these")
    n, rest = 60, 40
    own, guess = y[:n] - found.people.value, f[:n] - f[:n].mean()
    weight = own @ guess / (guess @ guess)  # of the regression of y on f
    assert found.tuning == pytest.approx(weight * rest / (n + rest))
    assert found.estimate.value == pytest.approx(y[:n].mean() + weight * (f.mean() - f[:n].mean()))
    left_out = (own - weight * guess) / (1 - guess**2 / (guess @ guess))
    variance = (1 - n / (n + rest)) * (left_out**2).sum() / n**2 * n / (n - 1)
    half = stats.t.ppf(0.975, rest - 1) * math.sqrt(variance)
    assert (found.estimate.low, found.estimate.high) == pytest.approx(
        on_the_logit_scale(found.estimate.value, half)
    )
    alone = stats.t.ppf(0.975, n - 1) * math.sqrt(0.4 * y[:n].var(ddof=1) / n)
    assert (found.people.low, found.people.high) == pytest.approx(
        on_the_logit_scale(found.people.value, alone)
    )
    like = powered_mean(y, f, clusters)
    assert like.people.value == found.people.value
    assert like.estimate.value == pytest.approx(found.estimate.value, abs=0.02)
    assert like.estimate.high - like.estimate.low > 1.3 * (found.estimate.high - found.estimate.low)


def test_all_items_labelled_leave_no_width_for_these_items():
    for n in (3, 40):
        y, f, clusters = mean_case(np.random.default_rng(n), n=n, others=0)
        one = powered_mean(y, f, clusters, items="these").estimate
        assert one.low == one.value == one.high == pytest.approx(y.mean())
        assert one.interval == "known: people labelled every item, for these items"
    like = powered_mean(y, f, clusters).estimate
    assert like.high > like.low
    with pytest.raises(ValueError, match="items: expected like or these"):
        powered_mean(y, f, clusters, items="all")


@pytest.mark.parametrize("name", ["three fifths", "few instances"])
def test_intervals_for_these_items_cover(name):
    """Fewer than 87 of 100 have a chance of .001 at 95 %."""
    for figure, found in coverage_of_finite(DESIGNS[name], 100, seed=8).items():
        assert found["intervals"] >= 0.95, (
            figure
        )  # none where the simulator makes no error on the labelled items
        assert found["coverage"] >= 0.87, (figure, found)
        assert found["width"] < found["width for items like these"], figure
