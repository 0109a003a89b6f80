"""The queue and the screen of adjudication: blind, ordered, with the annotators' answers and without their names."""

from __future__ import annotations

from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from lxml import html

from annotator.core.allocation import presentation_rng
from annotator.hit_types.registry import hit_type_get
from annotator.models import Adjudication, Item, Membership, Study, User
from annotator.services.adjudication import adjudication_record
from annotator.web.views.adjudicate import everything
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user, record_judgment

pytestmark = pytest.mark.django_db
YES = {"helpful": "yes", "answer": "yes"}
NO = {"helpful": "yes", "answer": "no"}


def client_of(study: Study, name: str, role: str = "reviewer") -> Client:
    user = make_user(name, staff=True)
    Membership.objects.create(study=study, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def study(researcher: User, simulation: str) -> Study:
    """Items that ann, ben and cam divide on: the first most. Keys and systems have names that nobody may read on the screen."""
    made = make_study(by=researcher, title="Owls", hit_type=simulation)
    for key, given in {"gpt-x-17": ("yes", "no"), "gpt-x-18": ("yes", "yes", "no")}.items():
        item = make_item(made, key=key, system="gpt-x", payload={**PAYLOAD, "question": f"Is {given} right?"})
        for name, answer in zip(("ann", "ben", "cam"), given, strict=False):
            make_judgment(item, make_rater(name), answer)
        make_judgment(item, make_rater("sim-9", kind="simulator"), "cannot_guess")
    return made


PAYLOAD = {"question": "?", "explanation": "All birds fly.", "answer": "yes", "follow_up": "And owls?"}


@pytest.fixture
def item(study: Study) -> Item:
    return study.items.get(key="gpt-x-17")


def queue_page(client: Client, study: Study) -> str:
    reply = client.get(f"/admin/annotator/study/{study.pk}/adjudication/")
    assert reply.status_code == 200
    return unescape(" ".join(html.document_fromstring(reply.content).text_content().split()))


def screen(study: Study, item: Item) -> str:
    return f"/adjudicate/{study.pk}/{item.pk}/?order=entropy"


def test_two_people_and_a_third_settle_an_item_without_scripts(
    researcher_client: Client, study: Study, item: Item
) -> None:
    one, two = client_of(study, "one"), client_of(study, "two")
    first = html.document_fromstring(one.get(f"/admin/annotator/study/{study.pk}/adjudication/").content)
    [start] = first.xpath("//a[text()='Label the first item']/@href")
    assert start == screen(study, item), "the most divided item first"
    for client, raw in ((one, YES), (two, NO)):
        reply = client.post(start, raw)
        assert reply.status_code == 302
        assert "Label saved." in client.get(reply["Location"]).content.decode()
    assert "Third person, after a tie" in queue_page(researcher_client, study)
    assert researcher_client.post(start, NO).status_code == 302
    assert [row.seat for row in Adjudication.objects.order_by("id")] == [1, 2, 3]
    assert "2 contested items: 1 decided" in queue_page(researcher_client, study)
    copied = researcher_client.post(f"/admin/annotator/study/{study.pk}/adjudication/gold/", follow=True)
    assert "created as a draft with 1 gold item" in copied.content.decode()


def test_the_screen_has_the_task_and_the_answers_but_no_names_systems_or_other_labels(
    study: Study, item: Item, researcher: User
) -> None:
    adjudication_record(item=item, by=researcher, raw={"helpful": "no"})
    reply = client_of(study, "one").get(screen(study, item))
    page = html.document_fromstring(reply.content)
    words = " ".join(page.text_content().split())
    assert words.count("1 person") == 2, "two different answers of people; the simulator's isn't shown"
    for hidden in ("ann", "ben", "sim-9", "gpt-x", "rosa"):
        assert hidden not in words.split(), hidden
        assert f"{hidden}-" not in reply.content.decode()
    assert page.xpath("//form[contains(@class,'task__form')]//input[@name='helpful']")
    assert page.xpath("//form[contains(@class,'task__form')]//input[@name='answer']"), "everything is open"
    assert page.xpath("//form[contains(@class,'task__form')]//input[@name='csrfmiddlewaretoken']")
    assert not page.xpath("//script[not(@src)]")
    assert not page.xpath("//*[@style]")


@pytest.mark.parametrize(
    "name", ["generalization_utility", "plausibility", "rationale_properties", "simulation"]
)
def test_all_stages_of_a_type_are_one_form_with_everything_open(name: str) -> None:
    kind = hit_type_get(name)
    item = Item(key="a", payload=kind.exam[0].payload)
    drawn = kind.present(item.payload, presentation_rng(seed=1, item_key="a", rater=0))
    stages = kind.stages(item.payload, drawn)
    whole = everything(kind, item, drawn, "")
    assert [one.name for one in whole.fields] == [one.name for stage in stages for one in stage.fields]
    assert {one.name for one in whole.blocks} == {one.name for stage in stages for one in stage.blocks}


def test_a_missing_answer_is_said_at_its_field_and_nothing_is_stored(study: Study, item: Item) -> None:
    client = client_of(study, "one")
    reply = client.post(screen(study, item), {"helpful": "yes"})
    assert reply.status_code == 422
    assert "Choose an answer" in reply.content.decode()
    partial = client.post(screen(study, item), {"helpful": "yes"}, headers={"HX-Request": "true"})
    assert (partial.status_code, b"<html" in partial.content) == (422, False)
    assert not Adjudication.objects.exists()


def test_a_request_from_another_site_is_refused(study: Study, item: Item, researcher: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(researcher)
    assert strict.post(screen(study, item), YES).status_code == 403
    assert not Adjudication.objects.exists()


def test_a_label_can_be_undone_from_the_next_screen(study: Study, item: Item) -> None:
    client = client_of(study, "one")
    after = client.post(screen(study, item), YES)["Location"]
    page = html.document_fromstring(client.get(after).content)
    [undo] = page.xpath("//form[@id='undo']/@action")
    assert client.post(undo)["Location"] == screen(study, item)
    assert Adjudication.objects.get().undone_at is not None
    assert "0 wait" not in queue_page(client, study)


@pytest.mark.parametrize(("role", "status"), [("viewer", 404), ("reviewer", 200), ("", 404)])
def test_who_may_open_the_screen(study: Study, item: Item, role: str, status: int) -> None:
    if role:
        client = client_of(study, "one", role)
    else:
        client = Client()
        client.force_login(make_user("stranger", staff=True))
    assert client.get(screen(study, item)).status_code == status
    assert client.post(screen(study, item), YES).status_code == (302 if status == 200 else 404)


def test_an_item_of_another_study_is_not_found(researcher_client: Client, study: Study, item: Item) -> None:
    other = make_study(by=User.objects.get(username="rosa"))
    assert researcher_client.get(f"/adjudicate/{other.pk}/{item.pk}/").status_code == 404


def test_an_item_that_was_labelled_meanwhile_leads_back_to_the_queue(study: Study, item: Item) -> None:
    client = client_of(study, "one")
    client.post(screen(study, item), YES)
    reply = client.post(screen(study, item), NO, follow=True)
    assert "You have already adjudicated this item" in reply.content.decode()
    assert client.get(screen(study, item)).status_code == 302


def test_an_empty_queue_says_why(researcher_client: Client, researcher: User) -> None:
    agreed = make_study(by=researcher)
    record_judgment(make_item(agreed), make_rater("ann"), YES)
    assert "Items appear here once annotators disagree." in queue_page(researcher_client, agreed)


def test_the_number_of_queries_does_not_depend_on_the_items(researcher_client: Client, study: Study) -> None:
    def queries(address: str) -> int:
        with CaptureQueriesContext(connection) as seen:
            assert researcher_client.get(address).status_code == 200
        return len(seen)

    pages = (
        f"/admin/annotator/study/{study.pk}/adjudication/",
        screen(study, study.items.get(key="gpt-x-17")),
    )
    before = [queries(page) for page in pages for _ in range(2)][1::2]
    for number in range(4):
        more = make_item(study, key=f"more-{number}")
        for name, answer in (("ann", "yes"), ("ben", "no")):
            make_judgment(more, make_rater(name), answer)
    assert [queries(page) for page in pages] == before
    assert max(before) <= 22
