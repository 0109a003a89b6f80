import csv
import math
from dataclasses import replace

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from evaluation.agreement import krippendorff_alpha, pairwise_kappa
from evaluation.metrics import followups_of, simulatability
from evaluation.metrics.simulatability import Simulatability, per_explanation, summarise
from evaluation.planning.sample_size import FIGURES, plan_difference, plan_width
from evaluation.planning.synthetic import COLUMNS, StudyDesign, draw_study


def test_sizes_redundancy_and_names():
    design = StudyDesign(instances=7, precision=(0.9, 0.6, 0.7), follow_ups=4, simulators={"gpt": 0.8})
    study = draw_study(design, np.random.default_rng(0))
    assert len(study.truth) == design.items == 84
    assert len(study.ratings) == design.judgments + design.items
    people = study.ratings.people()
    assert len(people) == 252
    assert set(np.bincount(people.unit)) == {3}  # k raters per item; Ratings itself refuses one rater twice
    assert study.ratings.simulators == {"gpt"}
    assert study.truth.system[0] == "system-1"


def test_the_same_seed_gives_the_same_study():
    one, two = (draw_study(StudyDesign(instances=5), np.random.default_rng(3)) for _ in range(2))
    assert list(one.rows()) == list(two.rows())


def test_what_is_drawn_has_the_stated_truth():
    design = StudyDesign(instances=4000, precision=(0.9, 0.6), follow_ups=4, redundancy=1, clustering=0.2)
    study = draw_study(design, np.random.default_rng(1))
    for name, expected in zip(design.systems, design.precision, strict=True):
        found = simulatability(study.truth.where("system", name))
        assert found.precision.value == pytest.approx(expected, abs=0.02)
        assert found.simulatable.value == pytest.approx(0.65, abs=0.02)
    right = study.ratings.value == [design.labels.index(s) for s in study.truth.simulated[study.ratings.unit]]
    assert right.mean() == pytest.approx(np.mean(list(study.accuracies.values())), abs=0.02)


def test_clustering_is_the_correlation_within_an_instance():
    design = StudyDesign(instances=4000, precision=(0.7,), follow_ups=2, clustering=0.3, redundancy=1)
    study = draw_study(design, np.random.default_rng(2))
    guess = np.array([s == "cannot guess" for s in study.truth.simulated], float).reshape(-1, 2)
    assert np.corrcoef(guess.T)[0, 1] == pytest.approx(0.3, abs=0.05)
    flat = draw_study(
        StudyDesign(instances=4000, precision=(0.7,), follow_ups=2, clustering=0.0, redundancy=1),
        np.random.default_rng(2),
    )
    guess = np.array([s == "cannot guess" for s in flat.truth.simulated], float).reshape(-1, 2)
    assert abs(np.corrcoef(guess.T)[0, 1]) < 0.05


def test_perfect_raters_find_the_truth_and_agree_fully():
    design = StudyDesign(instances=20, accuracy=1.0, accuracy_sd=0.0)
    study = draw_study(design, np.random.default_rng(0))
    found = followups_of(study.truth, study.ratings, "majority")[0]
    assert found.simulated.tolist() == study.truth.simulated.tolist()
    assert krippendorff_alpha(study.ratings).value == 1.0


def test_raters_who_only_guess_do_not_agree():
    design = StudyDesign(instances=300, accuracy=1 / 3, accuracy_sd=0.0, raters=5)
    study = draw_study(design, np.random.default_rng(0))
    assert pairwise_kappa(study.ratings).mean().value == pytest.approx(0.0, abs=0.03)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"instances": 0}, "instances: expected 1 or more"),
        ({"redundancy": 30}, "redundancy: 30 raters per item, but there are 20"),
        ({"accuracy": 1.2}, "accuracy: expected a value in"),
        ({"precision": ()}, "precision: expected one value for each system"),
        ({"precision": (0.5, 2.0)}, "precision"),
        ({"clustering": 1.0}, "clustering"),
        ({"prevalence": (0.5, 0.5)}, "prevalence: expected one share for each"),
        ({"prevalence": (0.5, 0.4, 0.3)}, "add up to 1"),
        ({"abstain": "maybe"}, "abstain: 'maybe'"),
        ({"labels": ("yes", "cannot guess"), "prevalence": (0.5, 0.5)}, "two or more besides"),
        ({"simulators": {"gpt": 3.0}}, "simulators"),
    ],
)
def test_an_impossible_design_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        StudyDesign(**change)


