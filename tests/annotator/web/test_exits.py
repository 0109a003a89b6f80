"""Whoever stops, wherever they stop, sees their code, what it means for their pay, and the way back to their panel."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from annotator.models import Assignment, Participation
from annotator.selectors.exit_faults import exit_warnings
from annotator.services.assignment import assignment_return
from annotator.services.panel_events import event_apply
from annotator.services.study import launch_warnings, study_close, study_pause
from tests.annotator.web.exits import CODES, EXAM, ExitBot, come, fill, prolific  # noqa: F401 - fixtures
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def shows(bot: ExitBot, page: Any, code: str, pay: str) -> None:
    """The page and the person's own page have this code, with the way back, and no other code."""
    for one in (page, bot.get("/me/")):
        text = html.unescape(one.content.decode())
        assert f'<span class="code">{code}</span>' in text
        assert pay in text
        assert not [other for other in CODES.values() if other != code and other in text]
        back = f"https://app.prolific.com/submissions/complete?cc={code}"
        assert (back in text) == bool(bot.study.panel)
        assert ("Return to Prolific" in text) == bool(bot.study.panel)


def leave(bot: ExitBot) -> Any:
    return bot.post(bot.path + "leave/", {})


def test_finished(come: Callable[..., ExitBot]) -> None:  # noqa: F811
    bot = come()
    page = bot.tasks(bot.instructions(bot.join()), most=3)
    shows(bot, page, "DONE-1", "You've earned 1.50 USD.")


def test_part_done_by_the_menu_and_by_the_own_page(come: Callable[..., ExitBot]) -> None:  # noqa: F811
    bot = come()
    page = bot.instructions(bot.join())
    assert "End here" not in page.content.decode()
    assert "End here" not in bot.get("/me/").content.decode()
    page = bot.tasks(page, most=1)
    for one in (page, bot.get("/me/")):
        text = one.content.decode()
        assert "End here and get my code" in text
        assert f'action="{bot.path}leave/"' in text
        assert not [code for code in CODES.values() if code in text], "not before they have ended"
    shows(bot, leave(bot), "PART-4", "You've earned 0.50 USD for what you submitted.")
    page = bot.post(bot.path + "left/", {})
    assert page.request["PATH_INFO"].endswith("/task/"), "they can still change their mind"
    page = bot.tasks(page, most=3)
    shows(bot, page, "DONE-1" if bot.participation.finished_at else "PART-4", "You've earned")


def test_leaving_with_the_most_tasks_done_is_finishing(come: Callable[..., ExitBot]) -> None:  # noqa: F811
    bot = come(max_items_per_rater=2)
    bot.tasks(bot.instructions(bot.join()), most=2)
    shows(bot, leave(bot), "DONE-1", "You've earned 1.00 USD.")


def test_a_large_study_without_a_maximum_can_end(come: Callable[..., ExitBot]) -> None:  # noqa: F811
    bot = come(items=60)
    bot.tasks(bot.instructions(bot.join()), most=2)
    shows(bot, leave(bot), "PART-4", "You've earned 1.00 USD for what you submitted.")


def test_declined(come: Callable[..., ExitBot]) -> None:  # noqa: F811
    bot = come(consent_text="Agree?")
    bot.join()
    page = bot.post(bot.path + "consent/", {"decision": "decline", "sure": "yes"})
    assert "You didn't agree to take part" in html.unescape(page.content.decode())
    shows(bot, page, "NO-5", "You submitted no tasks, so there is no pay for tasks.")


def test_left_before_the_first_task(come: Callable[..., ExitBot]) -> None:  # noqa: F811
    bot = come()
    bot.instructions(bot.join())
    shows(bot, leave(bot), "NO-5", "You submitted no tasks")


def test_failed(come: Callable[..., ExitBot]) -> None:  # noqa: F811
    bot = come(**EXAM, exam_pay="0.75")
    page = bot.exam(bot.instructions(bot.join()), right=False)
    shows(bot, page, "FAILED-2", "You've earned 0.75 USD. You submitted no tasks")


def test_no_task(come: Callable[..., ExitBot]) -> None:  # noqa: F811
    bot = come(redundancy=1)
    bot.join()
    fill(bot.study)
    shows(bot, bot.get(bot.path), "NONE-3", "You submitted no tasks")


