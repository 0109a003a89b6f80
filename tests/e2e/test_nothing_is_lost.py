"""Lost connections and closed, doubled or reloaded tabs, with a real browser, server and database."""

from __future__ import annotations

import re
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotator.core.behaviour import NAMES
from annotator.hit_types.registry import hit_type_get
from annotator.models import Assignment, Judgment, Message, Study
from annotator.selectors.study import study_hit_type
from annotator.services.assignment import leases_expire
from annotator.services.rehearsal.answers import rehearsal_answer
from annotator.services.rehearsal.fill import right_answers
from tests.annotator.demo_studies import demo_study
from tests.bot import practice_stages
from tests.e2e import keyboard
from tests.e2e.fake_server import soon
from tests.e2e.tasks import begin, choose
from tests.factories import EASY, make_participation, make_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(db: None) -> Study:
    return make_study(items=3, launched=True, redundancy=2, undo_seconds=600)


def task_of(page: Page) -> int:
    return int(page.locator("form[data-task]").get_attribute("data-task") or 0)


@pytest.mark.parametrize("lease", ["still mine", "over"])
def test_ten_minutes_offline_and_the_tab_closed(
    live_server: Any, page: Page, study: Study, lease: str
) -> None:
    begin(page, live_server.url, study)
    pk = task_of(page)
    again = page.context.new_page()
    again.goto(f"{live_server.url}/offline/")
    page.context.set_offline(True)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.locator("[data-network]")).to_contain_text("saved on this device")
    # It's stored in the browser, not only in the tab.
    soon(
        lambda: again.evaluate("Object.keys(localStorage).some(name => name.startsWith('foretell.outbox'))"),
        again,
    )
    # Playwright leaves a tab before the tab is gone, which is then online for a moment and would send the answer.
    page.evaluate("() => { window.fetch = () => Promise.reject(new Error('offline')) }")
    page.close()
    assert not Judgment.objects.exists()
    ago = timedelta(minutes=10 if lease == "still mine" else 60)
    Assignment.objects.update(leased_at=F("leased_at") - ago, lease_until=F("lease_until") - ago)
    leases_expire()
    again.context.set_offline(False)
    again.goto(f"{live_server.url}/study/{study.slug}/")
    soon(lambda: Judgment.objects.filter(assignment_id=pk).exists(), again)
    expect(again.locator("form[data-task]")).not_to_have_attribute("data-task", str(pk))
    judgment = Judgment.objects.get()
    assert judgment.response == {"helpful": "yes", "answer": "no"}
    assert judgment.standing == "counted"
    again.reload()
    keyboard.wait_ready(again)
    assert Judgment.objects.count() == 1, "sent once"


@pytest.mark.parametrize("when", ["before the answer", "while there is no connection"])
def test_an_answer_outlives_the_session(live_server: Any, page: Page, study: Study, when: str) -> None:
    person = make_user("second")
    make_participation(study, person)
    page.goto(f"{live_server.url}/login/")
    login(page, "second")
    page.goto(f"{live_server.url}/study/{study.slug}/task/")
    keyboard.wait_ready(page)
    pk = task_of(page)
    if when == "while there is no connection":
        page.context.set_offline(True)
        page.keyboard.press("4")
        page.keyboard.press("Enter")
        expect(page.locator("[data-network]")).to_contain_text("No connection")
        page.context.clear_cookies()
        page.context.set_offline(False)
    else:
        page.context.clear_cookies(name="sessionid")
        page.keyboard.press("4")
        page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("You're (not|no longer) logged in")).first).to_be_visible()
    # Somebody else on the same device doesn't use it up.
    make_participation(make_study(items=1, launched=True), make_user("third"))
    other = page.context.new_page()
    other.goto(f"{live_server.url}/login/")
    login(other, "third")
    with other.expect_response(f"{live_server.url}/task/{pk}/") as refused:
        other.goto(f"{live_server.url}/me/")
    assert refused.value.status == 404
    other.get_by_role("button", name="Log out").click()
    other.wait_for_url("**/login/")
    assert not Judgment.objects.exists()
    page.get_by_role("link", name="Log in").click()
    login(page, "second")
    soon(lambda: Judgment.objects.filter(assignment_id=pk).exists(), page)
    assert Judgment.objects.get().response == {"helpful": "yes", "answer": "no"}
    expect(page.locator("form[data-task]")).not_to_have_attribute("data-task", str(pk))


