"""What a browser is told that sends an answer it kept while there was no connection."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from annotator.models import Assignment, Judgment, Participation, StageCommit, Study, User
from annotator.services.assignment import assignment_next
from annotator.services.workspace import workspace_personal
from tests.annotator.declared import clarity, clarity_study
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
ANSWER = {"stage": "0", "helpful": "yes", "answer": "no"}


@pytest.fixture
def study() -> Study:
    return make_study(items=2, launched=True)


@pytest.fixture
def task(study: Study) -> Assignment:
    assignment = assignment_next(participation=make_participation(study))
    assert assignment is not None
    return assignment


def sent(task: Assignment, client: Client, answer: dict[str, str] = ANSWER) -> HttpResponse:
    response: Any = client.post(f"/task/{task.pk}/", answer, headers={"Accept": "application/json"})
    return response


def owner(task: Assignment) -> Client:
    client = Client()
    user = task.rater.user
    assert user is not None
    client.force_login(user)
    return client


def test_a_stored_answer_and_its_repetition(task: Assignment) -> None:
    for _ in range(2):
        response = sent(task, owner(task))
        assert (response.status_code, response.json()) == (200, {"stored": True, "standing": "counted"})
    assert Judgment.objects.count() == 1


@pytest.mark.parametrize("who", ["nobody", "somebody else"])
def test_an_answer_of_somebody_who_is_not_logged_in_is_to_be_kept(
    task: Assignment, client: Client, who: str
) -> None:
    if who == "somebody else":
        client.force_login(make_user())
    response = sent(task, client)
    assert response.status_code == (401 if who == "nobody" else 404)
    assert response.json()["stored"] is False
    assert sent(task, owner(task)).json()["stored"] is True


def test_a_different_answer_is_refused_with_the_reason(task: Assignment) -> None:
    sent(task, owner(task))
    response = sent(task, owner(task), {"stage": "0", "helpful": "no"})
    assert response.status_code == 409
    assert response.json() == {
        "stored": False,
        "kind": "conflict",
        "message": "You already gave a different answer to this step.",
    }


def test_an_answer_after_the_participation_was_ended_is_refused_with_the_reason(task: Assignment) -> None:
    Participation.objects.update(state=Participation.State.REMOVED)
    response = sent(task, owner(task))
    assert (response.status_code, response.json()["kind"]) == (409, "removed")
    assert "ended your participation" in response.json()["message"]


def test_an_incomplete_answer_is_refused_with_the_reason(task: Assignment) -> None:
    response = sent(task, owner(task), {"stage": "0", "helpful": "yes"})
    assert response.status_code == 422
    assert response.json() == {"stored": False, "kind": "invalid", "message": "Choose an answer"}
    assert not Judgment.objects.exists()


def test_a_later_stage_of_a_declared_type_cannot_be_sent_before_the_earlier_one(researcher: User) -> None:
    """Nor can a second tab change what was committed: the second stage has shown something since."""
    lab = workspace_personal(user=researcher)
    clarity(lab)
    task = assignment_next(participation=make_participation(clarity_study(lab, researcher)))
    assert task is not None
    person, first, second = owner(task), {"stage": "0", "clear": "yes"}, {"stage": "1", "still": "no"}
    early = sent(task, person, second)
    assert (early.status_code, early.json()["kind"]) == (409, "not_now")
    assert early.json()["message"] == "Answer the previous step first."
    assert sent(task, person, first | second).json()["kind"] == "not_now", "both at once"
    assert not StageCommit.objects.exists()
    assert "Note 0" not in person.get(f"/study/{task.participation.study.slug}/task/").content.decode()
    assert sent(task, person, first).status_code == 200
    other_tab = sent(task, person, first | {"clear": "no"})
    assert (other_tab.status_code, other_tab.json()["kind"]) == (409, "conflict")
    assert sent(task, person, first).status_code == 200, "the same answer again is no conflict"
    assert sent(task, person, second).json()["stored"] is True
    assert [one.response for one in Judgment.objects.all()] == [{"clear": "yes", "still": "no"}]
