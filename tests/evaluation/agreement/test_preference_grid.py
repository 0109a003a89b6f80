"""The coverage of strengths from pairwise preferences: the truth that it is measured against, and the stored results."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.validation.preferences import DESIGNS, TARGET, Design, study, truth
from evaluation.agreement import bradley_terry

LARGE = 40_000


@pytest.mark.parametrize("ties", [0.0, 0.5, 4.0])
def test_without_an_effect_of_items_the_truth_is_the_designs(ties: float) -> None:
    design = Design(effect=0.0, ties=ties, systems=5)
    strengths, tie = truth(design)
    np.testing.assert_allclose(strengths, design.strengths, atol=1e-8)
    assert tie == pytest.approx(ties, abs=1e-8)


def test_with_an_effect_it_is_what_a_large_study_finds() -> None:
    design = Design(items=LARGE, raters=1, effect=1.5)
    strengths, tie = truth(design)
    assert abs(strengths[0]) < design.spread, "an effect of the item draws strengths together"
    first, second, choice, _ = study(design, np.random.default_rng(1))
    found = bradley_terry(first, second, choice, systems="abcd")
    # Four standard errors of a study of this size; without an effect the strongest system's would be 0.6.
    np.testing.assert_allclose([one.value for one in found.strengths], strengths, atol=0.05)
    assert found.ties.value == pytest.approx(tie, abs=0.05)


def test_the_stored_grid_has_every_design_and_no_interval_is_too_short() -> None:
    stored = json.loads(TARGET.read_text("utf-8"))
    assert stored["about"]["runs"] == 1_000
    assert stored["designs"] == {name: vars(design) for name, design in DESIGNS.items()}
    for name, row in stored["coverage"].items():
        for figure, found in row.items():
            assert found["coverage"] > 0.93, (name, figure)
            assert found["holds its estimate"], (name, figure)
