"""Pages on which a researcher decides something: what is needed for it is there, in one place."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from lxml import html

from annotator.hit_types.registry import hit_types
from annotator.models import Exclusion, Judgment, Membership, Study, User
from annotator.web.templatetags.sketches import task_sketch
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db
#: The types of the product, without those that tests add.
OWN = {
    name: kind
    for name, kind in hit_types().items()
    if type(kind).__module__.startswith("annotator.hit_types.")
}


@pytest.fixture
def study(researcher: User) -> Study:
    """Two items; ann says yes to both, ben no to the first only, and cam no to it."""
    made = make_study(by=researcher)
    items = [make_item(made, key=key) for key in ("a", "b")]
    for name, answers in (("ann", ("yes", "yes")), ("ben", ("no",)), ("cam", ("no",))):
        for item, answer in zip(items, answers, strict=False):
            make_judgment(item, make_rater(name), answer)
    return made


def opened(client: Client, study: Study, page: str, **query: Any) -> Any:
    reply = client.get(f"/admin/annotator/study/{study.pk}/{page}/", query)
    assert reply.status_code == 200
    return html.document_fromstring(reply.content)


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("", ["ann", "ben", "cam"]),
        ("rater", ["ann", "ben", "cam"]),
        ("seconds", ["cam", "ann", "ben"]),
        ("last", ["ben", "ann", "cam"]),
        ("fast", ["cam", "ann", "ben"]),
        ("'; DROP TABLE--", ["ann", "ben", "cam"]),
    ],
)
def test_raters_are_sorted_by_a_column(
    researcher_client: Client, study: Study, sort: str, names: list[str]
) -> None:
    now = timezone.now()
    for name, seconds, hours in (("ann", 20, 2), ("ben", 30, 1), ("cam", 1, 3)):
        Judgment.objects.filter(rater__name=name).update(
            seconds=seconds, created_at=now - timedelta(hours=hours)
        )
    page = opened(researcher_client, study, "raters", sort=sort)
    assert [one.text_content().strip() for one in page.xpath("//tbody//td[1]")] == names
    sorted_by = page.xpath("//th[@aria-sort]//a/@href")
    assert sorted_by == [f"?sort={sort if sort.isalpha() else 'judgments'}"]


def test_a_contested_item_shows_all_that_was_judged_and_is_decided_there(
    researcher_client: Client, study: Study
) -> None:
    page = opened(researcher_client, study, "contested")
    [item] = page.xpath("//article")
    judged = item.find_class("fk-judged")[0].text_content()
    for label in ("Starter question", "The robot's explanation", "Follow-up question"):
        assert label in judged
    assert "chick" in judged, "the follow-up itself"
    first, _ = item.xpath(".//tbody//form")
    assert "Exclude 2 judgments" in first.text_content(), "the most common answer comes first"
    address = (
        f"/admin/annotator/study/{study.pk}/{first.get('action').rpartition('/study/')[2].partition('/')[2]}"
    )
    assert researcher_client.post(address, {"reason": ""}).status_code == 400
    assert not Exclusion.objects.exists()
    reply = researcher_client.post(address, {"reason": "misread"})
    assert reply.headers["Location"] == f"/admin/annotator/study/{study.pk}/contested/"
    assert set(Exclusion.objects.values_list("judgment__rater__name", "reason")) == {
        ("ben", "misread"),
        ("cam", "misread"),
    }
    assert opened(researcher_client, study, "contested").xpath("//article") == [], "nothing contested is left"


def test_an_item_is_excluded_from_the_contested_ones(researcher_client: Client, study: Study) -> None:
    page = opened(researcher_client, study, "contested")
    [form] = page.xpath("//article//form[contains(@action, '/exclude/item/')]")
    reply = researcher_client.post(form.get("action"), {"reason": "ambiguous"})
    assert reply.headers["Location"].endswith("/contested/")
    assert Exclusion.objects.get().item.key == "a"
    elsewhere = form.get("action").replace("back=contested", "back=//evil.example")
    item = study.items.get(key="b")
    reply = researcher_client.post(
        elsewhere.replace(f"/{Exclusion.objects.get().item_id}/", f"/{item.pk}/"), {"reason": "too"}
    )
    assert reply.headers["Location"].endswith("/exclusions/")


def test_a_viewer_sees_what_is_contested_without_forms_to_decide(study: Study) -> None:
    otto = make_user("otto", staff=True)
    Membership.objects.create(user=otto, study=study, role=Membership.Role.VIEWER)
    client = Client()
    client.force_login(otto)
    page = opened(client, study, "contested")
    assert page.xpath("//article")
    assert page.xpath("//article//form") == []


def test_a_new_study_begins_with_what_one_wants_to_know(researcher_client: Client) -> None:
    page = html.document_fromstring(researcher_client.get("/admin/annotator/study/add/").content)
    asked = [one.text_content() for one in page.xpath("//div[@class='templates']//legend")]
    assert asked[0] == "Can people predict what the model does?"
    assert asked[-1] == "I have labels already"
    assert len(asked) == len(set(asked)) < 10
    offered = {
        one.get("value"): (label.text_content(), bool(label.find_class("templates__sketch")))
        for label in page.find_class("templates__one")
        for one in label.xpath("input")
    }
    for name, kind in OWN.items():
        keys = [f"{name}/{variant}" for variant in ("", *kind.variants)] if kind.variants else [name]
        assert kind.people.endswith(".")
        for key in (one.rstrip("/") for one in keys):
            assert kind.people in offered[key][0]
            assert kind.source in offered[key][0]
            assert offered[key][1] != kind.external, "a sketch for all but imported labels"


@pytest.mark.parametrize("name", [name for name, kind in OWN.items() if not kind.external])
def test_each_sketch_stays_in_its_frame(name: str) -> None:
    for variant in ("", *OWN[name].variants):
        boxes = task_sketch(name, variant)
        assert len(boxes) > 3
        assert all(box.x + box.width <= 96 and box.y + box.height <= 60 for box in boxes)
    assert task_sketch("no such type") == ()


def test_the_list_of_reports_has_one_button_and_folded_options(
    researcher_client: Client, study: Study
) -> None:
    page = html.document_fromstring(researcher_client.get(f"/studies/{study.pk}/reports/").content)
    [form] = page.xpath("//form[@method='post'][contains(@action, '/reports/')]")
    [options] = form.xpath("./details")
    assert options.get("open") is None
    assert options.xpath(".//select")
    assert [one.text_content() for one in form.xpath(".//button[not(ancestor::details)]")] == [
        "Compute report"
    ]
    reply = researcher_client.post(f"/studies/{study.pk}/reports/", {"replicates": "-1"})
    assert reply.status_code == 422
    assert html.document_fromstring(reply.content).xpath("//form/details[@open]"), "errors are seen"
