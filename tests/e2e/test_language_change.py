"""What a change of language keeps, and what changes with it: typed answers, pages for a lost connection."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.models import Judgment, Study
from annotator.services.account import account_language_set
from tests.annotator.demo_studies import demo_study
from tests.e2e import keyboard
from tests.e2e.fake_server import worker_ready
from tests.factories import EASY, make_participation, make_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TEXT = "The reasons that people name."
#: The first question of this type's practice. Its last answer asks for a text.
PRACTICE = {"parsed_1": "yes", "parsed_2": "no", "complete": "no", "missing": TEXT}
ANSWERS = """() => [...document.querySelectorAll('[data-asked] :is(:checked, textarea)')]
    .map(one => [one.name, one.value])"""


def begin(page: Page, base: str, study: Study) -> None:
    """From the link to the first question."""
    page.goto(f"{base}/join/{study.join_token}/")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Continue").click()
    keyboard.wait_ready(page)


def change_language(page: Page, *, link: str, to: str, code: str) -> None:
    """By the menu of a task, practice or exam."""
    page.locator("[data-menu] summary").first.click()
    page.get_by_role("link", name=link).click()
    page.get_by_role("button", name=to).click()
    page.wait_for_selector(f"html[lang={code}] form[data-task]")
    keyboard.wait_ready(page)


def test_a_practice_answer_is_kept_until_it_is_checked(page: Page, live_server: LiveServer) -> None:
    study = demo_study("atomic_units", **(EASY | {"practice_required": True}))
    begin(page, live_server.url, study)
    keyboard.answer(page, PRACTICE)
    before = page.evaluate(ANSWERS)
    assert ["missing", TEXT] in before
    change_language(page, link="Language", to="العربية", code="ar")
    assert page.evaluate(ANSWERS) == before
    change_language(page, link="اللغة", to="Deutsch", code="de")
    assert page.evaluate(ANSWERS) == before
    page.get_by_role("button", name="Antwort prüfen").click()
    page.wait_for_selector(".verdict")
    assert page.evaluate("localStorage.length") == 0, "an answer that was checked is still on this device"
    page.reload()
    keyboard.wait_ready(page)
    assert page.locator("[data-asked] :checked").count() == 0


def test_exam_answers_are_kept_until_they_are_submitted(page: Page, live_server: LiveServer) -> None:
    study = demo_study("atomic_units", **(EASY | {"exam_required": True}))
    begin(page, live_server.url, study)
    attempt = study.participations.get().exam_attempts.get()
    attempt.drawn = ["news-one-missing", *(key for key in attempt.drawn if key != "news-one-missing")]
    attempt.drawn = attempt.drawn[: study.exam_questions]
    attempt.save()
    page.reload()
    keyboard.wait_ready(page)
    for name, value in (("parsed_1", "yes"), ("complete", "no")):
        page.locator(
            f"label:has(> [name=q1-{name}][value={value}]), label[for=q1-{name}-{value}]"
        ).first.click()
    page.locator("[name=q1-missing]").fill(TEXT)
    before = page.evaluate(ANSWERS)
    assert ["q1-missing", TEXT] in before
    change_language(page, link="Language", to="العربية", code="ar")
    assert page.evaluate(ANSWERS) == before


def test_the_pages_for_a_lost_connection_follow_the_language(page: Page, live_server: LiveServer) -> None:
    """Chosen in the menu, and that of the account of whoever logs in next on this device."""
    begin(page, live_server.url, make_study(items=2, launched=True))
    worker_ready(page)
    page.reload()
    worker = controller(page)
    assert worker == f"{live_server.url}/worker.js"
    assert offline_heading(page) == "You're offline"
    change_language(page, link="Language", to="Deutsch", code="de")
    assert offline_heading(page) == "Sie sind offline"

    other = make_user("second")
    account_language_set(user=other, language="ar")
    make_participation(make_study(items=2, launched=True), other)
    page.context.clear_cookies()
    page.goto(f"{live_server.url}/login/")
    page.locator("[name=username]").fill("second")
    page.locator("[name=password]").fill("a-long-password-7")
    page.locator("[name=password]").press("Enter")
    page.wait_for_selector("html[lang=ar]")
    assert offline_heading(page) == "أنت غير متصل"
    assert page.locator("html").get_attribute("dir") == "rtl"
    assert controller(page) == worker, "one worker for all languages: none takes over from another"
    assert not Judgment.objects.exists()


def controller(page: Page) -> str:
    """The address of the service worker that answers for this page."""
    return str(page.evaluate("navigator.serviceWorker.controller.scriptURL"))


def offline_heading(page: Page) -> str:
    """The heading of a page that is reloaded without a connection; then the page is loaded again."""
    page.context.set_offline(True)
    page.reload()
    expect(page.locator("h1")).to_be_visible()
    heading = page.locator("h1").inner_text()
    page.context.set_offline(False)
    page.reload()
    return heading
