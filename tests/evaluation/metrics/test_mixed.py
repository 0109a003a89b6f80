import numpy as np
import pytest
import statsmodels.api as sm

from evaluation.metrics import PROPERTIES, property_model
from evaluation.metrics.mixed import design


def answers(rng, questions=40, coefficients=None, spread=0.0, names=("leakage", "novelty")):
    """Answers drawn from the model itself: 3 systems, 4 people each."""
    q, s, _ = np.meshgrid(np.arange(questions), np.arange(3), np.arange(4), indexing="ij")
    q, s = q.ravel(), s.ravel()
    holds = (rng.random((questions, 3, len(names))) < 0.5)[q, s]
    x = design(holds)
    beta = np.zeros(x.shape[1]) if coefficients is None else np.asarray(coefficients)
    eta = x @ beta + spread * rng.normal(size=questions)[q]
    right = rng.random(q.size) < 1 / (1 + np.exp(-eta))
    properties = {name: holds[:, i].tolist() for i, name in enumerate(names)}
    groups = {"question": q.astype(str).tolist(), "system": s.astype(str).tolist()}
    return right.tolist(), properties, groups


def test_the_eight_properties_make_37_coefficients():
    assert len(PROPERTIES) == 8
    assert design(np.ones((1, 8))).shape == (1, 1 + 8 + 28)


def test_with_one_level_of_a_random_effect_its_slopes_are_those_of_logistic_regression():
    right, properties, _ = answers(np.random.default_rng(0), 200, [-0.5, 0.8, -0.4, 0.6])
    found = property_model(right, properties, {"system": ["s"] * len(right)}, prior_sd=100.0)
    x = design(np.column_stack(list(properties.values())))
    expected = sm.Logit(np.array(right, float), x).fit(disp=False)
    assert found.coefficients[1:] == pytest.approx(expected.params[1:], abs=0.02)
    assert np.sqrt(np.diag(found.covariance))[1:] == pytest.approx(expected.bse[1:], rel=0.02)
    assert found.converged


def test_log_odds_by_hand_from_the_coefficients():
    right, properties, groups = answers(np.random.default_rng(1), 60, [-0.5, 0.8, -0.4, 0.6])
    found = property_model(right, properties, groups)
    b0, leak, new, both = found.coefficients
    assert found.names == ("intercept", "leakage", "novelty", "leakage x novelty")
    assert found.intercept.value == pytest.approx(b0)
    # averaged over the other property, which holds in one half
    assert found.present["leakage"].value == pytest.approx(b0 + leak + 0.5 * new + 0.5 * both)
    assert found.absent["leakage"].value == pytest.approx(b0 + 0.5 * new)
    assert found.pairs["leakage", "novelty"].value == pytest.approx(leak + new + both)
    assert found.log_odds(["leakage", "novelty"]).value == pytest.approx(b0 + leak + new + both)
    assert found.log_odds([]).value == pytest.approx(b0)
    row = np.array([0, 1, 1, 1])
    half = 1.959964 * np.sqrt(row @ found.covariance @ row)
    assert found.pairs["leakage", "novelty"].high == pytest.approx(leak + new + both + half)


def test_pairs_come_largest_first():
    names = ("a", "b", "c")
    right, properties, groups = answers(np.random.default_rng(2), 30, [0, 1, 0, -1, 0, 0, 0], names=names)
    values = [e.value for e in property_model(right, properties, groups).pairs.values()]
    assert values == sorted(values, reverse=True)
    assert len(values) == 3


def test_a_spread_of_questions_is_found_and_widens_the_intervals():
    coefficients = [-0.3, 0.6, 0.0, 0.0]
    flat = property_model(*answers(np.random.default_rng(3), 80, coefficients, spread=0.0))
    wide = property_model(*answers(np.random.default_rng(3), 80, coefficients, spread=2.0))
    assert wide.random_sd["question"] > 1.2
    assert wide.random_sd["question"] > 3 * flat.random_sd["question"]


