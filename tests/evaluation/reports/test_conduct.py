"""What venues ask about people, and what a study cost; people helped by a simulator; links to differing items."""

import pytest
from django.urls import reverse

from annotator.models import Judgment, Rater
from tests.evaluation.reports.studies import (
    cells_of,
    client_of,
    computed,
    paid_study,
    small_study,
    stored,
    table_of,
)
from tests.factories import make_item, make_judgment, make_participation, make_rater, make_study

pytestmark = pytest.mark.django_db


def test_people_time_consent_and_cost_by_hand():
    study = paid_study()
    content = computed(study).content
    work = cells_of(content, "p3-table-17")
    task = next(row for row, _ in work)
    assert work[task, "Annotators"]["value"] == 2
    assert work[task, "Average time (s)"]["value"] == pytest.approx(30)
    assert work[task, "Median time (s)"]["value"] == pytest.approx(20)
    assert work[task, "Pay per item (USD)"]["value"] == 0.5
    assert work[task, "Pay per hour on the median (USD)"]["value"] == pytest.approx(0.5 * 3600 / 20)
    costs = cells_of(content, "conduct-costs")
    assert costs["Pay for items, USD", "Amount"]["value"] == 1.5
    assert costs["Bonuses, USD", "Amount"]["value"] == 2
    assert costs["Model calls: simulate by m, in the endpoint’s currency", "Amount"]["value"] == 1.25
    how = cells_of(content, "conduct-protocol")
    assert how["Consent", "In this study"]["text"].startswith("1 given, 0 withdrawn; text c0ffee")
    assert how["Instructions", "In this study"]["text"].startswith("version 1 (")
    assert how["Joined, finished, left", "In this study"]["text"] == "2, 1, 0"


def test_rehearsal_raters_leave_a_live_studys_figures_as_they_are():
    study = paid_study()
    before = computed(study).content
    synthetic = make_participation(study).rater
    Rater.objects.filter(pk=synthetic.pk).update(rehearsal=True)
    place = study.places.exclude(judgment__isnull=False).first()
    judgment = make_judgment(place.item, synthetic)
    Judgment.objects.filter(pk=judgment.pk).update(
        source="rehearsal", place=place, snapshot=study.snapshot, seconds=0.1
    )
    after = computed(study).content
    for table in ("conduct-costs", "conduct-protocol"):
        assert cells_of(after, table) == cells_of(before, table)
    rows = cells_of(after, "p3-table-17")
    task = next(row for row, _ in rows).removesuffix(" Participants")
    for column in ("Annotators", "Median time (s)", "Pay per hour on the median (USD)"):
        was = cells_of(before, "p3-table-17")[f"{task} Participants", column]
        assert rows[f"{task} Participants", column] == was
    assert rows[f"{task} Rehearsal raters", "Median time (s)"]["value"] == pytest.approx(0.1)
    assert (
        rows[f"{task} Rehearsal raters", "Pay per item (USD)"]["reason"]
        == "rehearsal raters are not paid here"
    )


def test_an_imported_study_says_that_nothing_was_timed():
    content = computed(small_study()).content
    row = next(row for row, _ in cells_of(content, "p3-table-17"))
    cells = cells_of(content, "p3-table-17")
    assert row.endswith(" Imported raters")
    assert cells[row, "Average time (s)"]["reason"] == "no judgment was timed in the browser"
    assert cells[row, "Annotators"]["value"] == 2


def test_people_helped_by_a_simulator_by_hand():
    """The simulator is always right about people: on the 8 explanations that they left, its precision is 1 of 2."""
    study = make_study()
    ann, gpt = make_rater("ann"), make_rater("gpt", kind="simulator", source="simulator")
    for number in range(16):
        real = "yes" if number % 2 else "no"
        item = make_item(study, key=f"k{number}", instance=f"x{number}", real_output=real)
        make_judgment(item, gpt, "yes")
        if number < 8:
            make_judgment(item, ann, "yes")
    cells = cells_of(computed(study, replicates=100).content, "prediction-powered")
    row = "gpt Precision, macro"
    assert cells[row, "People alone"]["value"] == 0.5
    assert cells[row, "Helped"]["value"] == pytest.approx(0.5)
    assert cells[row, "Simulator alone"]["value"] == 0.5
    assert (cells[row, "Labelled"]["value"], cells[row, "Not labelled"]["value"]) == (8, 8)
    # own = correction = (-.5, .5, ...) on the labelled, (0, ...) elsewhere times their weights: lambda = n N / (n (n + N))
    # = 1/2, so that the variance halves: sixteen labels' worth.
    assert cells[row, "λ"]["value"] == pytest.approx(0.5)
    assert cells[row, "n effective"]["value"] == pytest.approx(16)
    assert "t interval" in cells[row, "Helped"]["interval"]


def test_without_a_simulator_there_is_no_prediction_powered_section():
    assert not [s for s in computed(small_study()).content["sections"] if s["id"] == "prediction-powered"]


def test_items_that_differ_link_to_their_pages():
    study = small_study(simulator=True)
    report = stored(study)
    table = table_of(report.content, "calibration-items-1")
    item = study.items.get(key="xb1")
    assert next(row["item"] for row in table["rows"] if row["head"] == ["xb1"]) == [study.pk, item.pk]
    client = client_of(study)
    page = client.get(reverse("evaluation:report", args=[report.pk])).content.decode()
    address = reverse("admin:study_item", args=[study.pk, item.pk])
    assert f'href="{address}"' in page
    assert client.get(address).status_code == 200
    file = b"".join(
        client.get(reverse("evaluation:report_export", args=[report.pk, "html"])).streaming_content
    )
    assert address.encode() not in file
