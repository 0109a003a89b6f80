"""Undoing an answer on the page after the last task, and what the header says meanwhile."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotator.models import Assignment, Judgment
from tests.bot import Bot
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def undo(bot: Bot) -> Any:
    task = Assignment.objects.filter(state="submitted").latest("closed_at")
    return bot.post(f"/task/{task.pk}/undo/", {"undone": task.taken_back})


def counts(page: Any) -> list[str]:
    return re.findall(r"(\d+ of \d+)<span class=\"wide-only\"> done", page.content.decode())


def test_the_last_answer_can_be_undone_on_the_last_page() -> None:
    bot = Bot(make_study(items=2, launched=True, completion_code="DONE-1"))
    page = bot.tasks(bot.instructions(bot.join()), most=2)
    task = Assignment.objects.latest("closed_at")
    text = page.content.decode()
    assert f'action="/task/{task.pk}/undo/"' in text
    assert re.search(r'data-undo="(\d+)"', text)
    page = undo(bot)
    assert counts(page) == ["1 of 2"]
    assert "DONE-1" not in bot.get(bot.path).content.decode(), "the work isn't done any more"
    page = bot.tasks(bot.get(bot.path + "task/"), most=1)
    assert "DONE-1" in page.content.decode()


@pytest.mark.parametrize("why", ["time is over", "the study allows none"])
def test_the_last_page_offers_no_undo_that_would_be_refused(why: str) -> None:
    bot = Bot(make_study(items=1, launched=True, undo_seconds=0 if why == "the study allows none" else 10))
    bot.tasks(bot.instructions(bot.join()), most=1)
    if why == "time is over":
        Judgment.objects.update(created_at=timezone.now() - timedelta(seconds=11))
    assert "/undo/" not in bot.get(bot.path + "done/").content.decode()


@pytest.mark.parametrize(("items", "total"), [(3, 3), (30, 30)])
def test_the_total_stays_the_same_while_an_answer_is_undone(items: int, total: int) -> None:
    bot = Bot(make_study(items=items, launched=True))
    page = bot.tasks(bot.instructions(bot.join()), most=1)
    assert counts(page) == [f"1 of {total}"]
    page = undo(bot)
    assert counts(page) == [f"0 of {total}"]
    page = bot.tasks(page, most=1)
    assert counts(page) == [f"1 of {total}"]
