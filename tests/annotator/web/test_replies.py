"""A researcher's reply is announced in the next task, until the participant has read it."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.models import Message, Participation
from annotator.services.assignment import assignment_next
from annotator.services.message import message_reply, message_send
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
ANNOUNCED = "The researchers have replied:"


@pytest.fixture
def person() -> Participation:
    person = make_participation(make_study(items=4, launched=True))
    asked = message_send(participation=person, kind="question", text="Do bats count?")
    message_reply(message=asked, by=make_user(staff=True), text="They do <b>count</b>.")
    return person


@pytest.fixture
def client(person: Participation) -> Client:
    client = Client()
    assert person.rater.user
    client.force_login(person.rater.user)
    return client


def submit(client: Client, person: Participation) -> str:
    held = assignment_next(participation=Participation.objects.get(pk=person.pk))
    assert held
    sent = {"stage": "0", "helpful": "no"}
    return client.post(f"/task/{held.pk}/", sent, headers={"HX-Request": "true"}).content.decode()


def test_the_next_task_shows_a_new_reply(client: Client, person: Participation) -> None:
    page = submit(client, person)
    assert ANNOUNCED in page
    assert "They do &lt;b&gt;count&lt;/b&gt;." in page
    assert 'data-announce="The researchers have replied to your message."' in page, "not spoken"


def test_a_reply_is_announced_until_the_own_page_is_opened(client: Client, person: Participation) -> None:
    submit(client, person)
    assert ANNOUNCED in submit(client, person)
    assert "They do &lt;b&gt;count" in client.get("/me/").content.decode()
    assert ANNOUNCED not in submit(client, person)


def test_a_reply_can_be_marked_as_read_during_a_task(client: Client, person: Participation) -> None:
    task = f"http://testserver/study/{person.study.slug}/task/"
    reply = client.post("/me/replies-read/", headers={"Referer": task})
    assert (reply.status_code, reply["Location"]) == (302, task)
    assert client.post("/me/replies-read/", headers={"X-Requested-With": "fetch"}).status_code == 204
    assert ANNOUNCED not in submit(client, person)
    elsewhere = client.post("/me/replies-read/", headers={"Referer": "https://example.org/"})
    assert elsewhere["Location"] == "/me/"


def test_a_reply_is_announced_to_its_recipient_only(person: Participation) -> None:
    other = make_participation(person.study)
    client = Client()
    assert other.rater.user
    client.force_login(other.rater.user)
    assert ANNOUNCED not in submit(client, other)
    client.post("/me/replies-read/")
    assert Message.objects.get(kind="reply").read_at is None


def test_a_submit_asks_for_replies_only_where_there_are_some(client: Client, person: Participation) -> None:
    """Six statements in all for a judgment, the next task and its page; replies are counted with the progress."""
    submit(client, person)  # connections and caches
    Message.objects.filter(kind="reply").update(read_at=timezone.now())
    held = assignment_next(participation=Participation.objects.get(pk=person.pk))
    assert held
    with CaptureQueriesContext(connection) as queries:
        client.post(f"/task/{held.pk}/", {"stage": "0", "helpful": "no"}, headers={"HX-Request": "true"})
    work = [q["sql"] for q in queries if not q["sql"].startswith(("SAVEPOINT", "RELEASE"))]
    assert len(work) == 6, "\n".join(work)