def test_intervals_cover_the_true_coefficients():
    truth, inside = np.array([-0.5, 0.5, 0.0, -0.5]), []
    for seed in range(8):
        found = property_model(*answers(np.random.default_rng(seed), 30, truth, spread=0.7))
        sd = np.sqrt(np.diag(found.covariance))
        inside.append(np.abs(found.coefficients - truth)[1:] < 1.96 * sd[1:])
    assert np.mean(inside) >= 20 / 24  # of 24, 22.8 expected; fewer than 20 has a chance of .01


def test_row_order_and_names_change_nothing():
    rng = np.random.default_rng(4)
    right, properties, groups = answers(rng, 30, [0, 0.5, 0, 0], 0.5)
    order = rng.permutation(len(right))
    base = property_model(right, properties, groups)
    moved = property_model(
        [right[i] for i in order],
        {k: [v[i] for i in order] for k, v in properties.items()},
        {k: ["g" + v[i] for i in order] for k, v in groups.items()},
    )
    assert moved.coefficients == pytest.approx(base.coefficients, abs=1e-3)


def test_notes_warn_of_few_levels_and_of_properties_that_go_together():
    right, properties, groups = answers(np.random.default_rng(5), 30)
    properties["copy"] = properties["leakage"]
    found = property_model(right, properties, groups)
    assert any("the data determine" in note for note in found.notes)
    assert any("system (3)" in note for note in found.notes)


def test_degenerate():
    assert property_model([], {"a": []}, {"question": []}).reason == "no answer is left"
    wrong = property_model([False] * 4, {"a": [True, False] * 2}, {"question": list("xxyy")})
    assert wrong.reason == "all answers are wrong"
    assert not wrong.present["a"].defined
    assert not wrong.log_odds(["a"]).defined
    assert not wrong.intercept.defined
    right, properties, groups = answers(np.random.default_rng(6), 10)
    right[0] = properties["novelty"][1] = None
    found = property_model(right, properties, groups)
    assert found.left_out == {"without an answer, a property or a group": 2}
    with pytest.raises(ValueError, match="holding: not in the model: x"):
        found.log_odds(["x"])
    with pytest.raises(ValueError, match="groups: expected at least one"):
        property_model([True, False], {"a": [True, False]}, {})
    with pytest.raises(ValueError, match="one length"):
        property_model([True], {"a": []}, {})


def test_a_fit_cut_short_says_so():
    found = property_model(*answers(np.random.default_rng(7), 20, spread=1.0), max_iterations=1)
    assert not found.converged
    assert any("did not converge" in note for note in found.notes)


def test_the_laplace_fit_agrees_with_variational_bayes_where_the_data_say_much() -> None:
    rng = np.random.default_rng(4)
    n = 3000
    question, system = rng.integers(0, 100, n), rng.integers(0, 6, n)
    holds = {name: rng.random(n) < 0.5 for name in ("leakage", "novelty")}
    eta = -0.3 + 1.2 * holds["leakage"] - 0.5 * holds["novelty"]
    eta = eta + rng.normal(0, 0.7, 100)[question] + rng.normal(0, 0.4, 6)[system]
    correct = (rng.random(n) < 1 / (1 + np.exp(-eta))).tolist()
    groups = {"question": [f"q{k}" for k in question], "system": [f"s{k}" for k in system]}
    properties = {name: held.tolist() for name, held in holds.items()}
    bayes = property_model(correct, properties, groups)
    laplace = property_model(correct, properties, groups, method="laplace")
    assert laplace.converged
    for name in properties:
        for one, other in ((bayes.present, laplace.present), (bayes.absent, laplace.absent)):
            assert one[name].value == pytest.approx(other[name].value, abs=0.1)
    assert laplace.random_sd["question"] == pytest.approx(0.7, abs=0.15)
    assert laplace.log_odds(["leakage"]).interval == "95 % Wald interval of the Laplace fit"
    difference = laplace.log_odds(["leakage"]).value - laplace.intercept.value
    assert difference == pytest.approx(1.2, abs=0.3)