def by_rule(followups, ratings, rule) -> Simulatability:
    """Simulatability under an aggregation rule, as reports compute it."""
    tables = followups_of(followups, ratings, rule)
    return summarise([per_explanation(table) for table in tables], tables, rng=None, replicates=0)


def test_from_ratings_majority_single_and_per_rater_by_hand():
    from evaluation.core.ratings_table import Ratings
    from evaluation.metrics import FollowUps

    table = FollowUps(
        unit=["u1", "u2", "u3"],
        explanation=["e1", "e2", "e3"],
        instance=["x", "y", "z"],
        system=["s"] * 3,
        simulated=[None] * 3,
        real=["yes", "no", "yes"],
        abstain={"cannot guess"},
    )
    ratings = Ratings.from_rows(
        [
            ("ann", "u1", "yes"),
            ("bob", "u1", "yes"),
            ("cat", "u1", "no"),
            ("ann", "u2", "yes"),
            ("bob", "u2", "no"),
        ]
    )
    majority = by_rule(table, ratings, "majority")
    assert majority.precision.value == 1.0  # u1 is yes, which is right; u2 is tied; u3 isn't rated
    assert majority.simulatable.left_out == {"raters tie": 1, "not rated": 1}
    single = by_rule(table, ratings, "single:ann")
    assert single.precision.value == 0.5
    assert single.simulatable.left_out == {"not rated": 1}
    per_rater = by_rule(table, ratings, "per_rater")
    assert per_rater.precision.value == pytest.approx((0.5 + 1.0 + 0.0) / 3)  # ann, bob, cat
    with pytest.raises(ValueError, match="rule"):
        by_rule(table, ratings, "average")


@pytest.mark.parametrize("rule", ["majority", "dawid_skene", "mace", "per_rater"])
def test_every_rule_gives_a_figure_near_the_truth(rule):
    design = StudyDesign(
        instances=60, precision=(0.8,), accuracy=0.95, accuracy_sd=0.0, redundancy=5, raters=6
    )
    study = draw_study(design, np.random.default_rng(5))
    found = by_rule(study.truth, study.ratings, rule)
    assert found.precision.value == pytest.approx(simulatability(study.truth).precision.value, abs=0.08)


def test_no_ratings_at_all_are_undefined_under_every_rule():
    study = draw_study(StudyDesign(instances=2, follow_ups=1), np.random.default_rng(0))
    nobody = study.ratings.where(np.zeros(len(study.ratings), bool))
    for rule in ("majority", "per_rater"):
        assert not by_rule(study.truth, nobody, rule).precision.defined


def test_plan_halving_the_width_takes_four_times_the_instances_and_the_cost():
    design = StudyDesign(instances=40, precision=(0.8,), follow_ups=5)
    wide, narrow = (
        plan_width(
            design, width, np.random.default_rng(0), redundancies=(3,), pay_per_judgment=0.2, fee=0.5, runs=40
        )[0]
        for width in (0.2, 0.1)
    )
    assert narrow.instances == pytest.approx(4 * wide.instances, abs=4)
    assert wide.judgments == wide.instances * 5 * 3
    assert wide.cost == pytest.approx(wide.judgments * 0.3)
    assert wide.width <= 0.2


def test_a_planned_study_has_the_planned_width():
    design = StudyDesign(instances=40, precision=(0.8,), follow_ups=5, accuracy=1.0, accuracy_sd=0.0)
    row = plan_width(design, 0.1, np.random.default_rng(1), redundancies=(1,), runs=150)[0]
    widths = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        study = draw_study(replace(design, instances=row.instances), rng)
        found = simulatability(study.truth, rng=rng).precision
        widths.append(found.high - found.low)
    assert np.mean(widths) == pytest.approx(0.1, rel=0.25)
    assert abs(row.bias) < 0.02


