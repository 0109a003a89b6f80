"""Questionnaires before and after a study's tasks, as people meet them."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from lxml import html

from annotator.models import Participation, QuestionnaireAnswer, Study
from annotator.selectors.participation import participation_step
from annotator.selectors.questionnaire import questionnaire_counts, questionnaire_due
from annotator.services.assignment import assignment_next
from annotator.services.erasure import erase
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.submit_and_next import turn_take
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db

OWN = """foretell_questionnaire: 1
name: about
title: About you
source: Our lab
licence: CC0 1.0
questions:
  reads: {kind: yes_no, ask: Do you read every day?}
  hours: {kind: number, ask: How many hours?, whole: true, least: 0, most: 24, when: {reads: yes}}
  tools:
    kind: several
    ask: What do you use?
    options: {paper: Paper, screen: A screen}
translations:
  de: {About you: Über Sie, Do you read every day?: Lesen Sie jeden Tag?, Paper: Papier}
"""


def study_asking(**fields: object) -> Study:
    return make_study(
        items=1, redundancy=3, launched=True, exam_required=False, practice_required=False, **fields
    )


def entered(study: Study) -> tuple[Client, Participation]:
    client = Client()
    client.post(f"/join/{study.join_token}/")
    person = Participation.objects.filter(study=study).latest("pk")
    client.post(f"/study/{study.slug}/instructions/")
    return client, person


def do_the_task(person: Participation) -> None:
    person.refresh_from_db()
    assignment = assignment_next(participation=person)
    assert assignment is not None
    turn_take(user_id=person.rater.user_id or 0, assignment_pk=assignment.pk, stage=0, raw={"helpful": "yes", "answer": "yes"})  # fmt: skip


def test_the_questions_come_before_the_tasks_once_and_every_answer_is_optional():
    study = study_asking(questionnaire_before=OWN)
    client, person = entered(study)
    where = f"/study/{study.slug}/questionnaire/before/"
    reply = client.get(f"/study/{study.slug}/task/", follow=True)
    assert reply.redirect_chain[-1][0] == where
    page = html.fromstring(reply.content)
    assert not page.xpath("//*[@required]")
    assert "your pay doesn't depend on it" in page.text_content()
    wrong = client.post(where, {"q1-reads": "yes", "q1-hours": "99", "q1-tools": ["paper", "screen"]})
    assert wrong.status_code == 422
    assert "whole number from 0 to 24" in wrong.content.decode()
    assert html.fromstring(wrong.content).xpath("//input[@name='q1-tools' and @checked]/@value") == ["paper", "screen"]  # fmt: skip
    done = client.post(where, {"q1-reads": "yes", "q1-hours": "3", "q1-tools": "paper"}, follow=True)
    assert done.redirect_chain[-1][0] == f"/study/{study.slug}/task/"
    client.post(where, {"q1-reads": "no"})  # the first answers stay
    stored = QuestionnaireAnswer.objects.get(participation=person)
    assert stored.response == {"about": {"reads": "yes", "hours": "3", "tools": ["paper"]}}
    assert stored.attributes == {
        "before.about.reads": "yes", "before.about.hours": "3", "before.about.tools_paper": "yes",
        "before.about.tools_screen": "no",
    }  # fmt: skip
    assert (len(stored.version), stored.snapshot_id) == (12, study.snapshot_id)
    own = client.get("/me/data/").getvalue().decode()  # type: ignore[attr-defined]
    assert "Do you read every day?" in own


def test_a_page_without_any_answer_is_enough_and_the_page_is_in_the_readers_language():
    study = study_asking(questionnaire_before=OWN)
    client, person = entered(study)
    where = f"/study/{study.slug}/questionnaire/before/"
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "de"
    german = client.get(where).content.decode()
    assert all(text in german for text in ("Lesen Sie jeden Tag?", "Papier", "What do you use?"))
    client.post(where, {"skip": "yes", "q1-reads": "yes"})
    stored = QuestionnaireAnswer.objects.get(participation=person)
    assert (stored.response, stored.attributes) == ({}, {})
    person.refresh_from_db()
    assert participation_step(person) == "tasks"


def test_questions_after_the_last_task_do_not_hold_back_the_code():
    study = study_asking(questionnaire_after="system_usability\nnasa_tlx", completion_code="GREEN")
    client, person = entered(study)
    do_the_task(person)
    where = f"/study/{study.slug}/questionnaire/after/"
    assert client.get(f"/study/{study.slug}/task/", follow=True).redirect_chain[-1][0] == where
    assert "GREEN" in client.get(f"/study/{study.slug}/done/").content.decode()
    answers = {name: "5" for name in html.fromstring(client.get(where).content).xpath("//input/@name") if name.startswith("q1-")}  # fmt: skip
    reply = client.post(where, answers | {"q2-mental": "50"}, follow=True)
    assert reply.redirect_chain[-1][0] == f"/study/{study.slug}/done/"
    values = QuestionnaireAnswer.objects.get(participation=person).attributes
    assert values["after.system_usability.score"] == "50"
    assert values["after.nasa_tlx.mental"] == "50"
    assert "after.nasa_tlx.load" not in values, "a score of questions that weren't all answered"


def test_who_stops_with_work_done_is_asked_and_who_did_nothing_is_not():
    study = study_asking(questionnaire_after=OWN)
    client, person = entered(study)
    other, _ = Client(), None
    do_the_task(person)
    reply = client.post(f"/study/{study.slug}/leave/", follow=True)
    assert reply.redirect_chain[-1][0] == f"/study/{study.slug}/questionnaire/after/"
    end = client.post(f"/study/{study.slug}/questionnaire/after/", {"q1-reads": "no"}, follow=True)
    assert end.redirect_chain[-1][0] == f"/study/{study.slug}/left/"
    idle = make_participation(study)
    other.force_login(idle.rater.user)  # type: ignore[arg-type]
    assert other.post(f"/study/{study.slug}/leave/", follow=True).redirect_chain[-1][0].endswith("/left/")


def test_a_study_without_questions_costs_no_query():
    person = make_participation(study_asking())
    with CaptureQueriesContext(
        connection,
    ) as counted:
        assert not questionnaire_due(person, "before")
        assert not questionnaire_due(person, "after")
    assert len(counted) <= 1, "the snapshot, once in a process"


def test_counts_leave_out_rehearsals_and_erasure_removes_answers():
    study = study_asking(questionnaire_before="demographics", questionnaire_after=OWN)
    raters = rehearsal_raters(study=study, count=1, accuracy=1.0, spread=0.0, seed=1)
    rehearse(study=study, raters=raters, seed=1)
    assert QuestionnaireAnswer.objects.filter(participation__rater__rehearsal=True).count() == 2
    client, person = entered(study)
    client.post(f"/study/{study.slug}/questionnaire/before/", {"q1-age": "25_to_34"})
    before, after = questionnaire_counts(study=study)
    assert (before.asked, before.blank, after.asked) == (1, 0, 0)
    age = next(one for one in before.attributes if one.name == "before.demographics.age")
    assert (age.title, age.answered, age.values[0].text) == ("How old are you?", 1, "25_to_34")
    erase(study=study, rater=person.rater, policy=Study.ErasurePolicy.ANONYMISE)
    assert not QuestionnaireAnswer.objects.filter(participation__rater__rehearsal=False).exists()
