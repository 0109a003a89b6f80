"""Long instructions on a phone: one worked example of a section is open, and the others unfold."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.annotator.demo_studies import demo_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_instructions_take_few_screens_of_a_phone(phone: Page, live_server: LiveServer) -> None:
    study = demo_study("question_validation", consent_text="")
    phone.goto(f"{live_server.url}/join/{study.join_token}/")
    phone.get_by_role("button", name="Start").click()
    phone.wait_for_url("**/instructions/")
    assert phone.evaluate("document.documentElement.scrollHeight") < 7 * 844
    examples = phone.locator("details.example")
    expect(examples.first).to_have_attribute("open", "")
    last = examples.last
    expect(last.locator(".reason__text")).to_be_hidden()
    last.locator("summary").tap()
    expect(last.locator(".reason__text")).to_be_visible()
