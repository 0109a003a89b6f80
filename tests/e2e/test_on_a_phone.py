"""What an annotator reads on a phone: no keys, what is kept, and the way back."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.annotator.demo_studies import demo_study
from tests.e2e import keyboard
from tests.factories import EASY

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
KEYS = "Number keys answer the highlighted question"


def to_practice(page: Page, base: str) -> None:
    study = demo_study("simulation", **(EASY | {"practice_required": True}))
    page.goto(f"{base}/join/{study.join_token}/")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("the book at the top opens them again")).to_be_visible()


@pytest.mark.parametrize("width", [390, 820])
def test_keys_are_not_mentioned_where_there_are_none(
    phone: Page, live_server: LiveServer, width: int
) -> None:
    phone.set_viewport_size({"width": width, "height": 844})
    to_practice(phone, live_server.url)
    expect(phone.get_by_text("The key I does too.")).to_be_hidden()
    phone.get_by_role("button", name="Continue").tap()
    keyboard.wait_ready(phone)
    expect(phone.get_by_text(KEYS)).to_be_hidden()


def test_keys_are_mentioned_on_a_laptop(page: Page, live_server: LiveServer) -> None:
    to_practice(page, live_server.url)
    expect(page.get_by_text("The key I does too.")).to_be_visible()
    page.get_by_role("button", name="Continue").click()
    keyboard.wait_ready(page)
    expect(page.get_by_text(KEYS)).to_be_visible()


def test_practice_and_exam_say_that_answers_are_kept(
    phone: Page, live_server: LiveServer, style: str
) -> None:
    to_practice(phone, live_server.url)
    phone.get_by_role("button", name="Continue").tap()
    for address in ("", style + "exam/"):
        if address:
            phone.goto(address)
        keyboard.wait_ready(phone)
        phone.locator("form[data-keep] label.option, form[data-keep] .option label").first.tap()
        expect(phone.locator("[data-save-state]")).to_have_text("Draft saved on this device")


def test_the_personal_link_is_copied_with_a_button(phone: Page, live_server: LiveServer) -> None:
    to_practice(phone, live_server.url)
    phone.goto(f"{live_server.url}/me/")
    phone.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live_server.url)
    phone.get_by_role("button", name="Copy the link").tap()
    expect(phone.get_by_role("button", name="Copied")).to_be_visible()
    link = phone.get_by_label("Your personal link").input_value()
    assert "/return/" in link
    assert phone.evaluate("navigator.clipboard.readText()") == link
