"""The report's section on what an explanation adds, worked out by hand; and what else a study with control arms reports."""

from __future__ import annotations

import csv
import io
import re

import pytest

from annotator.models import FollowUp, Study
from evaluation.reports.choices import Choices
from evaluation.reports.exports import export
from tests.annotator.services.control_studies import imported, two_armed_study
from tests.evaluation.reports.studies import cells_of, computed, small_study, table_of
from tests.factories import make_judgment, make_rater, make_study, record_judgment

pytestmark = pytest.mark.django_db

#: Arm -> the judgments of each follow-up x<instance>-s<system>-0, by rater; the real output is always yes.
ARMS = {"": "", "answer_only": " (answer only)", "nothing": " (nothing)"}
SAID = {
    ("x0-s0-0", ""): ("yes", "yes", "no"),  # 2/3
    ("x0-s0-0", "nothing"): ("no", "cannot_guess", "yes"),  # 1/3: helped
    ("x1-s0-0", ""): ("no", "no", "yes"),  # 1/3
    ("x1-s0-0", "nothing"): ("yes", "yes", "yes"),  # 1: misled
    ("x0-s1-0", ""): ("yes", "yes", "yes"),
    ("x0-s1-0", "nothing"): ("no", "no", "cannot_guess"),  # helped
    ("x1-s1-0", ""): ("yes", "yes", "yes"),  # nothing in the control arm
}


@pytest.fixture
def study() -> Study:
    study = two_armed_study(2)
    for (key, arm), answers in SAID.items():
        item = study.items.get(key=key + ARMS[arm])
        for number, answer in enumerate(answers):
            make_judgment(item, make_rater(f"{arm or 'with'}-{number}"), answer)
    return study


def test_by_hand(study: Study) -> None:
    content = computed(study).content
    cells = cells_of(content, "simulatability-gain")
    # robot-0: with (2/3 + 1/3) / 2, without (1/3 + 1) / 2; robot-1: with 1, without 0; all: three follow-ups
    expected = {
        ("People robot-0 nothing", "With"): 1 / 2,
        ("People robot-0 nothing", "Without"): 2 / 3,
        ("People robot-0 nothing", "Gain"): -1 / 6,
        ("People robot-0 nothing", "Misled"): 1 / 2,
        ("People robot-0 nothing", "Helped"): 1 / 2,
        ("People robot-1 nothing", "Gain"): 1.0,
        ("People All nothing", "With"): 2 / 3,
        ("People All nothing", "Without"): 4 / 9,
        ("People All nothing", "Follow-ups"): 3,
    }
    for where, value in expected.items():
        assert cells[where]["value"] == pytest.approx(value), where
    nsg = cells["People All nothing", "NSG"]
    assert nsg["value"] is None
    assert "too near 1: at least 8 instances" in nsg["reason"]
    assert cells["People All nothing", "Gain"]["left_out"] == {
        "follow-ups without a judgment in one of the two arms": 1
    }


def test_cannot_guess_is_an_option_that_the_table_names(study: Study) -> None:
    content = computed(study, cannot_guess="left_out").content
    cells = cells_of(content, "simulatability-gain")
    assert cells["People robot-0 nothing", "Without"]["value"] == pytest.approx((1 / 2 + 1) / 2)
    assert table_of(content, "simulatability-gain")["notes"] == ["“Cannot guess” counts as: left out."]
    usual = table_of(computed(study).content, "simulatability-gain")
    assert usual["notes"] == ["“Cannot guess” counts as: not a right prediction."]


def test_systems_are_compared_on_the_instances_that_both_have(study: Study) -> None:
    cells = cells_of(computed(study).content, "simulatability-gain-compared")
    [row] = {head for head, _ in cells}
    assert row == "People robot-0 robot-1 nothing"
    assert cells[row, "Instances"]["value"] == 1
    assert cells[row, "Difference"]["value"] == pytest.approx(1 / 3 - 1)


def test_other_tables_are_about_items_with_the_explanation(study: Study) -> None:
    content = computed(study).content
    left = cells_of(content, "data-left-out")
    assert [cell["value"] for (head, _), cell in left.items() if head == "in a control arm"] == [9]
    others = [
        section for section in content["sections"] if section["id"] not in ("simulatability-gain", "summary")
    ]
    assert "(nothing)" not in str(others)
    systems = cells_of(content, "systems-compared")
    # by majority: robot-0 is right on x0 and wrong on x1; robot-1 is right on both
    assert systems["robot-0 robot-1", "First"]["value"] == 0.5
    assert systems["robot-0 robot-1", "Second"]["value"] == 1.0
    assert systems["robot-0 robot-1", "Instances"]["value"] == 2