def login(page: Page, name: str) -> None:
    page.locator("[name=username]").fill(name)
    page.locator("[name=password]").fill("a-long-password-7")
    page.locator("[name=password]").press("Enter")
    page.wait_for_url(lambda url: "/login/" not in url)


def test_behaviour_signals_reach_the_stored_judgment(live_server: Any, page: Page) -> None:
    """The signals of `timing.js` are stored in the row: keys, pastes, instructions, leaving the page."""
    study = demo_study("atomic_units", consent_text="", practice_required=False, exam_required=False)
    begin(page, live_server.url, study)
    page.keyboard.press("i")
    page.keyboard.press("i")
    page.evaluate(
        """() => {
            for (const hidden of [true, false]) {
                Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
                document.dispatchEvent(new Event('visibilitychange'));
            }
        }"""
    )
    while not Judgment.objects.exists():
        assignment = Assignment.objects.select_related("item").get(state="leased")
        stage = hit_type_get("atomic_units").stages(assignment.item.payload, assignment.presentation)[
            assignment.stage
        ]
        text = page.locator("form[data-task] textarea")
        for box in text.all():
            box.evaluate(
                "e => { const data = new DataTransfer(); data.setData('text', 'abc');"
                " e.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true})) }"
            )
        keyboard.answer(page, rehearsal_answer(stage, gold=None, item_key="k", accuracy=1, rng=Random(3)))
        with page.expect_response(
            lambda response: response.request.method == "POST" and "draft" not in response.url
        ):
            keyboard.submit(page)
        keyboard.wait_ready(page)
    signals = Judgment.objects.get().signals
    assert set(NAMES) <= set(signals), "every declared signal is stored"
    assert signals["page_ms"] >= signals["first_ms"] > 0
    assert signals["left"] == 1
    assert signals["drawer"] == 2
    assert signals["keys"] >= 1
    assert signals["changes"] >= signals["keys"]
    assert signals["pasted"] == 3 * signals["pastes"] > 0


def test_two_tabs_on_one_task_do_not_overwrite_each_other(live_server: Any, page: Page, study: Study) -> None:
    begin(page, live_server.url, study)
    pk = task_of(page)
    other = page.context.new_page()
    other.goto(page.url)
    keyboard.wait_ready(other)
    assert task_of(other) == pk
    choose(page, "3")
    other.keyboard.press("1")
    expect(other.locator("[data-conflict]")).to_be_visible()
    assert Assignment.objects.get(pk=pk).draft == {"helpful": "yes", "answer": "yes"}
    with other.expect_response(lambda response: "/draft/" in response.url and response.ok):
        other.get_by_role("button", name="Keep this answer").click()
    assert Assignment.objects.get(pk=pk).draft == {"helpful": "no"}
    other.keyboard.press("Enter")
    soon(lambda: Judgment.objects.filter(assignment_id=pk).exists(), other)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Already answered")).to_be_visible()
    assert Judgment.objects.get().response == {"helpful": "no"}


def test_reload_and_back_return_to_the_same_task(live_server: Any, page: Page, study: Study) -> None:
    begin(page, live_server.url, study)
    first = task_of(page)
    choose(page, "4")
    page.reload()
    keyboard.wait_ready(page)
    assert task_of(page) == first
    assert page.locator("[data-asked] :checked").count() == 2, "the draft is there"
    page.keyboard.press("Enter")
    expect(page.locator("form[data-task]")).not_to_have_attribute("data-task", str(first))
    second = task_of(page)
    page.go_back()
    page.goto(f"{live_server.url}/study/{study.slug}/")
    keyboard.wait_ready(page)
    assert task_of(page) == second, "a submitted task is not shown again"
    assert Judgment.objects.count() == 1


