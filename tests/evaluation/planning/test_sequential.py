"""Valid intervals under a plan's stopping rule, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.validation.plan_grid import share_significant
from evaluation.planning.confidence_sequence import confidence_sequence
from evaluation.planning.plan_document import Plan, plan_parse
from evaluation.planning.sequential import DIFFERENCE, alpha_each, valid_interval


def plan_of(stopping: str, *looks: float, hypotheses: int = 1, **more: Any) -> Plan:
    given = [{"name": f"H{n}", "metric": "precision", "of": "a", "against": "b"} for n in range(hypotheses)]
    return plan_parse({"hypotheses": given, "stopping": stopping, "looks": list(looks)} | more)


def test_alpha_spending_shows_the_latest_look_and_nothing_in_between() -> None:
    plan, rng = plan_of("obrien_fleming", 0.5, 1), np.random.default_rng(0)
    values = rng.choice([-1.0, 0.0, 1.0], size=100, p=[0.1, 0.4, 0.5])
    assert (
        "first look is at 50 of 100"
        in valid_interval(values[:49], planned=100, plan=plan, limits=DIFFERENCE).reason
    )
    at_50 = valid_interval(values[:50], planned=100, plan=plan, limits=DIFFERENCE)
    assert valid_interval(values[:80], planned=100, plan=plan, limits=DIFFERENCE) == at_50
    at_end = valid_interval(values, planned=100, plan=plan, limits=DIFFERENCE)
    error = values[:50].std(ddof=1) / np.sqrt(50)
    assert (at_50.high - at_50.low) / 2 / error == pytest.approx(
        3.14, abs=0.05
    )  # z 2.963 on 49 degrees of freedom
    assert at_end.high - at_end.low < at_50.high - at_50.low
    assert "look 2 of 2, over 100 instances" in at_end.interval


def test_a_confidence_sequence_leaves_out_undefined_instances_and_shares_alpha() -> None:
    values = [1.0, np.nan, 0.0, 1.0] * 30
    plan = plan_of("confidence_sequence", hypotheses=2)
    found = valid_interval(values, planned=200, plan=plan)
    known = confidence_sequence([1.0, 0.0, 1.0] * 30, alpha=0.025)
    assert (found.low, found.high, found.n) == (known.low[-1], known.high[-1], 90)
    assert alpha_each(plan_of("confidence_sequence", hypotheses=2, correction="none")) == 0.05
    assert valid_interval([], planned=9, plan=plan).reason == "no instance is complete"


def test_without_a_stopping_rule_there_is_no_such_interval() -> None:
    with pytest.raises(ValueError, match="expected a stopping rule"):
        valid_interval([1.0], planned=9, plan=plan_of("none"))
    same = valid_interval([1.0] * 20, planned=20, plan=plan_of("pocock", 1))
    assert same.interval == "none: all instances have the same value"
    few = valid_interval([1.0] * 7, planned=7, plan=plan_of("pocock", 1))
    assert few.reason == "at least 8 instances are needed, found 7"


def test_null_studies_that_are_watched_are_seldom_called_significant() -> None:
    """The grid of ``benchmarks.validation.plan_grid`` with fewer studies."""
    assert share_significant("confidence_sequence", [], studies=40, rng=np.random.default_rng(3)) <= 0.05
