"""Declining and leaving: asked once more, and reversible until the study is closed."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client
from django.utils import timezone

from annotator.models import Assignment, Judgment, Participation, Place
from annotator.services.panel_events import event_apply
from annotator.services.study import study_close
from tests.bot import Bot
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def test_declining_asks_for_confirmation_and_can_be_undone() -> None:
    study = make_study(items=2, consent_text="Text.", launched=True)
    bot = Bot(study)
    bot.join()
    page = bot.post(bot.path + "consent/", {"decision": "decline"})
    assert "You don't want to take part?" in page.content.decode()
    assert bot.participation.state == Participation.State.ACTIVE
    page = bot.post(bot.path + "consent/", {"decision": "decline", "sure": "yes"})
    assert page.request["PATH_INFO"].endswith("/left/")
    assert bot.participation.state == Participation.State.LEFT
    assert bot.get(bot.path).request["PATH_INFO"].endswith("/left/")
    page = bot.post(bot.path + "left/", {})
    assert page.request["PATH_INFO"].endswith("/consent/")


def test_a_person_who_left_can_return_without_losing_anything() -> None:
    study = make_study(items=3, launched=True)
    bot = Bot(study)
    bot.tasks(bot.instructions(bot.join()), most=1)
    bot.post(bot.path + "leave/", {})
    assert not bot.participation.assignments.filter(state="leased").exists()
    page = bot.post(bot.path + "left/", {})
    assert page.request["PATH_INFO"].endswith("/task/")
    bot.tasks(page, most=2)
    assert Judgment.objects.filter(study=study).count() == 3


@pytest.mark.parametrize("why", ["closed", "removed"])
def test_nobody_can_return_to_a_closed_study_or_after_removal(why: str) -> None:
    study = make_study(items=2, launched=True)
    bot = Bot(study)
    bot.instructions(bot.join())
    bot.post(bot.path + "leave/", {})
    if why == "closed":
        study_close(study=study)
        assert "Take part again" not in bot.get(bot.path + "left/").content.decode()
    else:
        Participation.objects.update(state="removed")
    bot.post(bot.path + "left/", {})
    assert bot.participation.state == ("left" if why == "closed" else "removed")


def browser_of(task: Assignment) -> Client:
    client = Client()
    user = task.rater.user
    assert user is not None
    client.force_login(user)
    return client


@pytest.mark.parametrize("way", ["page", "script", "kept"])
@pytest.mark.parametrize("why", ["left in another tab", "returned at the panel"])
def test_an_answer_after_leaving_is_refused_and_stays_on_the_page(way: str, why: str) -> None:
    study = make_study(items=2, launched=True)
    bot = Bot(study)
    bot.instructions(bot.join())
    task = Assignment.objects.get()
    if why == "left in another tab":
        bot.post(bot.path + "leave/", {})
    else:
        participation = bot.participation
        participation.recruiter = "prolific"
        event_apply(participation=participation, status="RETURNED", at=timezone.now())
    headers = {"page": {}, "script": {"HX-Request": "true"}, "kept": {"Accept": "application/json"}}[way]
    answer = {"stage": "0", "helpful": "yes", "answer": "no"}
    reply = browser_of(task).post(f"/task/{task.pk}/", answer, headers=headers)
    assert not Judgment.objects.exists()
    assert bot.participation.state == Participation.State.LEFT
    assert not Place.objects.filter(assignment=task).exists()
    text = html.unescape(reply.content.decode())
    assert "You left this study before you submitted this answer" in text
    if way == "kept":
        assert (reply.status_code, reply.json()["kind"]) == (409, "left")
        return
    assert reply.status_code == 422
    assert re.search(r'name="helpful" value="yes"[^>]* checked', text)
    # Whoever comes back gets tasks again.
    if why == "left in another tab":
        page = bot.post(bot.path + "left/", {})
        bot.tasks(page, most=2)
        assert set(Judgment.objects.values_list("standing", flat=True)) == {"counted"}


def test_a_repetition_after_leaving_of_a_stored_answer_changes_nothing() -> None:
    study = make_study(items=2, launched=True)
    bot = Bot(study)
    bot.instructions(bot.join())
    first = Assignment.objects.get()
    answer = {"stage": "0", "helpful": "yes", "answer": "no"}
    browser = browser_of(first)
    assert browser.post(f"/task/{first.pk}/", answer).status_code == 302
    bot.post(bot.path + "leave/", {})
    assert browser.post(f"/task/{first.pk}/", answer).status_code == 302
    assert list(Judgment.objects.values_list("standing", flat=True)) == ["counted"]
