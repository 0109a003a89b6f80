"""Boundaries of group-sequential tests are the published ones, and hold the level over all looks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from evaluation.planning.alpha_spending import boundaries, spent_alpha

#: Two-sided alpha .05, equally spaced looks. Five looks: DeMets and Lan (1994), Table I. The others: Reboussin et al. (2000), and
#: gsDesign's sfLDOF and sfLDPocock.
PUBLISHED = {
    ("obrien_fleming", 2): [2.963, 1.969],
    ("obrien_fleming", 3): [3.710, 2.511, 1.993],
    ("obrien_fleming", 4): [4.333, 2.963, 2.359, 2.014],
    ("obrien_fleming", 5): [4.877, 3.357, 2.680, 2.290, 2.031],
    ("pocock", 2): [2.157, 2.201],
    ("pocock", 3): [2.279, 2.295, 2.296],
    ("pocock", 4): [2.368, 2.368, 2.358, 2.350],
    ("pocock", 5): [2.438, 2.427, 2.410, 2.397, 2.386],
}


@pytest.mark.parametrize(("spending", "looks"), PUBLISHED)
def test_boundaries_are_the_published_ones(spending: str, looks: int) -> None:
    shares = [number / looks for number in range(1, looks + 1)]
    found = boundaries(shares, spending=spending)  # type: ignore[arg-type]
    assert [round(look.boundary, 3) for look in found] == pytest.approx(
        PUBLISHED[spending, looks], abs=0.0011
    )
    assert found[-1].spent == 0.05
    assert found[0].nominal == pytest.approx(found[0].spent, abs=1e-9), (
        "the first look spends its own p value"
    )


@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock"])
def test_all_looks_together_have_the_level_of_the_multivariate_normal(spending: str) -> None:
    """Against scipy's integral, with looks at unequal times."""
    shares = [0.3, 0.45, 1.0]
    limits = [look.boundary for look in boundaries(shares, alpha=0.1, spending=spending)]  # type: ignore[arg-type]
    covariance = [[math.sqrt(min(a, b) / max(a, b)) for a in shares] for b in shares]
    normal = multivariate_normal(np.zeros(3), covariance, abseps=1e-8, maxpts=2_000_000)
    inside = sum(
        math.prod(signs) * normal.cdf([sign * limit for sign, limit in zip(signs, limits, strict=True)])
        for signs in itertools.product((1, -1), repeat=3)
    )
    assert 1 - inside == pytest.approx(0.1, abs=1e-4)


def test_one_look_is_the_plain_test() -> None:
    assert boundaries([1.0])[0].boundary == pytest.approx(1.959964, abs=1e-5)


def test_a_look_before_anything_may_be_spent_has_a_boundary_that_nothing_reaches() -> None:
    first, last = boundaries([1e-4, 1.0])
    assert first.boundary > 8
    assert last.boundary == pytest.approx(1.96, abs=1e-3)
    assert first.to_dict()["boundary"] is None or first.to_dict()["boundary"] > 8


@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock"])
def test_spending_rises_to_alpha(spending: str) -> None:
    spent = [spent_alpha(share / 50, alpha=0.1, spending=spending) for share in range(1, 51)]  # type: ignore[arg-type]
    assert spent == sorted(spent)
    assert spent[-1] == 0.1


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"information: expected a share above 0 and up to 1, got 1\.2"):
        boundaries([0.5, 1.2])
    with pytest.raises(ValueError, match="expected increasing shares"):
        boundaries([0.5, 0.5])
    with pytest.raises(ValueError, match="at least one look"):
        boundaries([])
    with pytest.raises(ValueError, match="alpha: expected a number between 0 and 1"):
        spent_alpha(0.5, alpha=1.0)
    with pytest.raises(ValueError, match="expected obrien_fleming or pocock, got 'haybittle'"):
        spent_alpha(0.5, spending="haybittle")  # type: ignore[arg-type]
