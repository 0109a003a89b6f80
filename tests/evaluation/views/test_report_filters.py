"""A report's filter: the form offers the study's own columns and values, and the page says what was left out."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse
from django.utils.datastructures import MultiValueDict

from annotator.models import Item, Rater, Study
from evaluation.forms.filters import FilterWidget
from evaluation.models import Report
from evaluation.ratings.attributes import BUILT_IN, attribute_names
from evaluation.ratings.judgments import judgments_load
from evaluation.selectors.attributes import study_attributes
from evaluation.services import report as service
from tests.evaluation.reports.studies import client_of, small_study, stored
from tests.factories import make_item, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued_reports")]


@pytest.fixture
def study() -> Study:
    """Six items of two systems, three of them on birds; ann is a native speaker and bob isn't."""
    study = small_study()
    for number, item in enumerate(study.items.order_by("pk")):
        topic = "birds; owls" if number < 3 else "cars"
        Item.objects.filter(pk=item.pk).update(attributes={"topic": topic, "length": str(number)})
    Rater.objects.filter(name="ann").update(attributes={"native": "yes"})
    Rater.objects.filter(name="bob").update(attributes={"native": "no"})
    return study


def values_of(study: Study) -> dict[str, dict[str, int]]:
    found = study_attributes(studies=[study])
    return {one.name: {value.text: value.count for value in one.values} for one in found}


def test_the_columns_are_the_studys_own_with_counts(study: Study) -> None:
    found = values_of(study)
    assert found["topic"] == {"birds; owls": 3, "cars": 3}
    assert found["system"] == {"robot-a": 4, "robot-b": 2}
    assert found["rater:native"] == {"no": 1, "yes": 1}
    assert len(found["length"]) == 6
    assert "condition" not in found, "no item has one"
    other = make_study()
    make_item(other, condition="easy")
    assert values_of(other)["condition"] == {"easy": 1}
    assert "topic" not in values_of(other)


def test_withdrawn_and_replaced_items_are_not_counted(study: Study) -> None:
    first, second = study.items.order_by("pk")[:2]
    Item.objects.filter(pk=first.pk).update(withdrawn_at="2026-01-01T00:00Z", withdrawn_reason="wrong")
    corrected = make_item(study, key="again")
    Item.objects.filter(pk=corrected.pk).update(attributes={"topic": "birds; owls"}, replaces=second)
    assert values_of(study)["topic"] == {"birds; owls": 2, "cars": 3}


def test_ticked_values_and_the_written_line_become_one_filter(study: Study) -> None:
    widget = FilterWidget(study_attributes(studies=[study]))
    data: Any = MultiValueDict(
        {"only": ["length=3; topic=cars"], "only-value": ['topic="birds; owls"', "topic=cars"]}
    )
    text = widget.value_from_datadict(data, {}, "only")
    assert text == 'topic="birds; owls"; topic=cars; length=3'
    page = widget.render("only", text)
    assert page.count(" checked") == 3
    assert widget.value_from_datadict(MultiValueDict({"only": ["topic"]}), {}, "only") == "topic"


def test_a_report_on_ticked_values_names_them_at_the_top(study: Study) -> None:
    client = client_of(study)
    address = reverse("evaluation:reports", args=[study.pk])
    page = client.get(address).content.decode()
    assert 'value="topic=&quot;birds; owls&quot;"' in page
    assert '<option value="rater:native">native (2 values)</option>' in page
    asked = {"only-value": ['topic="birds; owls"', "rater:native=yes"], "by": "system", "replicates": "0"}
    client.post(address, asked)
    report = Report.objects.get()
    assert report.choices["only"] == 'topic="birds; owls"; rater:native=yes'
    service.report_compute(report_pk=report.pk)
    page = client.get(reverse("evaluation:report", args=[report.pk])).content.decode()
    assert "<dt>Only</dt><dd>topic: birds; owls; native of raters: yes</dd>" in page
    assert "<dt>By group</dt><dd>system</dd>" in page
    assert page.count(" checked") == 2, "the form under “Change the options” keeps both"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("only", "colour=red", "No item or rater has a value of “colour”. The columns are: "),
        ("only", "topic=boats", "No “topic” is “boats”. Its values are: birds; owls, cars."),
        ("only", "topic", "Write the filter as column=value; column=value."),
        ("by", "colour", "No item or rater has a value of “colour”."),
    ],
)
def test_a_filter_without_matches_is_an_error_of_its_field(
    study: Study, field: str, value: str, message: str
) -> None:
    response = client_of(study).post(reverse("evaluation:reports", args=[study.pk]), {field: value})
    assert response.status_code == 422
    assert message in response.content.decode()
    assert not Report.objects.exists()


