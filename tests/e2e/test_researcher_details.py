"""Details of the researchers' pages that only a browser shows: borders, wrapping, a phone's width, the keyboard."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from annotator.models import FollowUp, Membership, Message, Study, User
from annotator.services.message import message_send
from annotator.services.study import study_launch
from tests.e2e.page_checks import faint_controls, switch
from tests.factories import make_item, make_participation, make_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def rosa() -> User:
    return make_user("rosa", staff=True)


@pytest.fixture
def study(rosa: User) -> Study:
    made = make_study(by=rosa, slug="owls", pay_per_item="0.5", minutes_per_item="2")
    item = make_item(made, key="a")
    FollowUp.objects.filter(pk=item.follow_up_id).update(text="First line.\nSecond line.")
    study_launch(study=made)
    return Study.objects.get(pk=made.pk)


def log_in(page: Page, address: str) -> None:
    page.goto(f"{address}/admin/")
    page.fill("[name=username]", "rosa")
    page.fill("[name=password]", "a-long-password-7")
    page.keyboard.press("Enter")
    expect(page.locator("[name=password]")).to_have_count(0)


def test_the_answer_to_a_message_has_a_border_and_is_shown_with_its_question(
    live_server: Any, page: Page, study: Study
) -> None:
    asked = message_send(participation=make_participation(study), kind="question", text="Do bats count?")
    log_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/annotator/message/{asked.pk}/change/")
    box = page.locator(".thread textarea[name=text]")
    backgrounds = set()
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        switch(page, scheme)
        backgrounds.add(box.evaluate("box => getComputedStyle(box).backgroundColor"))
        assert faint_controls(page) == [], scheme
    assert len(backgrounds) == 2, "the page has a dark theme"
    box.evaluate("box => { box.style.border = '1px solid transparent' }")
    assert faint_controls(page) == ["faint border: TEXTAREA text: none"]
    box.fill("They do.")
    page.get_by_role("button", name="Send").click()
    page.goto(f"{live_server.url}/admin/annotator/message/{asked.pk}/change/")
    conversation = re.compile(r"Do bats count\?\s*rosa · [-\d]+ [:\d]+\s*They do\.")
    expect(page.locator("main")).to_contain_text(conversation)
    assert Message.objects.get(kind="reply").text == "They do."


def test_items_show_follow_ups_with_their_lines_and_figures_stay_on_one_line(
    live_server: Any, page: Page, study: Study
) -> None:
    log_in(page, live_server.url)
    root = f"{live_server.url}/admin/annotator/study/{study.pk}/"
    page.goto(f"{root}items/")
    lines = page.get_by_text("First line.").evaluate("cell => cell.innerText.split('\\n')")
    assert lines == ["First line.", "Second line."]
    page.goto(f"{root}live/")
    for figure in page.locator(".figures dd:not(.figures__note)").all():
        lines = figure.evaluate(
            "cell => cell.getBoundingClientRect().height / parseFloat(getComputedStyle(cell).lineHeight || 20)"
        )
        assert lines < 1.9, figure.inner_text()


def test_join_links_are_copied_and_not_clipped_on_a_phone(
    live_server: Any, phone: Page, study: Study
) -> None:
    log_in(phone, live_server.url)
    phone.goto(f"{live_server.url}/admin/annotator/study/{study.pk}/live/")
    link, button = phone.locator("#join-link"), phone.locator("[data-copy=join-link]")
    expect(button).to_be_visible()
    assert "/join/" in link.input_value()
    for part in (link, button):
        box = part.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390


def test_settings_are_changed_by_keyboard_alone(live_server: Any, page: Page, study: Study) -> None:
    log_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/annotator/study/{study.pk}/change/")
    page.locator("[name=title]").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("Owls by night")
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "save":
            break
    page.keyboard.press("Enter")
    expect(page.locator(".fk-title")).to_contain_text("Owls by night")
    assert Study.objects.get(pk=study.pk).title == "Owls by night"


def test_report_pages_keep_their_name_on_a_phone(live_server: Any, phone: Page, study: Study) -> None:
    log_in(phone, live_server.url)
    phone.goto(f"{live_server.url}/studies/{study.pk}/reports/")
    name = phone.get_by_role("heading", level=1)
    assert name.count() == 1
    assert name.evaluate("name => name.scrollWidth <= name.clientWidth"), "it is cut off"


def test_what_was_typed_before_the_login_ended_is_filled_in_again(
    live_server: Any, page: Page, rosa: User, study: Study
) -> None:
    log_in(page, live_server.url)
    settings_page = f"{live_server.url}/admin/annotator/study/{study.pk}/change/"
    page.goto(settings_page)
    page.fill("[name=summary]", "An hour's work.")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    save = page.get_by_role("button", name="Save").last
    save.click()
    expect(page.get_by_text("this tab keeps it")).to_be_visible()
    page.fill("[name=username]", "rosa")
    page.fill("[name=password]", "a-long-password-7")
    page.keyboard.press("Enter")
    expect(page.get_by_text("What you entered before is filled in again")).to_be_visible()
    assert page.url == settings_page
    assert page.input_value("[name=summary]") == "An hour's work."
    save.click()
    expect(page.get_by_text("What you entered before")).to_have_count(0)
    study.refresh_from_db()
    assert study.summary == "An hour's work."
    page.goto(settings_page)
    expect(page.get_by_text("What you entered before")).to_have_count(0)


def test_what_one_person_typed_is_not_shown_to_another(
    live_server: Any, page: Page, rosa: User, study: Study
) -> None:
    zoe = make_user("zoe", staff=True)
    Membership.objects.create(study=study, user=zoe, role="editor")
    log_in(page, live_server.url)
    settings_page = f"{live_server.url}/admin/annotator/study/{study.pk}/change/"
    page.goto(settings_page)
    page.fill("[name=summary]", "Rosa's words.")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.get_by_role("button", name="Save").last.click()
    expect(page.get_by_text("this tab keeps it")).to_be_visible()
    page.fill("[name=username]", "zoe")
    page.fill("[name=password]", "a-long-password-7")
    page.keyboard.press("Enter")
    expect(page.locator("[name=summary]")).to_have_count(1)
    assert page.input_value("[name=summary]") == ""
    assert page.evaluate("sessionStorage.getItem('foretell-kept-form')") is None