def test_a_committed_stage_is_not_shown_again(live_server: Any, page: Page) -> None:
    study = demo_study("utility", **{**EASY, "completion_code": ""})
    begin(page, live_server.url, study)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("form[data-task]")).to_have_attribute("data-stage", "1")
    for again in (lambda: page.reload(), lambda: page.goto(f"{live_server.url}/study/{study.slug}/task/")):
        again()
        keyboard.wait_ready(page)
        expect(page.locator("form[data-task]")).to_have_attribute("data-stage", "1")
        expect(page.locator(".committed dd")).to_have_count(1)


def test_more_time_in_the_last_minutes(live_server: Any, page: Page, study: Study) -> None:
    begin(page, live_server.url, study)
    expect(page.locator("[data-lease]")).to_be_hidden()
    pk, soon_over = task_of(page), timezone.now() + timedelta(seconds=170)
    Assignment.objects.filter(pk=pk).update(lease_until=soon_over)
    page.reload()
    expect(page.locator("[data-lease]")).to_contain_text("Time left for this task")
    page.get_by_role("button", name="I need more time").click()
    expect(page.locator("[data-lease]")).to_be_hidden()
    assert Assignment.objects.get(pk=pk).lease_until > soon_over + timedelta(minutes=5)


def test_undo_takes_the_last_answer_back(live_server: Any, page: Page, study: Study) -> None:
    study.undo_seconds = 600
    study.save()
    begin(page, live_server.url, study)
    pk = task_of(page)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("form[data-task]")).to_have_attribute("data-task", str(pk))
    assert not Judgment.objects.exists()
    expect(page.locator("input[name=answer][value=no]")).to_be_checked()


def check(page: Page, raw: dict[str, Any], prefix: str = "") -> None:
    """Choose answers with Tab and Space."""
    for name, value in raw.items():
        for one in value if isinstance(value, list) else [value]:
            field = page.locator(f"[name='{prefix}{name}']").first
            if field.evaluate("one => one.tagName") == "TEXTAREA":
                field.fill(str(one))
            else:
                option = page.locator(f"[name='{prefix}{name}'][value='{one}']")
                option.focus()
                page.keyboard.press("Space")
                expect(option).to_be_checked()


@pytest.mark.parametrize("name", ["simulation", "utility", "plausibility"])
def test_all_steps_without_javascript(live_server: Any, no_script_page: Page, name: str) -> None:
    study = demo_study(name, max_items_per_rater=2)
    kind, page, rng = study_hit_type(study), no_script_page, Random(3)
    page.goto(f"{live_server.url}/join/{study.join_token}/")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="I want to take part", exact=True).click()
    page.get_by_role("button", name="Continue").click()
    for question in kind.practice:
        for stage in practice_stages(kind, question):
            check(
                page, rehearsal_answer(stage, gold=question.gold, item_key=question.key, accuracy=1, rng=rng)
            )
            page.locator("[data-send]").click()
        expect(page.get_by_role("heading", name="Correct", exact=True)).to_be_visible()
        page.locator(".panel__send button").click()
    participation = study.participations.select_related("study").get()
    attempt = participation.exam_attempts.latest("number")
    answers = right_answers(participation, attempt.drawn)
    for number, key in enumerate(attempt.drawn, 1):
        check(page, answers[key], f"q{number}-")
    page.get_by_role("button", name="Submit exam").click()
    page.get_by_role("link", name="Start the tasks").click()

    page.locator("summary", has_text="More").click()
    page.get_by_text("Ask the researcher").click()
    page.get_by_label("Your question").fill("Do bats count?")
    page.get_by_role("button", name="Send question").click()
    expect(page.get_by_text("The researchers will see it")).to_be_visible()
    while page.locator("form[data-task]").count():
        assignment = Assignment.objects.select_related("item").get(state="leased")
        stage = hit_type_get(name).stages(assignment.item.payload, assignment.presentation)[assignment.stage]
        check(page, rehearsal_answer(stage, gold=assignment.item.gold, item_key="k", accuracy=1, rng=rng))
        page.locator("[data-send]").click()
        page.wait_for_load_state()
    expect(page.get_by_role("heading", name="You're done. Thank you.")).to_be_visible()
    assert Judgment.objects.filter(study=study, standing="counted").count() == 2
    assert Message.objects.get().text == "Do bats count?"