def test_the_api_lists_the_columns_and_refuses_a_filter_without_matches(study: Study) -> None:
    client = client_of(study, role="reviewer")
    root = f"/api/v1/studies/{study.slug}/"
    found = {one["name"]: one for one in client.get(f"{root}report-columns/").json()}
    assert found["rater:native"] == {
        "name": "rater:native", "of": "raters", "distinct": 2,
        "values": [{"text": "no", "count": 1}, {"text": "yes", "count": 1}],
    }  # fmt: skip
    asked = {"only": "topic=boats", "by": "colour"}
    response = client.post(f"{root}reports/", asked, content_type="application/json")
    assert response.status_code == 400
    assert set(response.json()["errors"]) == {"only", "by"}
    asked = {"only": "topic=cars", "by": "rater:native"}
    assert client.post(f"{root}reports/", asked, content_type="application/json").status_code == 202


def test_the_menus_offer_only_columns_that_reports_know(study: Study) -> None:
    known = attribute_names(judgments_load(study=study))
    offered = [one.name for one in study_attributes(studies=[study])]
    assert set(offered) <= set(known)
    assert set(known) - set(offered) <= set(BUILT_IN), "only built-in columns may be blank"


def test_a_long_column_lists_its_most_frequent_values_and_takes_the_others(study: Study) -> None:
    for number in range(30):
        item = make_item(study, key=f"long-{number}")
        Item.objects.filter(pk=item.pk).update(attributes={"length": str(100 + number)})
    column = next(one for one in study_attributes(studies=[study]) if one.name == "length")
    assert (len(column.values), column.distinct, column.unlisted) == (20, 36, 16)
    page = client_of(study).get(reverse("evaluation:reports", args=[study.pk])).content.decode()
    assert "16 more values" in page
    client_of(study).post(reverse("evaluation:reports", args=[study.pk]), {"only": "length=129"})
    assert Report.objects.get().choices["only"] == "length=129"


def test_add_report_in_the_admin_has_the_report_pages_menus(study: Study) -> None:
    client = client_of(study)
    page = client.get(reverse("admin:evaluation_report_add")).content.decode()
    assert 'value="topic=&quot;birds; owls&quot;"' in page
    assert '<option value="rater:native">native (2 values)</option>' in page
    assert '<select name="rule"' in page
    assert '<select name="encoder"' in page
    assert "css/filters.css" in page
    assert re.search(r'<input type="checkbox" name="exclusions"[^>]* checked', page), "as on the report page"
    asked = {"studies": [study.pk], "only-value": ["topic=cars"], "replicates": "0", "seed": "1"}
    response = client.post(reverse("admin:evaluation_report_add"), asked)
    assert response.status_code == 302, response.context["adminform"].form.errors
    assert Report.objects.get().choices["only"] == "topic=cars"


def test_a_report_on_a_removed_column_still_shows_its_choice(study: Study) -> None:
    report = stored(study, by="topic", only="topic=cars")
    Item.objects.update(attributes={})
    page = client_of(study).get(reverse("evaluation:report", args=[report.pk])).content.decode()
    assert '<option value="topic" selected>topic</option>' in page
    assert 'value="topic=cars"' in page