def test_a_simulator_is_measured_beside_people(study: Study) -> None:
    robot = make_rater("gpt-4", kind="simulator", source="simulator")
    for item in study.items.all():
        make_judgment(item, robot, "no" if "nothing" in item.key else "yes")
    cells = cells_of(computed(study).content, "simulatability-gain")
    assert cells["gpt-4 All nothing", "Gain"]["value"] == 1.0
    assert cells["gpt-4 All nothing", "Follow-ups"]["value"] == 4


def test_groups_have_columns(study: Study) -> None:
    study.items.filter(key__startswith="x0").update(attributes={"domain": "birds"})
    study.items.filter(key__startswith="x1").update(attributes={"domain": "fish"})
    cells = cells_of(computed(study, by="domain").content, "simulatability-gain")
    assert cells["People robot-0 nothing", "domain birds Gain"]["value"] == pytest.approx(1 / 3)
    assert cells["People robot-0 nothing", "domain fish Gain"]["value"] == pytest.approx(-2 / 3)


def test_generators_of_follow_ups_have_a_table_of_their_own(study: Study) -> None:
    """The first instance's follow-ups are one generator's, the second's another's."""
    for place, generator in enumerate(("gpt-4", "polyjuice")):
        FollowUp.objects.filter(items__study=study, instance__key=f"x{place}").update(generator=generator)
    cells = cells_of(computed(study).content, "simulatability-gain-generators")
    assert cells["People gpt-4 nothing", "With"]["value"] == pytest.approx((2 / 3 + 1) / 2)
    assert cells["People gpt-4 nothing", "Without"]["value"] == pytest.approx((1 / 3 + 0) / 2)
    assert cells["People gpt-4 nothing", "Helped"]["value"] == pytest.approx(1.0)
    assert cells["People polyjuice nothing", "Gain"]["value"] == pytest.approx(1 / 3 - 1)
    assert cells["People polyjuice nothing", "Misled"]["value"] == pytest.approx(1.0)


def test_every_form_of_the_report_has_it(study: Study) -> None:
    found = computed(study, figures=True)
    texts = {name: export(found.content, found.files, name) for name in ("csv", "latex", "html")}
    lines = [
        line for line in csv.DictReader(io.StringIO(texts["csv"])) if line["table"] == "simulatability-gain"
    ]
    assert {line["column"] for line in lines} >= {"With", "Without", "Gain", "NSG", "Misled", "Helped"}
    assert "What the explanation adds" in texts["latex"]
    assert "simulatability-gain-slopes" in " ".join(found.files)
    section = next(one for one in found.content["sections"] if one["id"] == "simulatability-gain")
    said = re.sub(r" \[[^]]*\]| \([^)]*\)", "", section["prose"][0])
    assert said.startswith(
        "Of the system’s answers, people predicted 66.7 % with the explanation and 44.4 % with nothing shown. The gain is 22.2 percentage points, NSG "
    )


def test_forward_simulation_has_it_too() -> None:
    study = make_study(hit_type="forward_simulation", nothing_raters=1)
    rows = [
        {
            "key": f"a{n}",
            "instance": f"x{n}",
            "input": f"Fine film {n}.",
            "explanation": "Fine is good.",
            "real_output": "yes",
            "system": "s",
        }
        for n in range(2)
    ]
    imported(study, *rows)
    for item in study.items.all():
        record_judgment(
            item, make_rater(item.key), {"prediction": "no" if "(nothing)" in item.key else "yes"}
        )
    content = computed(study).content
    assert cells_of(content, "simulatability-gain")["People All nothing", "Gain"]["value"] == 1.0
    assert cells_of(content, "forward-simulation")["People no explanation", "Items"]["value"] == 2


def test_a_study_without_control_arms_reports_what_it_always_did() -> None:
    content = computed(small_study()).content
    assert "simulatability-gain" not in {section["id"] for section in content["sections"]}
    assert "cannot_guess" not in Choices().hashed()
    assert Choices(cannot_guess="left_out").hashed()["cannot_guess"] == "left_out"
    assert set(Choices().to_json()) - set(Choices().hashed()) == {
        "cannot_guess", "items", "raters", "money", "adjudicated",
    }  # fmt: skip
