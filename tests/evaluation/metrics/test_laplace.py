"""The Laplace fit of a logistic mixed model against lme4's published fits."""

import json

import numpy as np
import pytest

from evaluation.metrics import property_model
from evaluation.metrics.laplace import laplace_fit
from tests.evaluation.metrics.cbpp import HERD, INCIDENCE, PERIOD, SIZE
from tests.public_data import PublicData


def test_lme4s_fit_of_cbpp() -> None:
    """``glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), binomial)`` as printed in lme4's documentation."""
    periods = np.array(PERIOD)
    exog = np.column_stack([np.ones(56), *(periods == k for k in (2, 3, 4))])
    found = laplace_fit(INCIDENCE, exog, {"herd": np.array(HERD) - 1}, trials=SIZE)
    assert found.converged
    assert found.coefficients == pytest.approx([-1.3985, -0.9923, -1.1287, -1.5803], abs=6e-5)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx([0.2325, 0.3066, 0.3266, 0.4274], abs=6e-5)
    assert found.random_sd["herd"] == pytest.approx(0.6423, abs=6e-5)


def test_crossed_effects_have_the_deviance_of_dense_algebra() -> None:
    """The elimination of the first factor changes nothing: the Hessian's determinant over all random effects by numpy."""
    from evaluation.metrics.laplace import _Data, _Inner

    rng = np.random.default_rng(1)
    n = 200
    codes = tuple(rng.integers(0, size, n) for size in (20, 4, 2))
    right = (rng.random(n) < 0.6).astype(float)
    exog, fixed, sds = np.ones((n, 1)), np.array([0.3]), np.array([0.9, 0.4, 0.7])
    inner = _Inner(_Data(right, np.ones(n), exog, codes, (20, 4, 2)))
    value, slope = inner.deviance(fixed, sds)
    scaled = np.hstack(
        [sd * (of[:, None] == np.arange(size)) for sd, of, size in zip(sds, codes, (20, 4, 2), strict=True)]
    )
    u = np.concatenate(inner.start)
    eta = exog @ fixed + scaled @ u
    mean = 1 / (1 + np.exp(-eta))
    gradient = scaled.T @ (right - mean) - u
    assert np.abs(gradient).max() < 1e-8
    hessian = np.eye(26) + scaled.T @ (scaled * (mean * (1 - mean))[:, None])
    expected = -2 * (right @ eta - np.logaddexp(0, eta).sum()) + u @ u + np.linalg.slogdet(hessian)[1]
    assert value == pytest.approx(expected, abs=1e-8)
    ends = [inner.deviance(fixed + step, sds)[0] for step in (1e-5, -1e-5)]
    assert slope[0] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-5)


def test_simulated_effects_are_found() -> None:
    rng = np.random.default_rng(3)
    question = np.repeat(np.arange(150), 10)
    holds = rng.random(1500) < 0.5
    eta = -0.4 + 1.0 * holds + rng.normal(0, 0.8, 150)[question]
    right = rng.random(1500) < 1 / (1 + np.exp(-eta))
    found = laplace_fit(right, np.column_stack([np.ones(1500), holds]), {"question": question})
    assert found.coefficients == pytest.approx([-0.4, 1.0], abs=0.3)
    assert found.random_sd["question"] == pytest.approx(0.8, abs=0.2)


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(ValueError, match="right, exog, groups: expected one length"):
        laplace_fit([1, 0], np.ones((3, 1)), {"q": np.zeros(2, dtype=int)})


def test_both_fits_of_the_papers_public_ratings_agree(public_data: PublicData) -> None:
    """The public file of Joshi et al. (2023) has no ratings of properties: here, whether the person was right before and long rationales
    stand for them, with the paper's question and system as random effects."""
    file = public_data.folder / "rationale_human_utility" / "rationale_utility.json"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    right = {
        when: [row[f"human_predicted_label_{when}_rationale"] == row["ground_truth_label"] for row in rows]
        for when in ("before", "after")
    }
    properties = {"right before": right["before"], "long": [len(row["rationale"]) > 150 for row in rows]}
    groups = {
        "question": [row["question"] for row in rows],
        "system": [row["rationale_source"] for row in rows],
    }
    laplace = property_model(right["after"], properties, groups, method="laplace")
    bayes = property_model(right["after"], properties, groups)
    assert laplace.converged
    assert bayes.converged
    for name in properties:
        for one, other in ((laplace.present, bayes.present), (laplace.absent, bayes.absent)):
            assert one[name].value == pytest.approx(other[name].value, abs=0.1)
    if public_data.real:
        assert laplace.present["right before"].value == pytest.approx(1.09, abs=0.02)
        assert laplace.present["right before"].value > laplace.absent["right before"].value + 1
