"""Declining and leaving: asked once more, and reversible until the study is closed."""

from __future__ import annotations

import pytest

from annotator.models import Judgment, Participation
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
