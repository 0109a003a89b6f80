"""Power by simulation: the drawn studies are those of the pipeline, and power grows with effect, items and raters."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from evaluation.agreement import paired_t_test
from evaluation.metrics.from_ratings import followups_of
from evaluation.metrics.paired import precision_by_instance
from evaluation.planning.plan_document import Plan, PlanError, hypothesis_read, plan_parse
from evaluation.planning.plan_drawn import Assumed, Structure
from evaluation.planning.plan_metrics import METRICS
from evaluation.planning.plan_power import DRAWN, design_of, plan_power, why_no_power
from evaluation.planning.plan_text import plan_markdown
from evaluation.planning.synthetic import draw_study

STRUCTURE = Structure(instances=40, follow_ups=3, raters=2, systems=2, pay=0.5, minutes=1.5)


def plan_of(effect: float = 0.15, **more: Any) -> Plan:
    one = {"name": "H1", "metric": "precision", "of": "a", "against": "b", "smallest_effect": effect}
    return plan_parse({"hypotheses": [one | more]})


def test_power_is_that_of_studies_that_are_analysed_as_real_ones() -> None:
    """150 studies through the ratings, the majority and the paired test of reports; the grid in benchmarks has 1,000 of each."""
    plan, rng = plan_of(), np.random.default_rng(1)
    (row,) = plan_power(plan, STRUCTURE, Assumed(), rng, raters=[2], sizes=[1], runs=600)
    design = design_of(plan.hypotheses[0], STRUCTURE, Assumed(), instances=40, raters=2)
    found = 0
    for _ in range(150):
        study = draw_study(design, rng)
        (table,) = followups_of(study.truth, study.ratings.people(), "majority")
        a, b = (precision_by_instance(table.where("system", name)) for name in design.systems)
        both = sorted(a.keys() & b.keys())
        first, second = (np.array([values[x] for x in both]) for values in (a, b))
        found += paired_t_test(first, second).p <= 0.05 and first.mean() > second.mean()
    error = np.hypot(row.error, np.sqrt(row.power * (1 - row.power) / 150))
    assert 0.2 < row.power < 0.9
    assert abs(found / 150 - row.power) < 3.3 * error


def test_power_grows_with_effect_instances_and_raters_and_has_its_cost() -> None:
    rows = plan_power(plan_of(), STRUCTURE, Assumed(), np.random.default_rng(0), runs=200)
    by = {(row.instances, row.raters): row for row in rows}
    assert sorted({row.raters for row in rows}) == [1, 2, 3, 4]
    assert sorted({row.instances for row in rows}) == [20, 30, 40, 60, 80]
    assert by[80, 2].power > by[20, 2].power
    assert by[40, 4].power > by[40, 1].power
    one = by[40, 2]
    assert (one.judgments, one.cost, one.hours) == (480, 240, 12)
    strong = plan_power(
        plan_of(0.25), STRUCTURE, Assumed(), np.random.default_rng(0), sizes=[1], raters=[2], runs=200
    )
    assert strong[0].power > one.power
    less = plan_power(
        plan_of(direction="less"),
        STRUCTURE,
        Assumed(),
        np.random.default_rng(0),
        sizes=[1],
        raters=[2],
        runs=200,
    )
    assert less[0].power == pytest.approx(one.power, abs=0.2)


def test_what_is_not_simulated_says_why() -> None:
    mean = plan_of(metric="mean", of="all", about="rating", against="", value=0.6)
    assert why_no_power(mean.hypotheses[0]) == (
        "power isn’t computed for mean, because it depends on how far the numbers spread; give the hypothesis an assumed standard deviation (sd)"
    )
    for name, metric in METRICS.items():
        assert metric.no_power or name in {*DRAWN, "precision"}
    assert why_no_power(plan_of(0.0).hypotheses[0]) == "the hypothesis names no smallest effect of interest"
    assert plan_power(mean, STRUCTURE, Assumed(), np.random.default_rng(0)) == []
    with pytest.raises(ValueError, match=r"H1: a precision of 0\.9 plus the smallest effect 0\.15 is 1\.05"):
        plan_power(plan_of(), STRUCTURE, Assumed(precision=0.9), np.random.default_rng(0))
    with pytest.raises(ValueError, match="accuracy: got 1; expected a number between 0 and 1"):
        Assumed(accuracy=1)


OTHERS: dict[str, dict[str, Any]] = {
    "share of a system": {"metric": "share", "about": "helpful=yes", "effect": 0.12},
    "share": {"metric": "share", "about": "helpful=yes", "of": "all", "against": "", "value": 0.5, "effect": 0.12},
    "simulatable": {"metric": "simulatable", "of": "all", "against": "", "value": 0.6, "effect": 0.15},
    "gain of a system": {"metric": "gain", "effect": 0.12},
    "nsg": {"metric": "nsg", "of": "all", "against": "", "value": 0.0, "effect": 0.25},
    "kappa with a simulator": {"metric": "kappa", "of": "gpt", "against": "", "value": 0.4, "effect": 0.12},
    "alpha, less": {"metric": "alpha", "of": "all", "against": "", "value": 0.4, "direction": "less", "effect": 0.12},
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_power_of_other_metrics_grows_with_the_study_and_is_the_level_without_an_effect(case: str) -> None:
    options = dict(OTHERS[case])
    effect = options.pop("effect")
    rng = np.random.default_rng(0)
    rows = plan_power(
        plan_of(effect, **options), STRUCTURE, Assumed(), rng, raters=[2], sizes=[0.5, 2], runs=120
    )
    small, large = (row.power for row in rows)
    assert small + 0.1 < large
    assert 0.6 < large <= 1
    (null,) = plan_power(plan_of(1e-6, **options), STRUCTURE, Assumed(), rng, raters=[2], sizes=[1], runs=120)
    # One side of a two-sided test at 5 %: 2.5 % of 120, and four standard errors.
    assert null.power < 0.082


def test_an_agreement_that_raters_cannot_reach_is_refused_and_progress_is_told() -> None:
    plan = plan_of(0.1, metric="kappa", of="gpt", against="", value=0.75)
    with pytest.raises(ValueError, match=r"raters who are right in 85%, kappa is at most 0\.7"):
        plan_power(plan, STRUCTURE, Assumed(), np.random.default_rng(0), runs=1)
    told: list[tuple[int, int]] = []
    plan_power(plan_of(), STRUCTURE, Assumed(), np.random.default_rng(0), raters=[1], sizes=[1], runs=3, progress=lambda *at: told.append(at))  # fmt: skip
    assert told == [(1, 3), (2, 3), (3, 3)]


SPREAD: dict[str, tuple[dict[str, Any], int]] = {
    "two systems": ({"metric": "mean", "about": "rating", "correlation": 0.2}, 6),
    "a number": ({"metric": "mean", "about": "rating", "of": "all", "against": "", "value": 3.5}, 6),
    "people's accuracy": ({"metric": "accuracy", "of": "all", "against": "", "value": 0.6, "correlation": 0.3}, 12),
    "a simulator's accuracy": ({"metric": "accuracy", "of": "gpt", "against": "", "value": 0.6, "correlation": 0.3}, 4),
    "generality": ({"metric": "generality", "direction": "less"}, 1),
    "answers after": ({"metric": "right_after", "correlation": 0.0}, 6),
}  # fmt: skip


@pytest.mark.parametrize("case", SPREAD)
def test_power_from_an_assumed_spread_is_that_of_the_normal_approximation(case: str) -> None:
    options, ratings = SPREAD[case]
    shared = 0.0 if options["metric"] == "generality" else options.get("correlation", Assumed().clustering)
    instances, sd = 100, 1.2
    variance = sd**2 * (shared + (1 - shared) / ratings) * (1 if options.get("against") == "" else 2)
    error = np.sqrt(variance / instances)
    effect = float(2.8 * error)
    structure = Structure(instances=instances, follow_ups=2, raters=3, systems=2)
    plan = plan_of(effect, sd=sd, **options)
    (row,) = plan_power(
        plan, structure, Assumed(), np.random.default_rng(3), raters=[3], sizes=[1], runs=1000
    )
    expected = NormalDist().cdf(effect / error - NormalDist().inv_cdf(0.975))
    # The t test of 100 instances has a little less power than the normal one.
    assert row.power == pytest.approx(expected, abs=3.3 * row.error + 0.012)
    assert why_no_power(plan.hypotheses[0]) == ""


def test_an_assumed_spread_is_part_of_its_line_and_refused_where_it_means_nothing() -> None:
    line = "H1: mean(rating) of a > b by 0.3 sd 1.2 correlation 0.2"
    one = plan_parse({"hypotheses": [hypothesis_read(line)]}).hypotheses[0]
    assert (str(one), one.sd, one.correlation) == (line, 1.2, 0.2)
    assert "sd" not in plan_of().hypotheses[0].to_json(), "plans from before have the same hash"
    markdown = plan_markdown(plan_parse({"hypotheses": [one.to_json()]}), title="t", design={})
    assert "rests on an assumed standard deviation of 1.2 and a correlation of 0.2" in markdown
    for changed, expected in (
        ({"sd": 1.0}, "sd: got 1.0; expected none: the power of precision is simulated from labels"),
        ({"metric": "mean", "about": "r", "sd": 0}, "sd: got 0; expected a number from 1e-09"),
        ({"metric": "mean", "about": "r", "sd": 1, "correlation": 1}, "expected a number from 0 to 0.99"),
        ({"metric": "mean", "about": "r", "correlation": 0.1}, "expected a standard deviation with it"),
        ({"metric": "cell", "of": "a | b | c", "against": "", "value": 1, "sd": 1}, "a cell can be any statistic"),
    ):  # fmt: skip
        with pytest.raises(PlanError, match=expected):
            plan_of(**changed)
    with pytest.raises(PlanError, match=r"smallest_effect: got '0\.3 sd'"):
        plan_parse({"hypotheses": [hypothesis_read("H1: mean(r) of a > b by 0.3 sd")]})
