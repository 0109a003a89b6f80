"""Deletion requests: the queue with its deadlines, carried out or declined with a reason that the participant reads."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.models import DataRequest, Participation, Study, User
from annotator.selectors.home import home_rows
from annotator.services.message import message_send
from tests.factories import make_participation, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]


@pytest.fixture
def study(researcher: User) -> Study:
    return make_study(by=researcher, items=2, launched=True)


@pytest.fixture
def person(study: Study) -> Participation:
    return make_participation(study, make_user("zephyrine"))


@pytest.fixture
def asked(person: Participation) -> DataRequest:
    message_send(participation=person, kind="deletion", text="Please delete my data.")
    return DataRequest.objects.get()


@pytest.fixture
def client(researcher: User) -> Client:
    client = Client()
    client.force_login(researcher)
    return client


def page(study: Study) -> str:
    return reverse("admin:study_data_requests", args=[study.pk])


def test_the_queue_shows_deadlines_and_overdue_requests(
    client: Client, study: Study, asked: DataRequest
) -> None:
    html = client.get(page(study)).content.decode()
    assert "zephyrine" in html
    assert f"by {asked.due_at:%Y-%m-%d}" in html
    assert "overdue" not in html
    DataRequest.objects.update(due_at=timezone.now() - timedelta(days=1))
    assert "overdue" in client.get(page(study)).content.decode()


def test_an_owner_carries_it_out(client: Client, study: Study, asked: DataRequest) -> None:
    send = {"request": asked.pk, "carry_out": "1", "note": ""}
    client.post(page(study), send)
    asked.refresh_from_db()
    assert asked.state == "open", "it must be confirmed"
    client.post(page(study), send | {"sure": "on"})
    asked.refresh_from_db()
    assert (asked.state, asked.decided_by) == ("done", study.researchers.get())
    assert not User.objects.filter(username="zephyrine").exists()
    html = client.get(page(study)).content.decode()
    assert "erased person" in html
    assert "zephyrine" not in html


def test_declining_requires_a_reason_that_the_participant_sees(
    client: Client, study: Study, person: Participation, asked: DataRequest
) -> None:
    client.post(page(study), {"request": asked.pk, "decline": "1", "note": " "})
    asked.refresh_from_db()
    assert asked.state == "open"
    reason = "The law asks us to keep the records of payments."
    client.post(page(study), {"request": asked.pk, "decline": "1", "note": reason})
    asked.refresh_from_db()
    assert asked.state == "declined"
    visitor = Client()
    visitor.force_login(person.rater.user)  # type: ignore[arg-type]
    assert reason in visitor.get("/me/").content.decode()


def test_a_request_of_another_study_is_not_found(client: Client, study: Study) -> None:
    other = make_study(by=make_user("otto", staff=True), items=1, launched=True)
    message_send(participation=make_participation(other), kind="deletion", text="Please.")
    one = DataRequest.objects.get(study=other)
    reply = client.post(page(study), {"request": one.pk, "carry_out": "1", "sure": "on"})
    assert reply.status_code == 404
    one.refresh_from_db()
    assert one.state == "open"


def test_a_second_decision_changes_nothing(client: Client, study: Study, asked: DataRequest) -> None:
    client.post(page(study), {"request": asked.pk, "decline": "1", "note": "No."})
    reply = client.post(page(study), {"request": asked.pk, "carry_out": "1", "sure": "on"}, follow=True)
    assert "already declined" in reply.content.decode()
    assert User.objects.filter(username="zephyrine").exists()


def test_the_home_page_shows_a_waiting_request_and_its_deadline(
    client: Client, study: Study, asked: DataRequest
) -> None:
    (row,) = home_rows([study])
    assert [str(one) for one in row.needs] == [f"1 deletion request to answer, by {asked.due_at:%Y-%m-%d}"]
    DataRequest.objects.update(due_at=timezone.now() - timedelta(days=1))
    assert "1 deletion request to answer, overdue" in client.get("/admin/annotator/study/").content.decode()
