"""A participant's first steps in a study, in the browser."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from annotator.models import Study
from tests.e2e import keyboard


def begin(page: Page, base: str, study: Study) -> None:
    """From the link to the first task."""
    page.goto(f"{base}/join/{study.join_token}/")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("form[data-task]")).to_be_visible()
    keyboard.wait_ready(page)


def choose(page: Page, key: str) -> None:
    """Press an option's key, and wait until the server has the draft."""
    with page.expect_response(lambda response: "/draft/" in response.url and response.ok):
        page.keyboard.press(key)
