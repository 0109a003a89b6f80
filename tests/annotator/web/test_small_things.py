"""Small things on annotators' pages: downloads with their questions, confirmations, labels."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from django.test import Client
from lxml import html

from annotator.models import Participation
from annotator.services.assignment import assignment_next
from annotator.services.exam import exam_start, exam_submit
from annotator.services.rehearsal.fill import right_answers
from annotator.web.task_form import task_form
from tests.annotator.demo_studies import TYPES
from tests.e2e.task_screens import stages_of
from tests.factories import make_participation, make_study


@pytest.fixture
def person(db: None) -> Participation:
    return make_participation(make_study(items=2, launched=True))


@pytest.fixture
def client(person: Participation) -> Client:
    client = Client()
    assert person.rater.user
    client.force_login(person.rater.user)
    return client


def own_lines(client: Client) -> list[dict]:
    return [json.loads(line) for line in client.get("/me/data/").getvalue().decode().splitlines()]


def test_a_download_of_personal_data_includes_the_questions(client: Client, person: Participation) -> None:
    held = assignment_next(participation=person)
    assert held
    client.post(f"/task/{held.pk}/", {"stage": "0", "helpful": "no"})
    [answer] = [line for line in own_lines(client) if line["kind"] == "answer"]
    shown = {piece["label"]: piece["text"] for piece in answer["shown"]}
    assert shown["Starter question"] == held.item.payload["question"]
    assert shown["Follow-up question"] == held.item.payload["follow_up"]
    assert "Not helpful" in answer["answers"].values()


def test_a_download_of_personal_data_has_the_ids_of_the_panel(client: Client, person: Participation) -> None:
    Participation.objects.filter(pk=person.pk).update(
        recruiter="prolific", recruiter_id="5f1c", recruiter_session="60aa", panel_status="ACTIVE", join_parameters={"age": "34"}
    )  # fmt: skip
    [study] = [line for line in own_lines(client) if line["kind"] == "study"]
    assert (study["panel"], study["panel_id"]) == ("prolific", "5f1c")
    assert (study["submission"], study["panel_status"], study["link"]) == ("60aa", "ACTIVE", {"age": "34"})


@pytest.mark.django_db
def test_a_download_of_personal_data_has_the_exam_without_its_key() -> None:
    study = make_study(items=1, launched=True, exam_required=True, exam_questions=2, pass_mark=2)
    person = make_participation(study)
    attempt = exam_start(participation=person)
    answers = {key: {"helpful": "no"} for key in attempt.drawn}
    exam_submit(attempt=attempt, answers=answers)
    client = Client()
    assert person.rater.user
    client.force_login(person.rater.user)
    lines = [line for line in own_lines(client) if line["kind"] == "exam answer"]
    assert len(lines) == 2
    assert all(line["shown"] and set(line["answers"].values()) == {"Not helpful"} for line in lines)
    reasons = [row.reason for row in attempt.exam.questions.all()]
    assert not any(reason in json.dumps(lines) for reason in reasons)
    assert right_answers(person, attempt.drawn), "the exam has a key that could have leaked"


@pytest.mark.parametrize(("text", "kind"), [("A word is missing.", "line--saved"), ("  ", "line--care")])
def test_the_confirmation_of_a_report_does_not_look_like_a_warning(
    client: Client, person: Participation, text: str, kind: str
) -> None:
    held = assignment_next(participation=person)
    assert held
    reply = client.post(f"/task/{held.pk}/flag/", {"text": text}, headers={"HX-Request": "true"})
    [line] = html.fromstring(reply.content).xpath("//div[@data-announce and contains(@class, 'line')]")
    assert kind in line.get("class")


def test_the_confirmation_says_what_was_saved(client: Client, person: Participation) -> None:
    held = assignment_next(participation=person)
    assert held
    sent = {"stage": "0", "helpful": "no"}
    reply = client.post(f"/task/{held.pk}/", sent, headers={"HX-Request": "true"}).content.decode()
    assert "Task 1 saved" in reply


@pytest.mark.parametrize("name", TYPES)
def test_no_label_says_the_same_as_its_group_and_no_lettered_list_has_bullets(name: str) -> None:
    for stages, number, _ in stages_of(name, "short"):
        bound = task_form(stages[number])
        for group in bound.groups:
            for block in group.blocks:
                assert not (group.title and group.title.split()[0] in block.label), block.label
                lettered = block.items and block.items[0].startswith("A. ")
                assert not lettered or block.kind == "options", block.label
        labels = Counter((group.title, block.label) for group in bound.groups for block in group.blocks)
        assert max(labels.values()) == 1, labels
