"""The text of items, titles and questions never runs, loads anything or violates the policy in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from annotator.models import Study
from annotator.services.study import study_launch
from tests.e2e import keyboard
from tests.factories import make_item, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
RUNS = "window.ran = true"
NASTY = (
    f"<script>{RUNS}</script><img src=x onerror='{RUNS}'><svg onload='{RUNS}'></svg>"
    f"![x](http://203.0.113.9/p.png)</script><a href='javascript:{RUNS}'>x</a>"
)


def test_hostile_items_neither_run_nor_load(live_server, page: Page) -> None:  # type: ignore[no-untyped-def]
    """The page fixture fails on every violation of the content security policy."""
    study = make_study(title=f"T {NASTY}"[:200], summary=NASTY, contact=NASTY[:200], consent_text=NASTY)
    for number in range(2):
        payload = {name: f"{name} {number} {NASTY}" for name in ("question", "explanation", "follow_up")}
        make_item(study, payload=payload | {"answer": "yes"})
    study_launch(study=study)
    token = Study.objects.get(pk=study.pk).join_token
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{live_server.url}/join/{token}/")
    for button in ("Start", "I want to take part", "Continue"):
        page.get_by_role("button", name=button).click()
    for number in range(2):
        keyboard.wait_ready(page)
        expect(page.locator("main")).to_contain_text("<script>window.ran")
        keyboard.answer(page, {"helpful": "no"})
        keyboard.submit(page)
        if number == 0:
            expect(page.locator("body")).to_contain_text("1 of 2")
    expect(page.locator("h1")).to_contain_text("Thank you")
    assert page.evaluate("() => window.ran") is None
    assert not [url for url in asked if not url.startswith(live_server.url)]
