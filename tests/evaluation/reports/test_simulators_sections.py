"""What a report says of simulators beside κ: their distance from the distribution of labels, and how far they help people."""

from __future__ import annotations

import pytest

from annotator.models import Study
from tests.evaluation.reports.one_truth import check_sentences
from tests.evaluation.reports.paper_studies import typed
from tests.evaluation.reports.studies import cells_of, computed, small_study
from tests.factories import make_item, make_judgment, make_rater, make_study, simulation_payload

pytestmark = pytest.mark.django_db


def partly_judged() -> Study:
    """Three people on 12 of 36 units; gpt says yes to every other unit, people to two of three."""
    study, gpt = make_study(), make_rater("gpt", kind="simulator", source="simulator")
    people = [make_rater(name) for name in "abc"]
    for number in range(36):
        item = make_item(study, key=f"k{number}", instance=f"x{number}", payload=simulation_payload(number))
        make_judgment(item, gpt, "yes" if number % 2 else "no")
        for place, rater in enumerate(people if number < 12 else ()):
            make_judgment(item, rater, "no" if (number + place) % 3 == 0 and number % 2 == 0 else "yes")
    return typed(study, "simulation")


def test_labels_that_only_a_simulator_gave_help_estimates_of_each_label() -> None:
    content = computed(partly_judged(), replicates=100).content
    cells = cells_of(content, "helped-labels")
    assert {row for row, _ in cells} == {"gpt % yes", "gpt % no"}
    assert cells["gpt % yes", "People alone"]["value"] == 1.0  # two of three say yes on each unit
    assert (cells["gpt % yes", "Labelled"]["value"], cells["gpt % yes", "Not labelled"]["value"]) == (12, 24)
    assert "helped by single:gpt" in cells["gpt % no", "Helped"]["rule"]


def test_labels_that_nobody_lacks_need_no_help() -> None:
    content = computed(small_study(simulator=True)).content
    assert "helped-labels" not in {section["id"] for section in content["sections"]}


def test_a_simulator_is_scored_against_the_distribution_of_labels() -> None:
    content = computed(partly_judged(), replicates=100).content
    ((simulator, person),) = [
        (cells["gpt", "Jensen-Shannon divergence Simulator"], cells["gpt", "Jensen-Shannon divergence A person left out"])
        for cells in (cells_of(content, "soft-scores"),)
    ]  # fmt: skip
    # Odd units: three times yes, gpt yes, 0 for all. Even ones: n y y in some order, gpt no. Against the two others, gpt is
    # 0.3113 away from n y (twice) and 1 from y y; a person with y as far from n y, one with n as gpt from y y.
    half = 0.31127812
    assert simulator["value"] == pytest.approx((0 + (2 * half + 1) / 3) / 2)
    assert person["value"] == pytest.approx((0 + (2 * half + 1) / 3) / 2)
    assert simulator["n"] == 12
    assert check_sentences(content)