def test_no_task_before_joining(come: Callable[..., ExitBot]) -> None:  # noqa: F811
    bot = come(redundancy=1)
    fill(bot.study)
    assert "NONE-3" in bot.invitation().content.decode()


@pytest.mark.parametrize(("stop", "words"), [(study_pause, "paused"), (study_close, "closed")])
def test_stopped(come: Callable[..., ExitBot], stop: Callable[..., Any], words: str) -> None:  # noqa: F811
    bot = come()
    bot.join()
    late = come()
    stop(study=late.study)
    assert "STOP-6" in late.invitation().content.decode(), "before they have joined"
    bot.instructions(bot.get(bot.path))
    assignment_return(
        user_id=bot.participation.rater.user_id or 0,
        assignment_pk=Assignment.objects.get().pk,
        reason="other",
    )
    stop(study=bot.study)
    page = bot.get(bot.path + "task/")
    assert words in page.content.decode()
    shows(bot, page, "STOP-6", "You submitted no tasks")


@pytest.mark.parametrize("stop", [study_pause, study_close])
def test_stopped_after_some_tasks(come: Callable[..., ExitBot], stop: Callable[..., Any]) -> None:  # noqa: F811
    bot = come()
    page = bot.tasks(bot.instructions(bot.join()), most=1)
    stop(study=bot.study)
    bot.tasks(page, most=1)  # the open task can still be submitted
    shows(bot, bot.get(bot.path), "PART-4", "You've earned 1.00 USD for what you submitted.")


@pytest.mark.parametrize("state", [Participation.State.REMOVED, Participation.State.LEFT])
def test_removed_and_ended_at_the_panel(come: Callable[..., ExitBot], state: str) -> None:  # noqa: F811
    bot = come()
    bot.tasks(bot.instructions(bot.join()), most=1)
    person = bot.participation
    if state == Participation.State.REMOVED:
        Participation.objects.filter(pk=person.pk).update(state=state)
    elif person.recruiter:
        event_apply(participation=person, status="TIMED OUT", at=timezone.now())
    else:
        leave(bot)
    timed_out = state == Participation.State.LEFT and person.recruiter
    pay = "If Prolific doesn't pay it" if timed_out else "You've earned 0.50 USD for what you submitted."
    for page in (bot.get(bot.path), bot.get(bot.path + "left/")):
        shows(bot, page, "PART-4", pay)


def test_without_a_code_there_is_no_promise_of_one(come: Callable[..., ExitBot]) -> None:  # noqa: F811
    bot = come(partly_code="")
    page = bot.tasks(bot.instructions(bot.join()), most=1)
    assert "End here" not in page.content.decode() + bot.get("/me/").content.decode()
    text = html.unescape(leave(bot).content.decode())
    assert "You've earned 0.50 USD for what you submitted." in text
    assert 'class="code"' not in text
    assert "submissions/complete" not in text


# -- the check before the launch --------------------------------------------------------------------------------


def test_the_launch_names_exits_without_a_code() -> None:
    study = make_study(items=2, panel="prolific", panel_links="plain", completion_code="DONE-1")
    [warning] = launch_warnings(study)
    assert "can't return to Prolific" in warning
    assert "Code for doing some of the tasks, Code for a paused or closed study" in warning.replace(
        "Code for finding no task, ", ""
    )
    assert "declining" not in warning, "there's no consent text"
    assert "failing" not in warning, "there's no exam"
    [warning] = launch_warnings(make_study(items=2, consent_text="Yes?", **{**CODES, "declined_code": ""}))
    assert warning.startswith("People who leave in one of these ways get no code: Code for declining.")
    assert (
        launch_warnings(
            make_study(
                items=2,
                panel="prolific",
                panel_links="plain",
                consent_text="Yes?",
                exam_required=True,
                **CODES,
            )
        )
        == []
    )
    assert launch_warnings(make_study(items=2)) == [], "it uses no codes"


def test_the_launch_names_an_end_that_hardly_anybody_can_reach() -> None:
    study = make_study(items=40, minutes_per_item=6, **CODES)
    [warning] = exit_warnings(study)
    assert "40 tasks, about 4 hours" in warning
    study.max_items_per_rater = 30
    assert exit_warnings(study) == []