def test_plan_shows_the_bias_of_careless_raters_and_more_raters_lessen_it():
    design = StudyDesign(instances=60, precision=(0.95,), accuracy=0.7, accuracy_sd=0.0)
    one, five = plan_width(design, 0.1, np.random.default_rng(2), redundancies=(1, 5), runs=30)
    assert one.bias < five.bias < 0


def test_plan_difference_needs_more_for_a_smaller_one():
    few = plan_difference(
        StudyDesign(instances=40, precision=(0.9, 0.6)), np.random.default_rng(0), redundancies=(3,), runs=40
    )
    many = plan_difference(
        StudyDesign(instances=40, precision=(0.9, 0.8)), np.random.default_rng(0), redundancies=(3,), runs=40
    )
    assert many[0].instances > 3 * few[0].instances


@pytest.mark.parametrize("figure", sorted(FIGURES))
def test_every_figure_can_be_planned(figure):
    row = plan_width(
        StudyDesign(instances=20), 0.2, np.random.default_rng(0), figure=figure, redundancies=(3,), runs=10
    )[0]
    assert row.instances >= 2
    assert math.isnan(row.bias) == (figure == "alpha")


def test_an_impossible_plan_is_refused():
    design, rng = StudyDesign(instances=5), np.random.default_rng(0)
    with pytest.raises(ValueError, match="width"):
        plan_width(design, 0, rng)
    with pytest.raises(ValueError, match="figure: expected one of"):
        plan_width(design, 0.1, rng, figure="beauty")
    with pytest.raises(ValueError, match="two systems with different"):
        plan_difference(design, rng)
    with pytest.raises(ValueError, match="figure: alpha is not defined"):
        plan_width(design, 0.1, rng, figure="alpha", redundancies=(1,), runs=3)


def test_command_writes_the_long_table(tmp_path):
    path = tmp_path / "study.csv"
    call_command(
        "simulate_study", str(path), "--instances", "4", "--follow-ups", "3", "--precision", "0.9,0.5",
        "--simulator", "gpt=0.9", "--seed", "7",
    )  # fmt: skip
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 4 * 2 * 3 * 3 + 4 * 2 * 3
    assert {row["rater_kind"] for row in rows} == {"human", "simulator"}
    again = tmp_path / "again.csv"
    call_command(
        "simulate_study", str(again), "--instances", "4", "--follow-ups", "3", "--precision", "0.9,0.5",
        "--simulator", "gpt=0.9", "--seed", "7",
    )  # fmt: skip
    assert again.read_bytes() == path.read_bytes()


def test_command_plans(capsys):
    call_command(
        "simulate_study",
        "--instances",
        "20",
        "--width",
        "0.2",
        "--redundancies",
        "1,3",
        "--pay",
        "0.1",
        "--runs",
        "5",
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["raters/item", "instances"]
    assert len(lines) >= 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a FILE to write, or --width to plan"),
        (["--width", "0.1", "--precision", "0.9,high"], "--precision: expected numbers"),
        (["--width", "0.1", "--prevalence", "yes:1"], "--prevalence: expected LABEL=SHARE"),
        (["--width", "0.1", "--simulator", "gpt"], "--simulator: expected NAME=ACCURACY"),
        (["--width", "0.1", "--accuracy", "2"], "accuracy: expected a value"),
        (["--width", "-1"], "width: expected a number above 0"),
        (["/no/such/folder/out.csv"], "FILE"),
    ],
)
def test_command_refuses_bad_input_and_writes_nothing(arguments, message, tmp_path):
    with pytest.raises(CommandError, match=message):
        call_command("simulate_study", *arguments)


def test_command_does_not_overwrite(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("keep me")
    with pytest.raises(CommandError, match=r"FILE: .* already exists"):
        call_command("simulate_study", str(path))
    assert path.read_text() == "keep me"
