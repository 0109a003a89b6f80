"""The way back to a recruitment panel waits for an answer that only this device has."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotator.models import Participation
from tests.e2e.tasks import begin
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_button_appears_once_the_last_answer_was_sent(live_server: Any, page: Page) -> None:
    study = make_study(items=1, launched=True, completion_code="C0DE-77")
    begin(page, live_server.url, study)
    Participation.objects.update(recruiter="prolific", recruiter_id="p1")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    button = page.get_by_role("link", name="Return to Prolific")
    expect(button).to_be_visible()
    expect(page.locator("[data-unsent]")).to_be_hidden()

    waiting = {
        "task": "999999", "stage": "0", "url": f"{live_server.url}/task/999999/", "fields": [["stage", "0"]],
        "at": time.time() * 1000,
    }  # fmt: skip
    kept = "localStorage.getItem('foretell.outbox.999999.0')"
    page.evaluate("one => localStorage.setItem('foretell.outbox.999999.0', one)", json.dumps(waiting))
    page.route("**/task/999999/", lambda route: route.abort())
    page.reload()
    expect(page.locator("[data-unsent]")).to_be_visible()
    expect(page.locator("[data-unsent]")).to_contain_text("hasn't been sent yet")
    expect(button).to_be_hidden()
    expect(page.locator(".code")).to_be_hidden()

    # Somebody else's answer, as the server says, doesn't keep this person here; it stays for its owner.
    page.unroute("**/task/999999/")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(button).to_be_visible()
    expect(page.locator("[data-unsent]")).to_be_hidden()
    assert page.evaluate(kept)

    page.route("**/task/999999/", lambda route: route.fulfill(json={"stored": True}))
    page.reload()
    expect(button).to_be_visible()
    page.wait_for_function(f"() => !{kept}")
